"""Windows: which stretches of time rows belong to, by a column of theirs."""

from dataclasses import dataclass
from math import gcd

from engine import MAX_TIME, Schema, SchemaError

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
    is in one."""

    time: str
    width: int
    offset: int = 0


@dataclass(frozen=True)
class Sliding:
    """Windows [k * every + offset, k * every + offset + width) of the column `time`: each row is in width / every of
    them. Rows are aggregated once, by *panes* of gcd(width, every); a window is put together from its panes."""

    time: str
    width: int
    every: int
    offset: int = 0


@dataclass(frozen=True)
class Session:
    """Windows by key, each as long as no two of its rows in succession lie `gap` or more apart: from the first row's
    time to the last one's plus `gap`."""

    time: str
    gap: int


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
    lateness: int = 0

    def window_ends(self, pane_end: int) -> range:
        """The ends of the windows that a pane is part of."""
        start = pane_end - self.step
        first = -((self.width - self.step - (start - self.offset)) // self.every) * self.every + self.offset
        return range(first + self.width, start + self.width + 1, self.every)

    @property
    def is_tumbling(self) -> bool:
        """Whether a pane is a window."""
        return self.step == self.width == self.every


FOREVER = Panes("", MAX_TIME + 1, MAX_TIME + 1, MAX_TIME + 1, 0)
"""One window for all of time, without a column."""


def panes_of(window: Tumbling | Sliding, lateness: int) -> Panes:
    """The panes of windows."""
    if isinstance(window, Tumbling):
        return Panes(window.time, window.width, window.width, window.width, window.offset, lateness)
    step = gcd(window.width, window.every)
    return Panes(window.time, step, window.width, window.every, window.offset, lateness)


def check_window(operator: str, window: Window, schema: Schema, lateness: int) -> None:
    """SchemaError, naming the operator, for a time column that does not fit or a width that is none."""
    if window.time not in schema.positions:
        raise SchemaError(
            f"operator {operator!r}: no column {window.time!r} for the window's time; the columns are "
            f"{', '.join(schema.names)}"
        )
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
