"""The state of a join on one worker: rows in, pairs out, as soon as the second row of a pair is here."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, Batch, Schema, Time
from tokenring.operators.joins.kept import (
    A_PLACE,
    A_ROW,
    ANY,
    AT_ONCE,
    BARRED,
    EVERY,
    FIRST,
    HAS_ROW,
    LATEST,
    LEFT,
    MATCHED,
    MATCHES,
    NEVER,
    ONE,
    RIGHT,
    ROW,
    SIDES,
    TIME,
    WAITS,
    Extent,
    Extents,
    JoinedColumns,
    MovingSides,
    Results,
    Side,
    can_match,
    meet,
    present,
    probe,
)
from tokenring.operators.joins.sent import Send, Sent
from tokenring.operators.state import Keys, grown
from tokenring.operators.state.moving import MovingKeys

_NONE = np.zeros(0, np.int64)


class Matcher:
    """Rows of both sides by key. Without extents all are kept for ever, and every two of one key match.

    unique: the side that has at most one row for each key, so that rows of the other side go once they have matched.
    Where left rows are sent once and for ever is the extent, one row a key of the right side says all there is to say.
    A row of the unique side that can match nothing bars its key: rows of the other side need not wait for it.
    Rows that are sent alone are so when it is certain that they match nothing: with extents at their end, otherwise
    when the key is barred, or the other side is finished, which is told by whether it ever had a row of their key.
    """

    __slots__ = (
        *("_columns", "_cursor", "_ended", "_extents", "_how", "_keys", "_least", "_places", "_rows"),
        *("_seen", "_sent", "_unique", "changes", "sides"),
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
        self.changes: Counter[Time] | None = None
        """How many rows more, by their times, may turn out to match nothing (below 0: fewer), if somebody asks."""
        self._keys = Keys(columns.sides[LEFT], columns.on[LEFT])
        self.sides = tuple([Side(columns.store(side), extents is not None) for side in (LEFT, RIGHT)])
        self._sent = Sent(Results(columns, arriving), self.sides, extents is not None and extents.exact)
        self._cursor = np.zeros(3, np.int64)
        self._rows, self._places = np.empty(AT_ONCE, np.int64), np.empty(AT_ONCE, np.int64)

    @property
    def moves(self) -> MovingSides:
        """What is kept, as bins leave and come."""
        keys = MovingKeys(self._keys, self._columns.on[LEFT], in_kernels=True)
        return MovingSides(
            self._columns, keys, self.sides, self._extents is not None, changed=self._look_again, seen=self._seen
        )

    def _look_again(self, waiting: Sequence[Time]) -> None:
        self._ended = [False, False]  # what came may be of keys that a side which has ended never had
        self._least = [*map(min, self._least, waiting)]

    def note_ended(self, *ended: bool) -> None:
        """Which sides have ended: rows of the other one need not be kept any more. Where some of those are sent alone
        then, `expire` sees to it."""
        if self._extents is None and not any(self._how.alone):
            self._ended = list(ended)

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
            each.have_slots(self._keys.limit)
        if extents is None and self._how.once and side == RIGHT:
            rows = self.sides[RIGHT].firsts(slots, time)
            batch, slots = batch.take(rows), slots[rows]
        matched = np.zeros(batch.rows, np.int64)
        if self._unique == 1 - side:
            self._meet(side, batch, slots, extent, matched, time, send)
        else:
            barred = self._bar(side, batch, slots, extent, matched, time, send)
            if barred is not None and extents is None:
                batch, slots, matched = batch.filter(~barred), slots[~barred], matched[~barred]
            self._match(side, batch, slots, extent, matched, time, send)
        if extents is not None:
            self._keep_bounded(side, batch, slots, extent, matched, time)
        else:
            self._keep(side, batch, slots, matched, time, send)

    def _bar(
        self, side: int, batch: Batch, slots: np.ndarray, extent: Extent, matched: np.ndarray, time: Time, send: Send
    ) -> np.ndarray | None:
        """Which rows of the unique side can match nothing, bool (rows,), None if all can: their keys are barred, or
        where rows go some time, their extents are empty."""
        if (column := self._columns.where[side]) is None:
            return None
        barred = ~can_match(batch, column)
        if not barred.any():
            return None
        rows = np.flatnonzero(barred)
        if self._extents is not None:
            extent[0][rows], extent[1][rows], matched[rows] = MAX_TIME, -MAX_TIME, MATCHES
            return barred
        other = self.sides[1 - side]
        self._columns.require_one(side, batch, rows, self.sides[side].bar(slots, rows))
        places = other.taken(slots[rows])
        if self._how.alone[1 - side] and len(places):
            self._sent.at_each(1 - side, other.store, places, np.maximum(other.links[places, TIME], time), send)
            self._let_go(other.links[places, TIME])
        if other.store is not None:
            other.store.drop(places)
        return barred

    def _keep_bounded(
        self, side: int, batch: Batch, slots: np.ndarray, extent: Extent, matched: np.ndarray, time: Time
    ) -> None:
        """Keep, until they are due, rows that can match or are sent alone then."""
        rows, rule = np.arange(batch.rows), ANY
        if self._unique == 1 - side:
            rows = np.flatnonzero(matched != MATCHES if self._how.alone[side] else matched == WAITS)
        elif self._unique == side:
            rule = ONE
        elif self._how.once and side == RIGHT:
            rule = FIRST
        elif self._how.once:
            rows = np.flatnonzero(matched != MATCHES)  # those have been sent, or never will be
        self._columns.require_one(
            side, batch, rows, self.sides[side].add_bounded(batch, slots, rows, extent, matched, time, rule)
        )

    def _keep(
        self, side: int, batch: Batch, slots: np.ndarray, matched: np.ndarray, time: Time, send: Send
    ) -> None:
        """Keep, of rows that match at any time, those that still can; forget those of the other side that cannot."""
        alone = self._how.alone
        if alone[1 - side]:
            self._seen[side] = grown(self._seen[side], self._keys.limit)
            self._seen[side][slots] = True
        beside = self._unique == 1 - side
        rows = np.flatnonzero(matched == WAITS)
        never = np.flatnonzero(matched != MATCHES if self._ended[1 - side] else matched == NEVER)
        if alone[side] and len(never):
            self._sent.alone(side, batch, never, time, send)
        everything = np.arange(batch.rows)
        if self._ended[1 - side]:
            if side != self._unique:
                return
            # Nobody looks there any more, but a second row is told all the same. What is kept would have a right
            # elsewhere, and be sent alone once more by who goes on from a snapshot.
            if alone[side]:
                self._columns.require_one(side, batch, everything, self.sides[side].bar(slots, everything))
                everything = everything[:0]
        elif alone[side] and len(rows if beside else slots):
            # Of a side that has no rows it is what was: the token for those has gone.
            self._least[side] = min(self._least[side] if len(self.sides[side]) else COMPLETE, time)
            if self.changes is not None:
                self.changes[time] += len(rows if beside else slots)
        if beside:
            if len(rows):
                self.sides[side].add(batch, slots, rows, time, False)
            return
        self._columns.require_one(
            side, batch, everything, self.sides[side].add(batch, slots, everything, time, side == self._unique)
        )
        if side == self._unique and (matched == MATCHES).any():
            gone = self.sides[1 - side].forget(slots[matched == MATCHES])
            if alone[1 - side]:
                self._let_go(gone)

    def _let_go(self, times: np.ndarray) -> None:
        """Rows that waited to be sent alone, if they were to be, wait no more."""
        if self.changes is not None:
            self.changes.subtract(times.tolist())

    def _extent(self, side: int, batch: Batch, time: Time) -> Extent:
        if self._extents is None:
            return _NONE, _NONE, _NONE
        reach = self._extents.left if side == LEFT else self._extents.right
        starts, ends, dues = reach.of(self._columns.operator, batch, time)
        return starts, ends if self._columns.where[side] is None else ends.copy(), dues

    def _meet(
        self, side: int, batch: Batch, slots: np.ndarray, extent: Extent, fates: np.ndarray, time: Time, send: Send
    ) -> None:
        """Send the pairs that these rows make with the rows of the side that is unique."""
        other = self.sides[1 - side]
        rows, places = np.empty(batch.rows, np.int64), np.empty(batch.rows, np.int64)
        found = meet(
            *(self._cursor, slots, other.heads, other.links, other.tables[3], other.bounded, extent[0], extent[1]),
            *(time, fates, rows, places),
        )
        if found and self._how.matches:
            self._sent.pairs(side, batch, rows[:found], places[:found], self._cursor[LATEST], time, send)

    def _match(
        self, side: int, batch: Batch, slots: np.ndarray, extent: Extent, matched: np.ndarray, time: Time, send: Send
    ) -> None:
        """Send the pairs that these rows make with the other side's."""
        other, cursor = self.sides[1 - side], self._cursor
        cursor[:] = 0, -1, -1
        once = EVERY if not self._how.once else A_ROW if side == LEFT else A_PLACE
        while cursor[ROW] < batch.rows:
            found = probe(
                *(cursor, slots, other.heads, other.links, other.bounded, once),
                *(extent[0], extent[1], matched, self._rows, self._places),
            )
            if found and self._how.matches:
                rows, places = self._rows[:found], self._places[:found]
                self._sent.pairs(side, batch, rows, places, cursor[LATEST], time, send)

    def _send_null_keys(self, side: int, batch: Batch, time: Time, send: Send) -> None:
        """Rows that can match nothing."""
        absent = np.zeros(batch.rows, np.bool_)
        for name in self._columns.on[side]:
            absent |= batch.nulls(name)
        if (where := self._columns.where[side]) is not None:
            absent &= can_match(batch, where)
        rows = np.flatnonzero(absent)
        if not len(rows):
            return
        if self._extents is None:
            self._sent.alone(side, batch, rows, time, send)
        else:
            self._sent.due(side, batch, rows, np.maximum(self._extent(side, batch, time)[2][rows], time), send)

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
                        self._sent.due(side, mine.store, places[alone], dues[alone], send)
                if mine.store is not None:
                    mine.store.drop(places)
                if len(emptied):
                    self._keys.remove(emptied)

    def _send_never_seen(self, side: int, send: Send) -> None:
        """The other side is finished, and rows have done what they could. Those of the keys that it never had match
        nothing, each at its message's time."""
        mine = self.sides[side]
        if self._how.alone[side] and len(mine):
            self._seen[1 - side] = grown(self._seen[1 - side], len(mine.heads))
            is_seen, slots = self._seen[1 - side][: len(mine.heads)], np.flatnonzero(mine.heads >= HAS_ROW)
            self._let_go(mine.forget(slots[is_seen[slots]]))
            places = mine.taken(slots[~is_seen[slots]])
            places = places[np.argsort(mine.links[places, TIME], kind="stable")]
            times = mine.links[places, TIME]
            for time in np.unique(times).tolist():
                start, end = np.searchsorted(times, (time, time + 1))
                for at in range(start, end, AT_ONCE):
                    self._sent.alone(side, mine.store, places[at : min(at + AT_ONCE, end)], time, send)
            if mine.store is not None:
                mine.store.drop(places)
            if side == self._unique:
                mine.heads[slots] = BARRED  # nobody looks there any more, but a second row is told all the same
        self._least[side] = COMPLETE
