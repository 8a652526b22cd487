"""The state of a join on one worker: rows in, pairs out, as soon as the second row of a pair is here."""

from collections.abc import Callable

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, Batch, Schema, Time, UsageError
from tokenring.operators.joins.kept import (
    A_PLACE,
    A_ROW,
    AT_ONCE,
    EVERY,
    LATEST,
    LEFT,
    MATCHED,
    RIGHT,
    ROW,
    SIDES,
    TIME,
    Extent,
    Extents,
    JoinedColumns,
    Results,
    Side,
    both,
    present,
    probe,
)
from tokenring.operators.state import Keys, RowStore, grown

Send = Callable[[Time, Batch], None]
"""`send(time, batch)`: results, at a time that is not before the message's at hand."""
_NONE = np.zeros(0, np.int64)


class Matcher:
    """Rows of both sides by key. Without extents all are kept for ever, and every two of one key match.

    unique: the side that has at most one row for each key, so that rows of the other side go once they have matched.
    Where left rows are sent once and for ever is the extent, one row a key of the right side says all there is to say.
    Rows that are sent alone are so when it is certain that they match nothing: with extents at their end, otherwise
    when the other side is finished, which is told by whether it ever had a row of their key.
    """

    __slots__ = (
        *("_columns", "_cursor", "_ended", "_extents", "_how", "_keys", "_least", "_places", "_results", "_rows"),
        *("_seen", "_unique", "sides"),
    )

    def __init__(
        self, columns: JoinedColumns, arriving: tuple[Schema, Schema], extents: Extents | None, unique: int
    ) -> None:
        self._columns = columns
        self._extents = extents
        self._how = how = columns.how
        self._unique = RIGHT if how.once and extents is None else unique
        self._seen = [np.zeros(0, np.bool_) for _ in SIDES]  # by slot, where the other side's rows are sent alone
        self._ended = [False, False]
        self._least = [COMPLETE, COMPLETE]
        self._keys = Keys(columns.sides[LEFT], columns.on[LEFT])
        self.sides = tuple([Side(columns.store(side), extents is not None) for side in (LEFT, RIGHT)])
        self._results = Results(columns, arriving)
        self._cursor = np.zeros(3, np.int64)
        self._rows, self._places = np.empty(AT_ONCE, np.int64), np.empty(AT_ONCE, np.int64)

    def take(self, side: int, batch: Batch, time: Time, send: Send) -> None:
        """Take a message's rows: send the pairs that they complete, and keep them."""
        extents = self._extents
        whole, batch = batch, present(batch, self._columns.on[side])
        if self._how.alone[side] and batch.rows < whole.rows:
            self._send_null_keys(side, whole, time, send)
        if not batch.rows:
            return
        extent = self._extent(side, batch, time)
        slots = self._keys.slots(batch, self._columns.on[side])
        for each in self.sides:
            each.heads = grown(each.heads, self._keys.limit, -1)
        if extents is None and self._how.once and side == RIGHT:
            batch, slots = self._first_of_keys(batch, slots, time)
        matched = np.zeros(batch.rows, np.int64)
        pairs = self._match(side, batch, slots, extent, matched, time, send)
        if extents is not None:
            self.sides[side].add_bounded(batch, slots, extent, matched, time)
        else:
            self._keep(side, batch, slots, matched, pairs, time, send)

    def _first_of_keys(self, batch: Batch, slots: np.ndarray, time: Time) -> tuple[Batch, np.ndarray]:
        """The first row of each key that the right side has no row of yet; the others may be earlier than the one."""
        right = self.sides[RIGHT]
        places = right.heads[slots]
        known = places >= 0
        np.minimum.at(right.links[:, TIME], places[known], time)
        first = np.unique(slots, return_index=True)[1]
        rows = np.sort(first[~known[first]])
        return batch.take(rows), slots[rows]

    def _keep(
        self, side: int, batch: Batch, slots: np.ndarray, matched: np.ndarray, pairs: int, time: Time, send: Send
    ) -> None:
        """Keep, of rows that match at any time, those that still can; forget those of the other side that cannot."""
        alone = self._how.alone
        if alone[1 - side]:
            self._seen[side] = grown(self._seen[side], self._keys.limit)
            self._seen[side][slots] = True
        if self._ended[1 - side]:
            if alone[side] and (matched == 0).any():
                self._send_alone(side, batch, np.flatnonzero(matched == 0), time, send)
            if side != self._unique:
                return
        elif alone[side]:
            # Of a side that has no rows it is what was: the token for those has gone.
            self._least[side] = min(self._least[side] if len(self.sides[side]) else COMPLETE, time)
        if self._unique < 0:
            self.sides[side].add(batch, slots, np.arange(batch.rows), time, False)
        elif side != self._unique:
            rows = np.flatnonzero(matched == 0)
            if len(rows):
                self.sides[side].add(batch, slots, rows, time, False)
        else:
            self._add_unique(side, batch, slots, time)
            if pairs:
                self.sides[1 - side].forget(slots[matched != 0], pairs)

    def _extent(self, side: int, batch: Batch, time: Time) -> Extent:
        if self._extents is None:
            return _NONE, _NONE, _NONE
        reach = self._extents.left if side == LEFT else self._extents.right
        return reach.of(self._columns.operator, batch, time)

    def _match(
        self, side: int, batch: Batch, slots: np.ndarray, extent: Extent, matched: np.ndarray, time: Time, send: Send
    ) -> int:
        """Send the pairs that these rows make with the other side's; returns how many there are."""
        other, cursor = self.sides[1 - side], self._cursor
        cursor[:] = 0, -1, -1
        once = EVERY if not self._how.once else A_ROW if side == LEFT else A_PLACE
        pairs = 0
        while cursor[ROW] < batch.rows:
            found = probe(
                *(cursor, slots, other.heads, other.links, other.bounded, once),
                *(extent[0], extent[1], matched, self._rows, self._places),
            )
            pairs += found
            if not found or not self._how.matches:
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

    def _send_null_keys(self, side: int, batch: Batch, time: Time, send: Send) -> None:
        """Rows that can match nothing."""
        absent = np.zeros(batch.rows, np.bool_)
        for name in self._columns.on[side]:
            absent |= batch.nulls(name)
        rows = np.flatnonzero(absent)
        if self._extents is None:
            self._send_alone(side, batch, rows, time, send)
        else:
            self._send_due(side, batch, rows, np.maximum(self._extent(side, batch, time)[2][rows], time), send)

    @property
    def least(self) -> Time:
        """The least time at which a row may turn out to match nothing; COMPLETE if nobody asks."""
        least = COMPLETE
        for side in (LEFT, RIGHT):
            if self._how.alone[side] and len(self.sides[side]):
                least = min(least, self._least[side] if self._extents is None else self.sides[side].least_due)
        return least

    def expire(self, frontiers: tuple[Time, Time], send: Send) -> None:
        """Drop rows that the frontiers of both inputs say cannot match any more; send those that never did."""
        for side in (LEFT, RIGHT):
            if self._extents is None:
                if frontiers[1 - side] == COMPLETE and not self._ended[1 - side]:
                    self._ended[1 - side] = True
                    self._send_never_seen(side, send)
                continue
            horizon = min(frontiers[1 - side], MAX_TIME)  # COMPLETE is not before `least_due` of no rows
            mine, other = self.sides[side], self.sides[1 - side]
            while mine.least_due <= horizon:
                places, dues, emptied = mine.expire(other, horizon)
                if self._how.alone[side]:
                    alone = mine.links[places, MATCHED] == 0
                    if alone.any():
                        self._send_due(side, mine.store, places[alone], dues[alone], send)
                if mine.store is not None:
                    mine.store.drop(places)
                if len(emptied):
                    self._keys.remove(emptied)

    def _send_never_seen(self, side: int, send: Send) -> None:
        """The other side is finished: rows of the keys that it never had match nothing, each at its message's time."""
        mine = self.sides[side]
        if self._how.alone[side] and len(mine):
            self._seen[1 - side] = grown(self._seen[1 - side], len(mine.heads))
            slots = np.flatnonzero((mine.heads >= 0) & ~self._seen[1 - side][: len(mine.heads)])
            places = mine.taken(slots)
            places = places[np.argsort(mine.links[places, TIME], kind="stable")]
            times = mine.links[places, TIME]
            for time in np.unique(times).tolist():
                start, end = np.searchsorted(times, (time, time + 1))
                for at in range(start, end, AT_ONCE):
                    self._send_alone(side, mine.store, places[at : min(at + AT_ONCE, end)], time, send)
            if mine.store is not None:
                mine.store.drop(places)
            if side == self._unique:
                mine.heads[slots] = 0  # nobody looks there any more, but a second row is told all the same
        self._least[side] = COMPLETE

    def _send_due(
        self, side: int, source: Batch | RowStore | None, rows: np.ndarray, dues: np.ndarray, send: Send
    ) -> None:
        """Rows of one side that match nothing: at the ends of their windows, or all at the least of their times."""
        assert self._extents is not None
        for due in np.unique(dues).tolist() if self._extents.exact else (int(dues.min()),):
            self._send_alone(side, source, rows[dues == due] if self._extents.exact else rows, due, send)

    def _send_alone(self, side: int, source: Batch | RowStore | None, rows: np.ndarray, time: Time, send: Send) -> None:
        send(time, self._results.of(*both(side, (source, rows), None), len(rows)))
