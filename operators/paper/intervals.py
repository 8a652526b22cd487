"""The state of best_offers on one worker: open intervals in a hash table, a wheel of their ends, offers that wait.

The kernels work on flat int64 tables: `table`, a row an open interval, one cache line each; `entries`, `wheel`, `due`
and `ends`, the timing wheel of (end, key) and its counts; `pending` offers (key, time, value) whose interval is not
here (yet); `meta`, the counts.
"""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, boolean, int64, kernel, void
from tokenring.engine.compiled import Words, signed, unsigned
from tokenring.operators.paper.timing_wheel import HELD, LEAST_TIME, TimingWheel, hold, leave, pass_by
from tokenring.operators.state import MOST, grown

KEY, TAKEN, START, END, THRESHOLD, PAYLOAD, BEST, HAS_BEST = range(8)  # an interval: one cache line
PENDING, DUPLICATE = range(2)  # words of `meta`
NEVER = MOST  # the start of a free cell: no offer counts there
_FIRST_INTERVALS = 256


@kernel
def _home(table: Words, key: int) -> int:
    """Where a key's probe sequence starts. Multiplicative, which spreads runs of consecutive keys evenly, with few
    collisions; its constant is not the exchange's, so that the keys of one worker still use the whole table."""
    folded = unsigned(key) ^ (unsigned(key) >> unsigned(32))
    return signed(((folded * unsigned(0xD6E8FEB86659FD93)) >> unsigned(32)) & unsigned(table.shape[0] - 1))


@kernel
def _find(table: Words, key: int) -> int:
    """The row of an open interval, or of the free cell where it would go."""
    mask = table.shape[0] - 1
    at = _home(table, key)
    while (table[at, TAKEN] != 0) & (table[at, KEY] != key):
        at = (at + 1) & mask
    return at


@kernel
def _remove(table: Words, at: int) -> None:
    """Free a row and close the gap it leaves in its probe sequence (no tombstones)."""
    mask = table.shape[0] - 1
    gap, probe = at, (at + 1) & mask
    while table[probe, TAKEN] != 0:
        home = _home(table, table[probe, KEY])
        if ((probe - home) & mask) >= ((probe - gap) & mask):
            for word in range(8):
                table[gap, word] = table[probe, word]
            gap = probe
        probe = (probe + 1) & mask
    table[gap, TAKEN], table[gap, START] = 0, NEVER


@kernel(boolean(TABLE, TABLE, TABLE, WORDS, WORDS, COLUMN, COLUMN, COLUMN, COLUMN, COLUMN))
def open_intervals(
    table: Words, entries: Words, wheel: Words, ends: Words, meta: Words, keys: Words, starts: Words, stops: Words,
    thresholds: Words, payloads: Words,
) -> bool:  # fmt: skip
    """Add intervals (columns of one length); False at a key that is open already (meta[DUPLICATE])."""
    for i in range(len(keys)):
        if stops[i] <= starts[i]:
            continue  # no time lies within: no offer can count
        at = _find(table, keys[i])
        if table[at, TAKEN] != 0:
            meta[DUPLICATE] = keys[i]
            return False
        table[at, KEY], table[at, TAKEN], table[at, START], table[at, END] = keys[i], 1, starts[i], stops[i]
        table[at, THRESHOLD], table[at, PAYLOAD], table[at, HAS_BEST] = thresholds[i], payloads[i], 0
        hold(entries, wheel, ends, stops[i], keys[i])
    return True


@kernel
def _consider(table: Words, at: int, time: int, value: int) -> None:
    # Whether an offer counts is a coin toss to the branch predictor, so it is computed, not jumped on.
    counts = (table[at, START] <= time) & (time < table[at, END]) & (value >= table[at, THRESHOLD])
    better = counts & ((table[at, HAS_BEST] == 0) | (value > table[at, BEST]))
    table[at, BEST] = value if better else table[at, BEST]
    table[at, HAS_BEST] |= better


@kernel(void(TABLE, TABLE, WORDS, COLUMN, COLUMN, COLUMN))
def make_offers(table: Words, pending: Words, meta: Words, keys: Words, times: Words, values: Words) -> None:
    """Apply offers to open intervals; those whose interval is not here (yet) go to `pending`, int64 (n, 3)."""
    waiting = meta[PENDING]
    for i in range(len(keys)):
        at = _find(table, keys[i])
        _consider(table, at, times[i], values[i])  # harmless in a free cell, which never starts
        pending[waiting, 0], pending[waiting, 1], pending[waiting, 2] = keys[i], times[i], values[i]
        waiting += table[at, TAKEN] == 0
    meta[PENDING] = waiting


