"""How workers learn that somebody asks for something: by a signal, which none but they may get."""

import os
from collections.abc import Iterable
from contextlib import suppress

from tokenring.engine.ask.answer import SIGNAL


def call_workers(workers: Iterable[int], launcher: int) -> None:
    """Let the workers of a launcher look for what is asked of them. Whoever is none, any more, is left alone."""
    for worker in workers:
        if is_worker(worker, launcher):
            with suppress(ProcessLookupError):
                os.kill(worker, SIGNAL)


def is_worker(process: int, launcher: int) -> bool:
    """Whether the process is a worker of the launcher, or of its fork server, and takes the signal (which would else
    end it)."""
    parent, takes = _status(process)
    if not takes or parent == launcher:
        return takes
    grandparent, parent_is_worker = _status(parent)
    return grandparent == launcher and not parent_is_worker


def _status(process: int) -> tuple[int, bool]:
    """A process's parent, and whether it takes the signal; 0 and False if there is no such process."""
    try:
        with open(f"/proc/{process}/status", encoding="utf-8", errors="replace") as file:
            status = dict(line.split(":", 1) for line in file.read().splitlines() if ":" in line)
    except OSError:
        return 0, False
    return int(status["PPid"]), bool(int(status["SigCgt"], 16) >> (SIGNAL - 1) & 1)
