"""Windows: which stretches of time rows belong to, by a column of theirs."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from math import gcd
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

import numpy as np

from tokenring.engine import MAX_TIME, Schema, SchemaError, Time
from tokenring.engine.arguments import is_number, require_column
from tokenring.operators.durations import SECOND, Span, span_of
from tokenring.operators.state import HeapedColumns
from tokenring.operators.time.own_times import require_own_time

if TYPE_CHECKING:
    from tokenring.operators.time.zones import WallClock


class FixedWindow:
    """What windows that lie on a grid have in common, whatever rows there are. A kind of them says how it cuts time."""

    time: str
    width: Span
    offset: Span
    start: str | None
    end: str | None
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def _panes(self, lateness: int) -> "Panes":
        """How it cuts time, once its lengths were checked."""
        return self._cut(whole(self.width), lateness)

    def _require_fit(self, operator: str, kind: str) -> None:
        """SchemaError, naming the operator, for lengths that do not fit each other, or the kind of the time."""

    def _cut(self, every: int, lateness: int, clock: "WallClock | None" = None) -> "Panes":
        """How windows are cut of which one starts at each multiple of `every`; clock: where they end otherwise."""
        width, offset = whole(self.width), whole(self.offset) % every
        return Panes(self.time, gcd(width, every), width, every, offset, lateness, named(self), clock)


@dataclass(frozen=True)
class Tumbling(FixedWindow):
    """Windows [k * width + offset, (k + 1) * width + offset) of the column `time` (int64, or timestamp in ns): each row
    is in one. width, offset: "1h" or another duration for a timestamp, a number in its unit for int64. start, end: what
    results call the window's bounds; None leaves one out. zone: "Europe/Berlin" or another time zone, by whose clock
    windows of a timestamp begin: days of 23, 24 or 25 hours. The bounds are instants, in UTC, all the same."""

    time: str
    width: Span
    offset: Span = 0
    start: str | None = "window_start"
    end: str | None = "window_end"
    zone: str | None = None

    def _panes(self, lateness: int) -> "Panes":
        """See FixedWindow."""
        width = whole(self.width)
        if self.zone is None:
            return self._cut(width, lateness)
        from zoneinfo import ZoneInfo

        from tokenring.operators.time.zones import WallClock

        return self._cut(width, lateness, WallClock(ZoneInfo(self.zone), width, whole(self.offset) % width))

    def _require_fit(self, operator: str, kind: str) -> None:
        """See FixedWindow."""
        if self.zone is None:
            return
        from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

        try:
            ZoneInfo(str(self.zone))
        except (ZoneInfoNotFoundError, ValueError, OSError):
            raise SchemaError(f"operator {operator!r}: no time zone is {self.zone!r}; say 'Europe/Berlin'") from None
        if kind != "timestamp":
            raise SchemaError(
                f"operator {operator!r}: windows of a time zone need a timestamp; {self.time!r} is {kind}"
            )
        if whole(self.width) % SECOND or whole(self.offset) % SECOND:
            raise SchemaError(
                f"operator {operator!r}: windows of a time zone are of whole seconds, not {self.width} ns"
            )


@dataclass(frozen=True)
class Sliding(FixedWindow):
    """Windows [k * every + offset, k * every + offset + width) of the column `time`: each row is in width / every of
    them. Rows are aggregated once, by *panes* of gcd(width, every); a window is put together from its panes."""

    time: str
    width: Span
    every: Span
    offset: Span = 0
    start: str | None = "window_start"
    end: str | None = "window_end"

    def _panes(self, lateness: int) -> "Panes":
        """See FixedWindow."""
        return self._cut(whole(self.every), lateness)

    def _require_fit(self, operator: str, kind: str) -> None:
        """See FixedWindow."""
        if whole(self.every) > whole(self.width):
            raise SchemaError(
                f"operator {operator!r}: every={self.every} leaves gaps between windows of {self.width}; "
                f"filter the rows, or make every at most the width"
            )


@dataclass(frozen=True)
class Session:
    """Windows by key, each as long as no two of its rows in succession lie `gap` or more apart: from the first row's
    time to the last one's plus `gap`."""

    time: str
    gap: Span
    start: str | None = "window_start"
    end: str | None = "window_end"


Window = FixedWindow | Session
W = TypeVar("W", bound=Window)


