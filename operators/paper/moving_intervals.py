"""The state of best_offers as columns: open intervals, and offers that wait, of keys whose bins move."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import COMPLETE, Batch, Schema, Time
from tokenring.operators.migrate import Leaving, Table
from tokenring.operators.paper.intervals import KEY, Intervals, put_intervals, settle_pending, take_intervals
from tokenring.operators.paper.timing_wheel import withdraw
from tokenring.operators.state import LEAST

OPEN = Table(Schema("key taken start end threshold payload best has_best"), ("key",))
"""Open intervals, by the words that they have."""
WAITING = Table(Schema("key time value"), ("key",))
"""Offers whose interval is not here."""


class MovingIntervals:
    """One worker's intervals and offers, as bins leave and come. changed: to be called when tables may be elsewhere."""

    __slots__ = ("_changed", "_state")

    def __init__(self, state: Intervals, changed: Callable[[], None] = lambda: None) -> None:
        self._state = state
        self._changed = changed

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        state, ends, counts = self._state, self._state.ends, self._state.counts
        settle_pending(state.table, state.pending, counts.words, LEAST)  # those that are left have no interval
        chosen = leaving.words(ends.numbers).astype(np.int64)
        keys = np.empty(state.open, np.int64)
        keys = keys[: withdraw(ends.entries, ends.wheel, ends.due, ends.counts.words, chosen, keys)]
        rows = np.empty((len(OPEN.schema), len(keys)), np.int64)
        take_intervals(state.table, keys, rows)
        waiting = state.pending[: counts.pending]
        gone = leaving.words(np.ascontiguousarray(waiting[:, KEY]))
        offers, kept = np.ascontiguousarray(waiting[gone].T), waiting[~gone]
        state.pending[: len(kept)] = kept
        counts.pending = len(kept)
        return [
            Batch.wrap(OPEN.schema, tuple(rows), len(keys)), Batch.wrap(WAITING.schema, tuple(offers), offers.shape[1])
        ]  # fmt: skip

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves. Output is pending at the ends of intervals."""
        state, ends = self._state, self._state.ends
        intervals, offers = tables
        state.reserve(intervals.rows)
        put_intervals(state.table, ends.entries, ends.wheel, ends.counts.words, np.array(intervals.columns))
        state.reserve_pending(offers.rows)
        waiting = state.counts.pending
        state.pending[waiting : waiting + offers.rows] = np.array(offers.columns).T
        state.counts.pending += offers.rows
        self._changed()
        return int(intervals.words("end").min()) if intervals.rows else COMPLETE
