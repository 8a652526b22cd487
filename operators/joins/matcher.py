"""The state of a join on one worker: rows in, pairs out, as soon as the second row of a pair is here."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, Batch, Schema, Time, UsageError
from tokenring.operators.joins.joined_columns import LEFT, RIGHT, SIDES, JoinedColumns, present
from tokenring.operators.joins.kernels import LATEST, MATCHED, ROW, TIME, probe
from tokenring.operators.joins.results import Results, both
from tokenring.operators.joins.side import AT_ONCE, Side
from tokenring.operators.state import Keys, RowStore, grown

Send = Callable[[Time, Batch], None]
"""`send(time, batch)`: results, at a time that is not before the message's at hand."""
Extent = tuple[np.ndarray, np.ndarray, np.ndarray]
"""Of rows, int64 (rows,) each: (starts, ends), which match where they meet, and the frontier of the other side at which
nothing can match them any more."""
_NONE = np.zeros(0, np.int64)


@dataclass(frozen=True)
class Extents:
    """How rows match in time. left, right: the extents of a message's rows, given its time; TimeRegressionError for
    late ones. exact: whether rows that go do so at few times (ends of windows), at which results are then sent."""

    left: Callable[[Batch, Time], Extent]
    right: Callable[[Batch, Time], Extent]
    exact: bool


class Matcher:
    """Rows of both sides by key. Without extents all are kept for ever, and every two of one key match.

    unique: the side that has at most one row for each key, so that rows of the other side go once they have matched.
    outer: rows of the left side that never matched are sent, with nulls, when that is certain.
    """

    __slots__ = (
        *("_columns", "_exact", "_extents", "_keys", "_outer", "_places", "_results", "_rows", "_unique"),
        *("_cursor", "sides"),
    )

    def __init__(
        self, columns: JoinedColumns, arriving: tuple[Schema, Schema], extents: Extents | None, outer: bool, unique: int
    ) -> None:
        self._columns = columns
        self._extents = extents
        self._outer = outer
        self._unique = unique
        self._keys = Keys(columns.sides[LEFT], columns.on[LEFT])
        self.sides = tuple([Side(columns.store(side), extents is not None) for side in (LEFT, RIGHT)])
        self._results = Results(columns, arriving)
        self._cursor = np.zeros(3, np.int64)
        self._rows, self._places = np.empty(AT_ONCE, np.int64), np.empty(AT_ONCE, np.int64)

    def take(self, side: int, batch: Batch, time: Time, send: Send) -> None:
        """Take a message's rows: send the pairs that they complete, and keep them."""
        extents = self._extents
        whole, batch = batch, present(batch, self._columns.on[side])
        if self._outer and side == LEFT and batch.rows < whole.rows:
            self._send_null_keys(whole, time, send)
        if not batch.rows:
            return
        extent = self._extent(side, batch, time)
        slots = self._keys.slots(batch, self._columns.on[side])
        for each in self.sides:
            each.heads = grown(each.heads, self._keys.limit, -1)
        matched = np.zeros(batch.rows, np.int64)
        pairs = self._match(side, batch, slots, extent, matched, time, send)
        if extents is not None:
            self.sides[side].add_bounded(batch, slots, extent, matched, time)
        elif self._unique < 0:
            self.sides[side].add(batch, slots, np.arange(batch.rows), time, False)
        elif side != self._unique:
            alone = np.flatnonzero(matched == 0)
            if len(alone):
                self.sides[side].add(batch, slots, alone, time, False)
        else:
            self._add_unique(side, batch, slots, time)
            if pairs:
                self.sides[1 - side].forget(slots[matched != 0], pairs)

    def _extent(self, side: int, batch: Batch, time: Time) -> Extent:
        if self._extents is None:
            return _NONE, _NONE, _NONE
        return (self._extents.left if side == LEFT else self._extents.right)(batch, time)

    def _match(
        self, side: int, batch: Batch, slots: np.ndarray, extent: Extent, matched: np.ndarray, time: Time, send: Send
    ) -> int:
        """Send the pairs that these rows make with the other side's; returns how many there are."""
        other, cursor = self.sides[1 - side], self._cursor
        cursor[:] = 0, -1, -1
        pairs = 0
        while cursor[ROW] < batch.rows:
            found = probe(
                *(cursor, slots, other.heads, other.links, other.bounded),
                *(extent[0], extent[1], matched, self._rows, self._places),
            )
            pairs += found
            if not found:
                continue
            rows, places = self._rows[:found], self._places[:found]
            if cursor[LATEST] <= time:
                self._send_pairs(side, batch, rows, places, time, send)
                continue
            times = np.maximum(other.links[places, TIME], time)
            for each in np.unique(times).tolist():  # times of messages that are ahead of this one: few
                chosen = times == each
                self._send_pairs(side, batch, rows[chosen], places[chosen], each, send)
        return pairs

    def _send_pairs(
        self, side: int, batch: Batch, rows: np.ndarray, places: np.ndarray, time: Time, send: Send
    ) -> None:
        parts = both(side, (batch, rows), (self.sides[1 - side].store, places))
        send(time, self._results.of(*parts, len(rows)))

    def _add_unique(self, side: int, batch: Batch, slots: np.ndarray, time: Time) -> None:
        done = self.sides[side].add(batch, slots, np.arange(batch.rows), time, True)
        if done < batch.rows:
            names = self._columns.on[side]
            key = ", ".join(f"{name}={batch.slice(done, done + 1)[name].tolist()[0]!r}" for name in names)
            raise UsageError(f"the {SIDES[side]} side has a second row with {key}; it was declared unique")

    def _send_null_keys(self, batch: Batch, time: Time, send: Send) -> None:
        """Rows of the left side that can match nothing."""
        absent = np.zeros(batch.rows, np.bool_)
        for name in self._columns.on[LEFT]:
            absent |= batch.nulls(name)
        rows = np.flatnonzero(absent)
        self._send_alone(batch, rows, self._extent(LEFT, batch, time)[2][rows], time, send)

    @property
    def least(self) -> Time:
        """The least time at which a row of the left side may turn out to match nothing; COMPLETE if nobody asks."""
        return self.sides[LEFT].least_due if self._outer else COMPLETE

    def expire(self, frontiers: tuple[Time, Time], send: Send) -> None:
        """Drop rows that the frontiers of both inputs say cannot match any more; send those that never did."""
        for side in (LEFT, RIGHT):
            horizon = min(frontiers[1 - side], MAX_TIME)  # COMPLETE is not before `least_due` of no rows
            mine, other = self.sides[side], self.sides[1 - side]
            while mine.least_due <= horizon:
                places, dues, emptied = mine.expire(other, horizon)
                if self._outer and side == LEFT:
                    alone = mine.links[places, MATCHED] == 0
                    if alone.any():
                        self._send_alone(mine.store, places[alone], dues[alone], 0, send)
                if mine.store is not None:
                    mine.store.drop(places)
                if len(emptied):
                    self._keys.remove(emptied)

    def _send_alone(
        self, source: Batch | RowStore | None, rows: np.ndarray, dues: np.ndarray, least: Time, send: Send
    ) -> None:
        """Rows of the left side that match nothing: at the ends of their windows, or all at the least of their times,
        `least` at least."""
        assert self._extents is not None
        dues = np.maximum(dues, least)
        for due in np.unique(dues).tolist() if self._extents.exact else (int(dues.min()),):
            chosen = rows[dues == due] if self._extents.exact else rows
            send(due, self._results.of((source, chosen), None, len(chosen)))
