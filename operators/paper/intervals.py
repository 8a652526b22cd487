"""The state of best_offers on one worker: open intervals in a hash table, a wheel of their ends, offers that wait.

The kernels work on flat int64 tables: `table`, a row an open interval, one cache line each; `entries`, `wheel`, `due`
and `ends`, the timing wheel of (end, key) and its counts; `pending` offers (key, time, value) whose interval is not
here (yet); and the counts of these, an OfferCounts.
"""

from collections.abc import MutableSequence

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, boolean, int64, kernel, void
from tokenring.engine.compiled import Record, Words, record_of, records_of, signed, unsigned
from tokenring.operators.paper.timing_wheel import Bucket, HeldEntry, TimingWheel, WheelCounts, hold, leave, pass_by
from tokenring.operators.state import MOST, grown


class Interval(Record):
    """One cache line; where it is not `taken`, a free cell."""

    key: int
    taken: int
    start: int
    end: int
    threshold: int
    payload: int
    best: int
    has_best: int


class OfferCounts(Record):
    """How many offers wait; and the key that was opened twice."""

    pending: int
    duplicate: int


Cells = MutableSequence[Interval]
INTERVAL_WORDS = Interval.size
KEY = Interval.place_of("key")
NEVER = MOST  # the start of a free cell: no offer counts there
_FIRST_INTERVALS = 256


@kernel
def _home(table: Cells, key: int) -> int:
    """Where a key's probe sequence starts. Multiplicative, which spreads runs of consecutive keys evenly, with few
    collisions; its constant is not the exchange's, so that the keys of one worker still use the whole table."""
    folded = unsigned(key) ^ (unsigned(key) >> unsigned(32))
    return signed(((folded * unsigned(0xD6E8FEB86659FD93)) >> unsigned(32)) & unsigned(len(table) - 1))


@kernel
def _find(table: Cells, key: int) -> int:
    """The row of an open interval, or of the free cell where it would go."""
    mask = len(table) - 1
    at = _home(table, key)
    while (table[at].taken != 0) & (table[at].key != key):
        at = (at + 1) & mask
    return at


@kernel
def _remove(table: Cells, at: int) -> None:
    """Free a row and close the gap it leaves in its probe sequence (no tombstones)."""
    mask = len(table) - 1
    gap, probe = at, (at + 1) & mask
    while table[probe].taken != 0:
        home = _home(table, table[probe].key)
        if ((probe - home) & mask) >= ((probe - gap) & mask):
            table[gap] = table[probe]
            gap = probe
        probe = (probe + 1) & mask
    table[gap].taken, table[gap].start = 0, NEVER


@kernel(boolean(TABLE, TABLE, TABLE, WORDS, WORDS, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN))
def open_intervals(
    intervals: Words, places: Words, buckets: Words, due_counts: Words, words: Words, keys: Words, starts: Words,
    stops: Words, thresholds: Words, payloads: Words,
) -> bool:  # fmt: skip
    """Add intervals (columns of one length); False at a key that is open already (`duplicate` of the counts)."""
    table, counts = records_of(intervals, Interval), record_of(words, OfferCounts)
    entries, wheel = records_of(places, HeldEntry), records_of(buckets, Bucket)
    ends = record_of(due_counts, WheelCounts)
    for i in range(len(keys)):
        if stops[i] <= starts[i]:
            continue  # no time lies within: no offer can count
        at = _find(table, keys[i])
        if table[at].taken != 0:
            counts.duplicate = keys[i]
            return False
        table[at].key, table[at].taken, table[at].start, table[at].end = keys[i], 1, starts[i], stops[i]
        table[at].threshold, table[at].payload, table[at].has_best = thresholds[i], payloads[i], 0
        hold(entries, wheel, ends, stops[i], keys[i])
    return True


@kernel
def _consider(table: Cells, at: int, time: int, value: int) -> None:
    # Whether an offer counts is a coin toss to the branch predictor, so it is computed, not jumped on.
    counts = (table[at].start <= time) & (time < table[at].end) & (value >= table[at].threshold)
    better = counts & ((table[at].has_best == 0) | (value > table[at].best))
    table[at].best = value if better else table[at].best
    table[at].has_best |= better


@kernel(void(TABLE, TABLE, WORDS, COLUMN, COLUMN, COLUMN))
def make_offers(intervals: Words, pending: Words, words: Words, keys: Words, times: Words, values: Words) -> None:
    """Apply offers to open intervals; those whose interval is not here (yet) go to `pending`, int64 (n, 3)."""
    table, counts = records_of(intervals, Interval), record_of(words, OfferCounts)
    waiting = counts.pending
    for i in range(len(keys)):
        at = _find(table, keys[i])
        _consider(table, at, times[i], values[i])  # harmless in a free cell, which never starts
        pending[waiting, 0], pending[waiting, 1], pending[waiting, 2] = keys[i], times[i], values[i]
        waiting += table[at].taken == 0
    counts.pending = waiting


