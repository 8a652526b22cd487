"""A worker's side of `tokenring hold`: takes the hold that a folder asks for, and keeps it for as long as the folder is
there and who made it lives.

The signal only says that there is something to look at. The look itself is taken at the beginning of a step, as a
timer: a hold is a change of counts, for which the middle of a step is no place. While a hold is kept the worker looks
again some times a second; otherwise nothing of this costs a step anything.
"""

import shutil
from contextlib import suppress
from pathlib import Path
from typing import Any

import orjson

from tokenring.engine.ask.answer import private_folder, require_private, write_whole
from tokenring.engine.errors import TokenRingError
from tokenring.engine.explain import Hold
from tokenring.engine.worker import Worker
from tokenring.shm.memory import process_start_ticks

_LOOK_EVERY_NS = 50_000_000


def holds_of(launcher: int | str) -> dict[Path, dict[str, Any]]:
    """What is asked to be held in the group of the process `launcher` ("*": in any), by folder. The folders of askers
    that were killed are removed.
    """
    found: dict[Path, dict[str, Any]] = {}
    if not private_folder().exists():
        return found
    require_private(private_folder())
    for folder in sorted(private_folder().glob(f"hold-{launcher}-*")):
        with suppress(OSError, ValueError):  # it is being made, or removed
            question = orjson.loads((folder / "question.json").read_bytes())
            if process_start_ticks(question["asker"]) == question["since"]:
                found[folder] = question
            else:
                shutil.rmtree(folder, ignore_errors=True)
    return found


class RequestedHolds:
    """The holds that askers have on this worker."""

    def __init__(self, worker: Worker, launcher: int) -> None:
        self._worker = worker
        self._launcher = launcher
        self._known: dict[Path, Hold | None] = {}
        worker.schedule.look_outside = self._look

    def noticed(self) -> None:
        """A signal came, at whatever instant: look soon, if there is anything new."""
        if holds_of(self._launcher).keys() - self._known.keys():
            self._worker.schedule.look_outside_after(0)

    def _look(self) -> None:
        wanted = holds_of(self._launcher)
        for folder in [folder for folder in self._known if folder not in wanted]:
            hold = self._known.pop(folder)
            if hold is not None:
                hold.release()
        for folder, question in wanted.items():
            if folder not in self._known:
                self._known[folder] = self._taken(folder, question)
        if self._known:
            self._worker.schedule.look_outside_after(_LOOK_EVERY_NS)

    def _taken(self, folder: Path, question: dict[str, Any]) -> Hold | None:
        """Take the hold if this worker can, and say what became of it; the asker need not be there any more."""
        worker = self._worker
        answer: dict[str, Any] = {"worker": worker.index, "peers": worker.peers}
        time, (side, number) = question["time"], question["port"]
        hold = None
        try:
            named = (question["operator"], side, number) if side else question["operator"]
            hold = worker.inspection.hold(named, tuple(time) if isinstance(time, list) else time)
            answer["place"] = hold.place
        except TokenRingError as error:
            answer["error"] = str(error)
        try:
            write_whole(folder / f"{worker.index}.json", answer)
        except OSError:
            if hold is not None:
                hold.release()
            return None
        return hold
