"""Snapshots that somebody wants now: asked for by a file in the job's folder, and answered there."""

import secrets
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from typing import Any

import orjson

WANTED, TOLD = "wanted-", "told-"
"""How files in a job's folder begin: who makes the one wants a snapshot now, and is told in the other what came of it.
"""
_AGAIN_NS = 1_000_000_000


def answer_to(wanted: Path) -> Path:
    """Where who wants a snapshot is told of it."""
    return wanted.with_name(f"{wanted.name.replace(WANTED, TOLD)}.json")


class Wanted:
    """A snapshot that is wanted now, whoever wants it: the launcher takes it, and says what came of it."""

    def __init__(self, job: Path) -> None:
        self._path = job / f"{WANTED}{secrets.token_hex(8)}"

    def ask(self) -> None:
        """Want it. OSError if nothing can be written to the job's folder."""
        self._path.touch()

    def told(self) -> dict[str, Any] | None:
        """What came of it: `number` and so on, or `error`; None as long as it lasts."""
        told = answer_to(self._path)
        return orjson.loads(told.read_bytes()) if told.exists() else None

    def forget(self) -> None:
        """Want it no more."""
        self._path.unlink(missing_ok=True)
        answer_to(self._path).unlink(missing_ok=True)


class OneMore:
    """One snapshot more, however often it has to be asked for until it can be taken."""

    def __init__(self, job: Path) -> None:
        self._wanted = Wanted(job)
        self.error = ""
        """Why the last one that was asked for could not be taken."""
        self._asked_ns = 0
        self._number = 0

    def number(self) -> int:
        """That of the snapshot, once it is there; 0 until then. Asks for it, the first time and where it could not be
        taken."""
        told = self._wanted.told() if self._asked_ns else None
        if told is not None and "number" in told:
            self._wanted.forget()
            self._number = told["number"]
        elif not self._number and (told is not None or not self._asked_ns):
            self.error = "" if told is None else told["error"]
            if monotonic_ns() >= self._asked_ns + _AGAIN_NS:
                with suppress(OSError):  # the disk is full: none can be taken either, as the launcher says
                    self._wanted.forget()
                    self._wanted.ask()
                self._asked_ns = monotonic_ns()
        return self._number

    def forget(self) -> None:
        """Want it no more."""
        self._wanted.forget()