@dataclass(frozen=True)
class Panes:
    """How a fixed window cuts time: pane ends are multiples of `step` plus `offset`; windows of `width` start at
    multiples of `every` plus `offset`, and their results are sent `lateness` after their end. time: a column, which may
    be called ""; None: all rows are of one time."""

    time: str | None
    step: int
    width: int
    every: int
    offset: int
    lateness: int
    named: tuple[bool, bool]
    """Whether results have the window's start, and its end."""
    clock: "WallClock | None" = None
    """Where panes, which are windows then, end otherwise: in a time zone."""

    def start_of(self, end: Time) -> Time:
        """The start of the window that ends there."""
        return end - self.width if self.clock is None else self.clock.start(end)

    def window_ends(self, pane_end: int) -> range:
        """The ends of the windows that a pane is part of."""
        if self.clock is not None:
            return range(pane_end, pane_end + 1)
        start = pane_end - self.step
        first = -((self.width - self.step - (start - self.offset)) // self.every) * self.every + self.offset
        return range(first + self.width, start + self.width + 1, self.every)

    @property
    def columns(self) -> list[str]:
        """The columns that errors name."""
        return [] if self.time is None else [self.time]

    @property
    def longest(self) -> int:
        """How long no window is longer than."""
        return self.width if self.clock is None else self.clock.longest

    @property
    def is_tumbling(self) -> bool:
        """Whether a pane is a window."""
        return self.step == self.width == self.every


FOREVER = Panes(None, MAX_TIME + 1, MAX_TIME + 1, MAX_TIME + 1, 0, 0, (False, False))
"""One window for all of time, without a column."""


def panes_of(window: FixedWindow, lateness: int) -> Panes:
    """The panes of windows whose lengths were checked."""
    return window._panes(lateness)


def whole(span: Span) -> int:
    """A length of a window that was checked."""
    assert isinstance(span, int)
    return span


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


def bounds_of(starts: np.ndarray, ends: np.ndarray, named: tuple[bool, bool]) -> HeapedColumns:
    """Windows' bounds as columns of results, as far as they are named."""
    chosen = tuple([bounds for bounds, wanted in zip((starts, ends), named, strict=True) if wanted])
    return chosen, (None,) * len(chosen)


def checked_window(operator: str, window: W, schema: Schema) -> W:
    """The window with its lengths as integers, in the unit of its time; SchemaError, naming the operator, for a time
    column that does not fit, a width that is none, or a number beside a timestamp."""
    if not isinstance(window, Window):
        raise SchemaError(
            f"operator {operator!r}: a window is Tumbling('time', '1h'), Sliding('time', '1h', '5min') or "
            f"Session('time', '10min'), of a column of times, not {window!r}"
        )
    if window.time not in schema.positions:
        absent = schema.missing(window.time, "for the window's time")
        raise SchemaError(f"operator {operator!r}: {absent}")
    require_own_time(f"operator {operator!r}: the window's time {window.time!r}", schema, window.time)
    kind = str(schema.kind(window.time))
    lengths: dict[str, Any] = {}
    for name in ("width", "every", "gap", "offset"):
        if hasattr(window, name):
            given = getattr(window, name)
            lengths[name] = span_of(given, kind, f"operator {operator!r}: a window's {name}")
            if lengths[name] < 1 and name != "offset":
                raise SchemaError(f"operator {operator!r}: a window's {name} is at least 1, not {given!r}")
    bounds = {"start": window.start, "end": window.end}
    require_column(f"operator {operator!r}", **{of: name for of, name in bounds.items() if name is not None})
    window = replace(window, **lengths)
    if isinstance(window, FixedWindow):
        window._require_fit(operator, kind)
    return window


def require_fixed(operator: str, window: Any) -> FixedWindow:
    """The window, if it is of a kind that lies on a grid; else SchemaError, naming the operator."""
    if not isinstance(window, FixedWindow):
        kinds = " or ".join([kind.__name__ for kind in FixedWindow.__subclasses__()])
        raise SchemaError(f"operator {operator!r}: its window is {kinds}, not {type(window).__name__}")
    return window


def require_in_time(operator: str, lateness: Span, late: bool = False) -> None:
    """SchemaError, naming the operator, for what is said of late rows where there is no window."""
    if late or not is_number(lateness) or lateness != 0:
        raise SchemaError(f"operator {operator!r}: rows are late for windows only; give it a window")


def checked_lateness(operator: str, lateness: Span, window: Window, schema: Schema) -> int:
    """How late rows may be, in the unit of the window's time; SchemaError, naming the operator, if it is negative."""
    found = span_of(lateness, str(schema.kind(window.time)), f"operator {operator!r}: lateness")
    if found < 0:
        raise SchemaError(f"operator {operator!r}: lateness is at least 0, not {lateness!r}")
    return found
