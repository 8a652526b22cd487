"""How rows of joins match in time: the extent of each, from its own time, and when nothing can match it any more."""

from collections.abc import Sequence
from dataclasses import dataclass

from tokenring.engine import Schema, Time, TimeRegressionError
from tokenring.operators.mechanisms import late_rows
from tokenring.operators.time import too_early

FAR = 2**62 + 2**61
"""Ends after this are taken for it: no time is as late, and sums stay in range."""


@dataclass(frozen=True)
class Reach:
    """How rows of one side match: from their own time in column `time` plus `start` to that plus `end`, or to the time
    in column `until`. They go when the other side's frontier has come to the end plus `due`; `together`, a message's
    rows when the last of them does. A row is late before its message's time plus `first`. window: where `time` is when
    a window ends, the column that the window is of."""

    time: str
    start: int = 0
    end: int = 0
    until: str | None = None
    due: int = 0
    together: bool = False
    first: int = 0
    window: str | None = None

    @property
    def columns(self) -> tuple[str, ...]:
        """What extents are made of."""
        return (self.time,) if self.until is None else (self.time, self.until)


@dataclass(frozen=True)
class Extents:
    """How rows of both sides match in time. exact: whether rows that go do so at few times (ends of windows), at which
    results are then sent. said: all of that in words, as the program has it, apart by "; "."""

    left: Reach
    right: Reach
    exact: bool
    said: str


def refused(
    operator: str, schema: Schema, columns: Sequence[str], time: Time, due: Time, ends: bool = False
) -> TimeRegressionError:
    """What rows of a message raise that were due before it, or when 64 bits have ended. columns: where their times may
    stand, the first in `schema`; ends: see too_early."""
    if 0 <= due <= time and time > 0:
        return late_rows(operator, time, due)
    return too_early(operator, schema, columns, due, ends=ends)
