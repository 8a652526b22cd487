"""A worker's side of `tokenring hold`: takes the hold that is asked for, and keeps it until the request is over."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tokenring.engine.ask.questions import write_whole
from tokenring.engine.times import time_from_plain
from tokenring.engine.worker import Worker


class KeptHold:
    """A hold that an asker has on this worker. Raises what `Inspection.hold` does."""

    def __init__(self, worker: Worker, folder: Path, question: Mapping[str, Any]) -> None:
        time, (side, number) = question["time"], question["port"]
        named = (question["operator"], side, number) if side else question["operator"]
        self._hold = worker.inspection.hold(named, time_from_plain(time))
        told = {"worker": worker.index, "peers": worker.peers, "place": self._hold.place}
        try:
            write_whole(folder / f"{worker.index}.json", told)
        except OSError:
            self._hold.release()

    def look(self) -> int:
        """Nothing but the end of it matters."""
        return 0

    def leave(self) -> None:
        """Let go."""
        self._hold.release()