@kernel(void(TABLE, TABLE, WORDS, int64))
def settle_pending(intervals: Words, pending: Words, words: Words, frontier: int) -> None:
    """Apply waiting offers whose interval has come; forget those before `frontier`, whose interval can no longer come.
    """
    table, counts = records_of(intervals, Interval), record_of(words, OfferCounts)
    kept = 0
    for i in range(counts.pending):
        key, time, value = pending[i, 0], pending[i, 1], pending[i, 2]
        at = _find(table, key)
        if table[at].taken != 0:
            _consider(table, at, time, value)
        elif time >= frontier:
            pending[kept, 0], pending[kept, 1], pending[kept, 2] = key, time, value
            kept += 1
    counts.pending = kept


@kernel(int64(TABLE, TABLE, TABLE, TABLE, WORDS, int64, WORDS, WORDS, WORDS, WORDS))
def close_intervals(
    intervals: Words, places: Words, buckets: Words, due: Words, due_counts: Words, frontier: int, payloads: Words,
    values: Words, keys: Words, stops: Words,
) -> int:  # fmt: skip
    """Close intervals whose end is at or before `frontier`, in order of their ends, until the outputs are full; returns
    rows written. keys, stops: empty where nobody asks for them.
    """
    table, entries = records_of(intervals, Interval), records_of(places, HeldEntry)
    wheel, ends = records_of(buckets, Bucket), record_of(due_counts, WheelCounts)
    rows = 0
    first, last = pass_by(entries, wheel, due, ends, frontier)
    next_due = first
    while next_due < last and rows < len(payloads):
        at = _find(table, due[next_due, 1])
        if table[at].has_best != 0:
            payloads[rows], values[rows] = table[at].payload, table[at].best
            if len(keys) > 0:
                keys[rows], stops[rows] = table[at].key, table[at].end
            rows += 1
        _remove(table, at)
        next_due += 1
    leave(wheel, due, ends, next_due - first)
    return rows


@kernel(void(TABLE, COLUMN, TABLE))
def take_intervals(intervals: Words, keys: Words, rows: Words) -> None:
    """Remove open intervals, whose ends are in no wheel any more; writes their words to `rows`, int64 (8, keys)."""
    table = records_of(intervals, Interval)
    for i in range(len(keys)):
        at = _find(table, keys[i])
        rows[:, i] = intervals[at]
        _remove(table, at)


@kernel(void(TABLE, TABLE, TABLE, WORDS, TABLE))
def put_intervals(intervals: Words, places: Words, buckets: Words, due_counts: Words, rows: Words) -> None:
    """Add intervals that were open elsewhere, with their best offers. rows: as `take_intervals` writes them."""
    table, entries = records_of(intervals, Interval), records_of(places, HeldEntry)
    wheel, ends = records_of(buckets, Bucket), record_of(due_counts, WheelCounts)
    for i in range(rows.shape[1]):
        at = _find(table, rows[KEY, i])
        intervals[at] = rows[:, i]
        hold(entries, wheel, ends, table[at].end, table[at].key)


@kernel(void(TABLE, TABLE))
def _rehash(old: Words, new: Words) -> None:
    before, after = records_of(old, Interval), records_of(new, Interval)
    for i in range(len(before)):
        if before[i].taken != 0:
            after[_find(after, before[i].key)] = before[i]


def _empty_table(rows: int) -> np.ndarray:
    table = np.zeros((rows, INTERVAL_WORDS), np.int64)
    Interval.of_table(table)["start"] = NEVER
    return table


class Intervals:
    """The open intervals and waiting offers of one worker."""

    __slots__ = ("counts", "ends", "pending", "pending_room", "table")

    def __init__(self) -> None:
        self.table = _empty_table(2 * _FIRST_INTERVALS)
        self.ends = TimingWheel(_FIRST_INTERVALS)
        self.pending = np.zeros((1024, 3), np.int64)
        self.pending_room = len(self.pending)
        self.counts = OfferCounts()

    def reserve(self, intervals: int) -> None:
        """Make room for so many more open intervals."""
        needed = self.open + intervals
        capacity = len(self.ends.entries)
        if needed > capacity:
            while capacity < needed:
                capacity *= 2
            table = _empty_table(2 * capacity)
            _rehash(self.table, table)
            self.table = table
            self.ends.reserve(capacity)

    def reserve_pending(self, offers: int) -> None:
        """Make room for so many more waiting offers."""
        needed = self.counts.pending + offers + 1  # a spare row is written before it is known to be needed
        self.pending = grown(self.pending, needed, axis=0)
        self.pending_room = len(self.pending)

    @property
    def open(self) -> int:
        """How many intervals are open."""
        return self.ends.counts.held

    @property
    def least_end(self) -> int:
        """The least end of the open intervals (there must be one)."""
        return self.ends.counts.least_time