@kernel(void(TABLE, TABLE, WORDS, int64))
def settle_pending(table: Words, pending: Words, meta: Words, frontier: int) -> None:
    """Apply waiting offers whose interval has come; forget those before `frontier`, whose interval can no longer come.
    """
    kept = 0
    for i in range(meta[PENDING]):
        key, time, value = pending[i, 0], pending[i, 1], pending[i, 2]
        at = _find(table, key)
        if table[at, TAKEN] != 0:
            _consider(table, at, time, value)
        elif time >= frontier:
            pending[kept, 0], pending[kept, 1], pending[kept, 2] = key, time, value
            kept += 1
    meta[PENDING] = kept


@kernel(int64(TABLE, TABLE, TABLE, TABLE, WORDS, int64, WORDS, WORDS, WORDS, WORDS))
def close_intervals(
    table: Words, entries: Words, wheel: Words, due: Words, ends: Words, frontier: int, payloads: Words, values: Words,
    keys: Words, stops: Words,
) -> int:  # fmt: skip
    """Close intervals whose end is at or before `frontier`, in order of their ends, until the outputs are full; returns
    rows written. keys, stops: empty where nobody asks for them.
    """
    rows = 0
    first, last = pass_by(entries, wheel, due, ends, frontier)
    next_due = first
    while next_due < last and rows < len(payloads):
        at = _find(table, due[next_due, 1])
        if table[at, HAS_BEST] != 0:
            payloads[rows], values[rows] = table[at, PAYLOAD], table[at, BEST]
            if len(keys) > 0:
                keys[rows], stops[rows] = table[at, KEY], table[at, END]
            rows += 1
        _remove(table, at)
        next_due += 1
    leave(wheel, due, ends, next_due - first)
    return rows


@kernel(void(TABLE, COLUMN, TABLE))
def take_intervals(table: Words, keys: Words, rows: Words) -> None:
    """Remove open intervals, whose ends are in no wheel any more; writes their words to `rows`, int64 (8, keys)."""
    for i in range(len(keys)):
        at = _find(table, keys[i])
        for word in range(8):
            rows[word, i] = table[at, word]
        _remove(table, at)


@kernel(void(TABLE, TABLE, TABLE, WORDS, TABLE))
def put_intervals(table: Words, entries: Words, wheel: Words, ends: Words, rows: Words) -> None:
    """Add intervals that were open elsewhere, with their best offers. rows: as `take_intervals` writes them."""
    for i in range(rows.shape[1]):
        at = _find(table, rows[KEY, i])
        for word in range(8):
            table[at, word] = rows[word, i]
        hold(entries, wheel, ends, rows[END, i], rows[KEY, i])


@kernel(void(TABLE, TABLE))
def _rehash(old: Words, new: Words) -> None:
    for i in range(old.shape[0]):
        if old[i, TAKEN] != 0:
            at = _find(new, old[i, KEY])
            for word in range(8):
                new[at, word] = old[i, word]


def _empty_table(rows: int) -> np.ndarray:
    table = np.zeros((rows, 8), np.int64)
    table[:, START] = NEVER
    return table


class Intervals:
    """The open intervals and waiting offers of one worker."""

    __slots__ = ("_ends_view", "_meta_view", "ends", "meta", "pending", "pending_room", "table")

    def __init__(self) -> None:
        self.table = _empty_table(2 * _FIRST_INTERVALS)
        self.ends = TimingWheel(_FIRST_INTERVALS)
        self.pending = np.zeros((1024, 3), np.int64)
        self.pending_room = len(self.pending)
        self.meta = np.zeros(4, np.int64)
        self._meta_view, self._ends_view = self.meta.data, self.ends.meta.data

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
        needed = self._meta_view[PENDING] + offers + 1  # a spare row is written before it is known to be needed
        self.pending = grown(self.pending, needed, axis=0)
        self.pending_room = len(self.pending)

    @property
    def open(self) -> int:
        """How many intervals are open."""
        return self._ends_view[HELD]

    @property
    def least_end(self) -> int:
        """The least end of the open intervals (there must be one)."""
        return self._ends_view[LEAST_TIME]
