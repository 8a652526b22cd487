"""Timing: at which times a source sends, from a column of its rows or one for all, and what it may promise."""

from collections.abc import Callable, Sequence
from typing import Any, NoReturn, Protocol, Self

import numpy as np

from tokenring.engine import MAX_TIME, Batch, OutputPort, Schema, SchemaError, Scope, ScopeOf, Time, UsageError
from tokenring.engine.arguments import is_whole, require_flags
from tokenring.operators.durations import Span, duration_of, span_of
from tokenring.operators.time.own_times import outside_times, require_integer_times

NOTHING = MAX_TIME
"""The floor behind a source's last rows."""

RowOrigin = Callable[[int], str]
"""Where a batch's row of that number came from, for messages."""

TIME_KINDS = ("int64", "uint64", "timestamp")


class Outlet(Protocol):
    """A source's right to send on one output, and its word on what is still to come."""

    @property
    def time(self) -> Time:
        """The least time at which this source still sends."""

    @property
    def live(self) -> bool:
        """Whether it was not closed."""

    def clone(self) -> Self:
        """Another one at the same time: what is still to come is what either may send."""

    def send(self, output: OutputPort, batch: Batch, time: Time) -> None:
        """Send rows whose own times are `time` or later, which is not before the outlet's; it may move there."""

    def advance(self, time: Time) -> None:
        """Promise nothing before `time` any more; TimeRegressionError for an earlier one."""

    def close(self) -> None:
        """Promise nothing any more (idempotent)."""


class Timing:
    """What `time=`, `disorder=` and `late=` of a source mean for its schema; raises SchemaError and UsageError at build
    time.

    time: a column of kind int64, uint64 or timestamp (ns), or an integer, the time of all rows. disorder: how much
    earlier than the greatest time before it a row may be, "5s" or a number in the column's unit; None: as floors say.
    late: whether rows that are earlier still go to a stream of their own.
    """

    def __init__(self, name: str, schema: Schema, time: str | Time, disorder: Span | None, late: bool = False) -> None:
        require_flags(f"source {name!r}", late=late)
        self.name = name
        self.late = late
        self.column = time if isinstance(time, str) else None
        self.constant: Time = 0
        kind = schema.kind(time).name if isinstance(time, str) and time in schema.positions else ""
        # Bare ns are right beside timestamps here: too few of them are an error that says how many there must be.
        kind = "" if is_whole(disorder) else kind
        self.disorder = None if disorder is None else span_of(disorder, kind, f"source {name!r}: disorder")
        if self.disorder is not None and self.disorder < 0:
            raise UsageError(f"source {name!r}: disorder must be at least 0, not {disorder}")
        if self.column is None and (late or self.disorder):
            option = "late" if late else "disorder"
            raise UsageError(f"source {name!r}: {option}= is for rows that have times of their own; give time=column")
        if not isinstance(time, str):
            if not is_whole(time) or not 0 <= time <= MAX_TIME:
                raise UsageError(
                    f"source {name!r}: time must be a column's name or an integer from 0 to {MAX_TIME}, not {time!r}"
                )
            self.constant = int(time)
            return
        self.position = position_of(f"source {name!r}", schema, time)

    def clock(self, outlet: Outlet, late: Outlet | None = None) -> "Clock":
        """For one worker's source, with its outlets: for its rows, and for those that are late."""
        if self.constant:
            outlet.advance(self.constant)
        return Clock(self, outlet, late)


def position_of(what: str, schema: Schema, column: str) -> int:
    """The position of a time column; SchemaError, on behalf of a source or sink, if it cannot be one."""
    position = schema.position(column, what, "to take times from")
    kind = schema.kinds[position]
    if kind.name not in TIME_KINDS:
        raise SchemaError(
            f"{what}: times are taken from a column of {', '.join(TIME_KINDS)}; {column!r} is {kind}"
            f"{'; give schema= in which it is a timestamp' if kind.is_date else ''}"
        )
    return position


