"""The asker's side of `tokenring hold`: a breakpoint in a running group, for as long as a block lasts."""

import os
import secrets
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import orjson

from tokenring.engine.ask.answer import SIGNAL, private_folder, require_private, write_whole
from tokenring.engine.ask.answer_hold import holds_of
from tokenring.engine.ask.asker import Group, group_of
from tokenring.engine.errors import UsageError, WorkerError
from tokenring.shm.memory import process_start_ticks

_PAUSE_S = 0.01


@dataclass(frozen=True)
class Held:
    """A breakpoint that is kept."""

    group: Group
    place: str
    workers: tuple[int, ...]
    """Who hold it: those that had a right to derive it from."""

    @property
    def lasts(self) -> bool:
        """Whether the group is still there."""
        return process_start_ticks(self.group.launcher) != 0


@contextmanager
def hold(process: int, operator: str, port: tuple[str, int], at: Any, timeout_s: float = 5.0) -> Iterator[Held]:
    """Keep the frontier at an operator's port from passing `at` within the block, in the group that `process` launched
    or works in. Should this process be killed, the workers notice it and let go.

    Raises UsageError if there is no such group or place, or no worker can hold that time there; WorkerError if a worker
    takes no step in time.
    """
    group = group_of(process)
    folder = _make_folder(group)
    me = os.getpid()
    question = {"asker": me, "since": process_start_ticks(me), "operator": operator, "port": port, "time": at}
    try:
        write_whole(folder / "question.json", question)
        _tell(group)
        answers = _answers(folder, group, timeout_s)
        taken = [answer for answer in answers if "place" in answer]
        if not taken:
            raise UsageError("; ".join(dict.fromkeys(answer["error"] for answer in answers)))
        yield Held(group, taken[0]["place"], tuple(answer["worker"] for answer in taken))
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        with suppress(OSError):  # others ask
            private_folder().rmdir()


def _make_folder(group: Group) -> Path:
    folder = private_folder() / f"hold-{group.launcher}-{secrets.token_hex(8)}"
    while not folder.exists():
        with suppress(FileExistsError):
            private_folder().mkdir(mode=0o700)
        require_private(private_folder())
        holds_of("*")  # removes what is left of others
        with suppress(FileNotFoundError):  # somebody else, who is done, has just removed the one above
            folder.mkdir(mode=0o700)
    return folder


def _tell(group: Group) -> None:
    for worker in group.workers:
        with suppress(ProcessLookupError):
            os.kill(worker, SIGNAL)


def _answers(folder: Path, group: Group, timeout_s: float) -> list[dict[str, Any]]:
    """What the workers say, once all have."""
    deadline = time.monotonic() + timeout_s
    while True:
        answers = [orjson.loads(path.read_bytes()) for path in sorted(folder.glob("[0-9]*.json"))]
        if answers and len(answers) == answers[0]["peers"]:
            return sorted(answers, key=lambda answer: answer["worker"])
        if not process_start_ticks(group.launcher):
            raise WorkerError(f"the group of process {group.launcher} has ended")
        if time.monotonic() > deadline:
            raise WorkerError(
                f"{len(answers)} of {len(group.workers)} workers of the group of process {group.launcher} answered "
                f"within {timeout_s:g} s: the others take no steps; try again, or with a longer --timeout"
            )
        time.sleep(_PAUSE_S)
