"""What every event from elsewhere must satisfy, whatever file it came from; a fault names file, column and row."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, NoReturn

import numpy as np

from tokenring.engine.raw import LENGTH_MASK
from tokenring.nexmark.errors import ForeignDataError
from tokenring.nexmark.events import I64, STREAMS, TIME_LIMIT_NS, Stream
from tokenring.nexmark.staging.foreign.raw_rows import RawRows

TIME_UNITS_NS: Final = {"ns": 1, "us": 1_000, "ms": 1_000_000, "s": 1_000_000_000}

Where = Callable[[int], str]
"""Names the place of a batch's row: "row 12" or "line 13"."""


def refuse(path: Path, column: str, place: str, fault: str) -> NoReturn:
    """Raises the error of one value."""
    raise ForeignDataError(f"{path}: column {column}, {place}: {fault}")


def time_to_ns(path: Path, column: str, ticks: I64, unit: str, where: Where) -> I64:
    """Nanoseconds of valid times: 0 <= t < 2**62 ns."""
    factor = TIME_UNITS_NS[unit]
    wrong = np.flatnonzero((ticks < 0) | (ticks > (TIME_LIMIT_NS - 1) // factor))
    if len(wrong):
        row = int(wrong[0])
        fault = "is negative" if ticks[row] < 0 else f"overflows: valid times are below 2**62 ns = {TIME_LIMIT_NS}"
        refuse(path, column, where(row), f"the time {int(ticks[row])} {unit} {fault}; is --time-unit right?")
    return ticks * factor


def check_texts(path: Path, column: str, lengths: I64, where: Where) -> None:
    """Refuses a text that no raw column holds. lengths: bytes of each row's text."""
    wrong = np.flatnonzero(lengths > LENGTH_MASK)
    if len(wrong):
        row = int(wrong[0])
        fault = f"the text has {int(lengths[row]):,} bytes; at most {LENGTH_MASK:,} can be staged, so shorten it"
        refuse(path, column, where(row), fault)


def check_rows(path: Path, stream: Stream, columns: dict[str, Any], where: Where) -> None:
    """Checks between the columns of a row."""
    if stream.name == "auction":
        wrong = np.flatnonzero(columns["expires"] < columns["date_time"])
        if len(wrong):
            row = int(wrong[0])
            starts, ends = int(columns["date_time"][row]), int(columns["expires"][row])
            refuse(path, "expires", where(row), f"the auction expires at {ends} ns, before its start at {starts} ns")


@dataclass
class Ids:
    """Every id of one stream seen, and where: finds the two rows of a duplicate. whose: what the rows are called."""

    whose: str
    _ids: list[I64] = field(default_factory=list)
    _places: list[tuple[int, Path, Where]] = field(default_factory=list)
    _rows: int = 0

    def add(self, path: Path, ids: I64, where: Where) -> None:
        """Takes the ids of one batch; `filter` must stay valid."""
        self._ids.append(ids)
        self._places.append((self._rows, path, where))
        self._rows += len(ids)

    def check(self) -> None:
        """Raises when two rows have one id, naming both."""
        if not self._rows:
            return
        ids = np.concatenate(self._ids)
        order = np.argsort(ids, kind="stable")
        same = np.flatnonzero(ids[order[1:]] == ids[order[:-1]])
        if not len(same):
            return
        # The earliest row that repeats an id, and the row before it with the same id.
        at = same[np.argmin(order[same + 1])]
        first, second = int(order[at]), int(order[at + 1])
        (path, place), (other_path, other_place) = self._place(first), self._place(second)
        both = f"{place} and {other_place}" if path == other_path else f"{place} and {other_path} {other_place}"
        raise ForeignDataError(
            f"{path}: column id, {both}: two {self.whose} have the id {int(ids[first])}; ids must be unique"
        )

    def _place(self, row: int) -> tuple[Path, str]:
        starts = [start for start, _, _ in self._places]
        start, path, where = self._places[int(np.searchsorted(starts, row, side="right")) - 1]
        return path, where(row - start)


class Intake:
    """Where the readers of foreign data put their checked rows."""

    def __init__(self, folder: Path) -> None:
        self.streams = {name: RawRows(folder, stream) for name, stream in STREAMS.items()}
        self.ids = {"auction": Ids("auctions"), "person": Ids("people")}

    def take(self, path: Path, stream: Stream, columns: dict[str, Any], where: Where) -> None:
        """Takes a batch whose times are in ns already."""
        check_rows(path, stream, columns, where)
        if stream.name in self.ids:
            self.ids[stream.name].add(path, np.asarray(columns["id"]), where)
        self.streams[stream.name].append(columns)

    def finish(self) -> list[RawRows]:
        """What was taken is all; returns the streams by rank."""
        for ids in self.ids.values():
            ids.check()
        return sorted(self.streams.values(), key=lambda raw: raw.stream.rank)

    def close(self) -> None:
        for raw in self.streams.values():
            raw.close()
