"""Windows: which stretches of time rows belong to, by a column of theirs."""

from collections.abc import Mapping
from dataclasses import dataclass
from math import gcd

import numpy as np

from engine import MAX_TIME, Schema, SchemaError
from operators.aggregates.columns import Columns

MICROSECOND = 1_000
MILLISECOND = 1_000_000
SECOND = 1_000_000_000
MINUTE = 60 * SECOND
HOUR = 60 * MINUTE
DAY = 24 * HOUR
"""Units of time, in ns."""


@dataclass(frozen=True)
class Tumbling:
    """Windows [k * width + offset, (k + 1) * width + offset) of the column `time` (int64, or timestamp in ns): each row
    is in one. start, end: what results call the window's bounds; None leaves one out."""

    time: str
    width: int
    offset: int = 0
    start: str | None = "window_start"
    end: str | None = "window_end"


@dataclass(frozen=True)
class Sliding:
    """Windows [k * every + offset, k * every + offset + width) of the column `time`: each row is in width / every of
    them. Rows are aggregated once, by *panes* of gcd(width, every); a window is put together from its panes."""

    time: str
    width: int
    every: int
    offset: int = 0
    start: str | None = "window_start"
    end: str | None = "window_end"


@dataclass(frozen=True)
class Session:
    """Windows by key, each as long as no two of its rows in succession lie `gap` or more apart: from the first row's
    time to the last one's plus `gap`."""

    time: str
    gap: int
    start: str | None = "window_start"
    end: str | None = "window_end"


Window = Tumbling | Sliding | Session


@dataclass(frozen=True)
class Panes:
    """How Tumbling and Sliding cut time: pane ends are multiples of `step` plus `offset`; windows of `width` start at
    multiples of `every` plus `offset`, and their results are sent `lateness` after their end."""

    time: str
    step: int
    width: int
    every: int
    offset: int
    lateness: int
    named: tuple[bool, bool]
    """Whether results have the window's start, and its end."""

    def window_ends(self, pane_end: int) -> range:
        """The ends of the windows that a pane is part of."""
        start = pane_end - self.step
        first = -((self.width - self.step - (start - self.offset)) // self.every) * self.every + self.offset
        return range(first + self.width, start + self.width + 1, self.every)

    @property
    def is_tumbling(self) -> bool:
        """Whether a pane is a window."""
        return self.step == self.width == self.every


FOREVER = Panes("", MAX_TIME + 1, MAX_TIME + 1, MAX_TIME + 1, 0, 0, (False, False))
"""One window for all of time, without a column."""


def panes_of(window: Tumbling | Sliding, lateness: int) -> Panes:
    """The panes of windows."""
    every = window.every if isinstance(window, Sliding) else window.width
    step = gcd(window.width, every)
    return Panes(window.time, step, window.width, every, window.offset, lateness, named(window))


def named(window: Window) -> tuple[bool, bool]:
    """Whether results have the window's start, and its end."""
    return window.start is not None, window.end is not None


def behind_window(operator: str, window: Window, rows: Schema, results: Mapping[str, str]) -> Schema:
    """The schema of results (names to kinds) behind their window's bounds, which are of the kind of its time in `rows`;
    SchemaError, naming the operator, if they have columns of those names."""
    kind = str(rows.kind(window.time))
    bounds = {name: kind for name in (window.start, window.end) if name is not None}
    for clash in bounds.keys() & results.keys():
        raise SchemaError(
            f"operator {operator!r}: the window has a column {clash!r} already; call yours otherwise, or the window's, "
            f"by its start= or end="
        )
    return Schema.of(bounds | dict(results))


def bounds_of(starts: np.ndarray, ends: np.ndarray, named: tuple[bool, bool]) -> Columns:
    """Windows' bounds as columns of results, as far as they are named."""
    chosen = tuple([bounds for bounds, wanted in zip((starts, ends), named, strict=True) if wanted])
    return chosen, (None,) * len(chosen)


def check_window(operator: str, window: Window, schema: Schema, lateness: int) -> None:
    """SchemaError, naming the operator, for a time column that does not fit or a width that is none."""
    if window.time not in schema.positions:
        absent = schema.missing(window.time, "for the window's time")
        raise SchemaError(f"operator {operator!r}: {absent}")
    if str(schema.kind(window.time)) not in ("int64", "timestamp"):
        raise SchemaError(
            f"operator {operator!r}: the window's time {window.time!r} is {schema.kind(window.time)}; it must be int64 "
            f"or timestamp, without nulls"
        )
    for name in ("width", "every", "gap"):
        value = getattr(window, name, 1)
        if not isinstance(value, int) or not 0 < value <= MAX_TIME:
            raise SchemaError(f"operator {operator!r}: a window's {name} is an integer of at least 1, not {value!r}")
    if not isinstance(lateness, int) or not 0 <= lateness <= MAX_TIME:
        raise SchemaError(f"operator {operator!r}: lateness is an integer of at least 0, not {lateness!r}")
    if getattr(window, "every", 1) > getattr(window, "width", MAX_TIME):
        raise SchemaError(
            f"operator {operator!r}: every={window.every} leaves gaps between windows of {window.width}; "  # type: ignore[union-attr]
            f"filter the rows, or make every at most the width"
        )