class Clock:
    """Sends one source's rows by its outlet, each batch at the latest time that is right, and moves the outlet on."""

    __slots__ = ("_column", "_disorder", "_late", "_timing", "greatest", "outlet")

    def __init__(self, timing: Timing, outlet: Outlet, late: Outlet | None) -> None:
        self.outlet = outlet
        self._late = late
        self._timing = timing
        self._column = -1 if timing.column is None else timing.position
        self._disorder = timing.disorder
        self.greatest: Time = -1
        """The greatest time sent so far."""

    def send(
        self, output: OutputPort, batch: Batch, floor: Time | None, place: RowOrigin, late: OutputPort | None = None
    ) -> Time:
        """Send rows. floor: the least time of all that come after them, None if it is not known. Returns the greatest
        time sent so far. SchemaError names the row that has no valid time, or is earlier than what was promised, unless
        there is an output for those: they are sent there at the time that was promised.
        """
        outlet = self.outlet
        promise = outlet.time
        if self._column < 0:
            outlet.send(output, batch, promise)
            return self._timing.constant
        if batch.rows:
            words = batch.columns[self._column]
            least, greatest = int(words.min()), int(words.max())
            if least < promise or greatest > MAX_TIME:
                if late is None or least < 0 or greatest > MAX_TIME:
                    self._refuse(batch, place)
                missed = words < promise
                assert self._late is not None, "the source has the output"
                self._late.send(late, batch.filter(missed), promise)
                batch = batch.filter(~missed)
                least = promise
            self.greatest = max(self.greatest, greatest)
        if floor is not None:
            promise = max(promise, floor)
        if self._disorder is not None:
            promise = max(promise, self.greatest - self._disorder)
        if batch.rows:
            outlet.send(output, batch, min(least, promise))
        self.promise(min(promise, MAX_TIME))
        return self.greatest

    def promise(self, time: Time) -> None:
        """No row is earlier any more, but those that are late."""
        self.outlet.advance(time)
        if self._late is not None:
            self._late.advance(time)

    def close(self) -> None:
        """Nothing comes any more."""
        self.outlet.close()
        if self._late is not None:
            self._late.close()

    def _refuse(self, batch: Batch, place: RowOrigin) -> NoReturn:
        """Say which row cannot be sent."""
        timing, promise = self._timing, self.outlet.time
        assert timing.column is not None
        words = batch.columns[self._column]
        least = promise if self._late is None else 0
        row = int(np.flatnonzero((words < least) | (words > MAX_TIME))[0])
        time = int(words[row])
        where = f"source {timing.name!r}: {place(row)}, column {timing.column!r}"
        if batch.nulls(timing.column)[row]:
            raise SchemaError(f"{where}: the time is null; leave such rows out, or fill them")
        is_instant = batch.schema.kind(timing.column).is_instant
        if not 0 <= time <= MAX_TIME:
            raise SchemaError(outside_times(f"{where}: the time is", is_instant, time))
        more: Any = promise - time + (timing.disorder or 0)
        told: tuple[Any, Any] = (time, promise)
        if is_instant:
            more, told = repr(duration_of(more)), (np.datetime64(time, "ns"), np.datetime64(promise, "ns"))
        cure = f"sort the rows, give disorder={more} or more, or take such rows with late=True"
        raise SchemaError(f"{where}: the time is {told[0]}, although nothing before {told[1]} was to come; {cure}")


def floors_after(minima: Sequence[Time]) -> list[Time]:
    """For the least times of pieces in order: behind each, the least of those that follow; NOTHING behind the last."""
    floors = [NOTHING] * len(minima)
    for piece in range(len(minima) - 2, -1, -1):
        floors[piece] = min(floors[piece + 1], minima[piece + 1])
    return floors


def block_minima(times: np.ndarray, rows: int) -> list[Time]:
    """The least of each block of so many times, int64 or uint64 of shape (n,); the last block may be shorter."""
    if not len(times):
        return []
    return np.minimum.reduceat(times, np.arange(0, len(times), rows)).tolist()


def require_scope(scope: ScopeOf[Any], what: str) -> None:
    """Raise UsageError for no scope, on behalf of what is declared there."""
    if not isinstance(scope, Scope):
        raise UsageError(
            f"{what} is declared in a scope, which comes first (with worker.dataflow(name) as scope: ...), not in a "
            f"{type(scope).__name__}"
        )


def require_root(scope: ScopeOf[Any], what: str) -> None:
    """Raise GraphError where times are tuples, on behalf of a source or sink; UsageError for no scope."""
    require_scope(scope, what)
    over = "declare it in the root scope; loop.enter(stream) and loop.leave(stream) bring streams over"
    require_integer_times(scope, f"{what} is declared", over)
