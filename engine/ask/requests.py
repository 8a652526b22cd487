"""A worker's side of requests from outside: what a folder asks for is begun at the beginning of a step, and goes on for
as long as the folder is there and who made it lives.

The signal only says that there is something to look at. The look itself is taken at the beginning of a step, as a
timer: what is asked for may change counts, for which the middle of a step is no place. While something is asked for the
worker looks again some times a second; otherwise nothing of this costs a step anything.
"""

import os
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path
from time import monotonic_ns
from typing import Any, Protocol

from tokenring.engine.ask.places import private_folder
from tokenring.engine.ask.questions import question_in, require_private, write_whole
from tokenring.engine.errors import TokenRingError, UsageError
from tokenring.engine.worker import Worker

_LOOK_EVERY_NS = 50_000_000
_LOOK_AT_FOLDERS_NS = 1_000_000  # at most that often, however soon what is asked for is to go on


class Session(Protocol):
    """What a worker does for one request."""

    def look(self) -> int:
        """Go on with it; in how many nanoseconds to look again, 0 if nothing but the end of the request matters."""

    def leave(self) -> None:
        """The request is over."""


Begin = Callable[[Any, Path, Mapping[str, Any]], Session]
"""Of a worker, the request's folder and its question."""


def requests_of(launcher: int | str, private: Path) -> dict[Path, dict[str, Any]]:
    """What is asked in a private folder of the group of the process `launcher` ("*": of any), by folder."""
    try:
        require_private(private)
        folders = sorted(private.glob(f"[a-z]*-{launcher}-*"))
    except FileNotFoundError:  # nobody asks, or the last who did has just gone
        return {}
    asked = {folder: question_in(folder) for folder in folders}
    return {folder: question for folder, question in asked.items() if _says_whom(question)}


def _says_whom(question: Any) -> bool:
    return isinstance(question, dict) and isinstance(question.get("workers"), list)


class Requests:
    """What is asked of this worker."""

    def __init__(self, worker: Worker, begin: Mapping[str, Begin]) -> None:
        """begin: what begins the answer to each kind that all workers know."""
        self._worker = worker
        self._begin: Mapping[str, Begin] = {**begin, **worker.answering}
        self._known: dict[Path, Session | None] = {}
        self._folders_ns = 0
        worker.schedule.look_outside = self._look

    def noticed(self) -> None:
        """A signal came, at whatever instant: look soon, if there is anything new."""
        if requests_of(self._worker.launcher, private_folder()).keys() - self._known.keys():
            self._folders_ns = 0
            self._worker.schedule.look_outside_after(0)

    def _look(self) -> None:
        if self._worker.parting.is_leaving:  # others answer for the group
            self._known.clear()
            return
        if (now_ns := monotonic_ns()) >= self._folders_ns:
            self._folders_ns = now_ns + _LOOK_AT_FOLDERS_NS
            self._look_at_folders()
        again_ns = _LOOK_EVERY_NS
        for session in [*self._known.values()]:  # a look may step, and so come here again
            if session is not None:
                again_ns = min(session.look() or again_ns, again_ns)
        if self._known:
            self._worker.schedule.look_outside_after(again_ns)

    def _look_at_folders(self) -> None:
        try:
            wanted = requests_of(self._worker.launcher, private_folder())
        except UsageError:  # the folder is not this user's alone: who asks is told
            wanted = {}
        for folder in [folder for folder in self._known if folder not in wanted]:
            session = self._known.pop(folder)
            if session is not None:
                session.leave()
        for folder, question in wanted.items():
            if folder not in self._known:
                self._known[folder] = self._begun(folder, question)

    def _begun(self, folder: Path, question: dict[str, Any]) -> Session | None:
        """Begin what is asked for; None if it cannot be, or is of another group of the same launcher."""
        if os.getpid() not in question["workers"]:
            return None
        worker, kind = self._worker, folder.name.partition("-")[0]
        try:
            if kind not in self._begin:
                raise TokenRingError(f"the workers of this group answer no request {kind!r}; run it by tr.execute")
            return self._begin[kind](worker, folder, question)
        except TokenRingError as error:
            why = error
        except (KeyError, TypeError, ValueError) as error:  # of another version, say
            why = UsageError(f"the question is none that a worker of this version can read: {error!r}")
        with suppress(OSError):  # the asker need not be there any more
            tell_error(worker, folder, why)
        return None


def tell_asker(worker: Any, folder: Path, **told: Any) -> None:
    """Say to who asks, once, what became of it on this worker. OSError if he is not there any more."""
    write_whole(folder / f"{worker.index}.json", {"worker": worker.index, "peers": worker.peers, **told})


def tell_error(worker: Any, folder: Path, error: TokenRingError) -> None:
    """Say to who asks why it cannot be, as `sound` raises it. OSError as above."""
    tell_asker(worker, folder, error=str(error), type=type(error).__name__)
