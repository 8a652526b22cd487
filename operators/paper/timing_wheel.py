"""A timing wheel: entries (time, number) that leave in order of time, as a moving bound passes them.

Times are any int64. A wheel's levels are the digits of a time, of six bits each: an entry stands at the level of the
highest digit in which it differs from the bound, in the place of its own digit there. So an entry whose time comes far
behind the bound moves down a few levels at most before it leaves, whatever else is there; what leaves together is then
put in order, digit by digit. A heap compares as many times as its logarithm, each of which a processor guesses wrong.

The kernels work on flat int64 tables: `entries`, (time, number, next) by place; `wheel`, by bucket the first entry and
the least time, and room to count digits behind them; `due`, (time, number) of those that leave, and as much room beside
it; `meta`, as named below.
"""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel
from tokenring.engine.compiled import Words, signed, unsigned
from tokenring.operators.state import LEAST, MOST, grown

TIME, NUMBER, _NEXT = range(3)  # of an entry
_FIRST, _MINIMUM = range(2)  # of a bucket
ENTRY_WORDS, DUE_WORDS = 3, 4
_BITS, _LEVELS = 6, 11
_BUCKETS = 1 << _BITS
HELD, LEAST_TIME, _BOUND, _FREE, _USED, _DUE, _LEFT = range(7)
"""Words of `meta`: how many entries there are and their least time; the bound; the first free place, or -1; how many
places were ever used; how many of `due` are to leave, and how many of them have left."""
META_WORDS = _LEFT + 1
_DIGIT = 8  # bits, of the order that is made of what leaves
WHEEL_ROWS, WHEEL_WORDS = _LEVELS * _BUCKETS + (1 << _DIGIT), 2
_FEW = 24  # that are put in order by comparing


@kernel
def _bucket(bound: int, time: int) -> int:
    """Where a time stands that is not before the bound; one that is, stands as the bound itself."""
    place = unsigned(max(time, bound) ^ LEAST)
    differing = place ^ unsigned(bound ^ LEAST)
    level = 0  # of the highest digit in which they differ
    while differing >= unsigned(_BUCKETS):
        differing >>= unsigned(_BITS)
        place >>= unsigned(_BITS)
        level += 1
    return level * _BUCKETS + signed(place & unsigned(_BUCKETS - 1))


@kernel
def _insert(entries: Words, wheel: Words, bound: int, at: int) -> None:
    time = entries[at, TIME]
    bucket = _bucket(bound, time)
    entries[at, _NEXT] = wheel[bucket, _FIRST]
    wheel[bucket, _FIRST] = at
    wheel[bucket, _MINIMUM] = min(wheel[bucket, _MINIMUM], time)


@kernel
def hold(entries: Words, wheel: Words, meta: Words, time: int, number: int) -> None:
    """Add an entry; there must be room for it."""
    at = meta[_FREE]
    if at >= 0:
        meta[_FREE] = entries[at, _NEXT]
    else:
        at = meta[_USED]
        meta[_USED] += 1
    entries[at, TIME], entries[at, NUMBER] = time, number
    _insert(entries, wheel, meta[_BOUND], at)
    meta[HELD] += 1
    meta[LEAST_TIME] = min(meta[LEAST_TIME], time)


@kernel
def _take_out(entries: Words, wheel: Words, bucket: int, bound: int, due: Words, meta: Words) -> None:
    """Empty a bucket: entries up to the bound are due, others find their place again."""
    at = wheel[bucket, _FIRST]
    wheel[bucket, _FIRST], wheel[bucket, _MINIMUM] = -1, MOST
    found = meta[_DUE]
    while at >= 0:
        following = entries[at, _NEXT]
        if entries[at, TIME] <= bound:
            due[found, 0], due[found, 1] = entries[at, TIME], entries[at, NUMBER]
            found += 1
            entries[at, _NEXT], meta[_FREE] = meta[_FREE], at
        else:
            _insert(entries, wheel, bound, at)
        at = following
    meta[_DUE] = found


@kernel
def _find_due(entries: Words, wheel: Words, due: Words, meta: Words, bound: int) -> None:
    """Move the bound on; what it passes is due."""
    place, differing = unsigned(bound ^ LEAST), unsigned(meta[_BOUND] ^ LEAST) ^ unsigned(bound ^ LEAST)
    meta[_BOUND] = bound
    level = 0
    while differing >= unsigned(_BUCKETS):  # whatever differs from the old bound in lower digits alone is passed
        for bucket in range(level * _BUCKETS, (level + 1) * _BUCKETS):
            if wheel[bucket, _FIRST] >= 0:
                _take_out(entries, wheel, bucket, bound, due, meta)
        differing >>= unsigned(_BITS)
        place >>= unsigned(_BITS)
        level += 1
    first = level * _BUCKETS
    for bucket in range(first, first + signed(place & unsigned(_BUCKETS - 1)) + 1):
        if wheel[bucket, _FIRST] >= 0:
            _take_out(entries, wheel, bucket, bound, due, meta)


@kernel
def _least_held(wheel: Words) -> int:
    """The least time: that of the first bucket that is not empty, as each level comes before all above it."""
    for bucket in range(_LEVELS * _BUCKETS):
        if wheel[bucket, _FIRST] >= 0:
            return wheel[bucket, _MINIMUM]
    return MOST


@kernel
def _put_in_order(wheel: Words, due: Words, rows: int) -> None:
    """Sort the first `rows` entries by time."""
    if rows <= _FEW:
        for i in range(1, rows):
            time, number, at = due[i, 0], due[i, 1], i
            while at > 0 and due[at - 1, 0] > time:
                due[at, 0], due[at, 1] = due[at - 1, 0], due[at - 1, 1]
                at -= 1
            due[at, 0], due[at, 1] = time, number
        return
    least, most = MOST, LEAST
    for i in range(rows):
        least, most = min(least, due[i, 0]), max(most, due[i, 0])
    lowest, span = unsigned(least), unsigned(most) - unsigned(least)
    counts = wheel[_LEVELS * _BUCKETS :, 0]
    shift = unsigned(0)
    source = 0
    while span > unsigned(0):
        target = 2 - source
        counts[:] = 0
        for i in range(rows):
            counts[((unsigned(due[i, source]) - lowest) >> shift) & unsigned((1 << _DIGIT) - 1)] += 1
        total = 0
        for value in range(1 << _DIGIT):
            total, counts[value] = total + counts[value], total
        for i in range(rows):
            digit = ((unsigned(due[i, source]) - lowest) >> shift) & unsigned((1 << _DIGIT) - 1)
            at = counts[digit]
            counts[digit] += 1
            due[at, target], due[at, target + 1] = due[i, source], due[i, source + 1]
        source = target
        shift += unsigned(_DIGIT)
        span >>= unsigned(_DIGIT)
    if source == 2:
        for i in range(rows):
            due[i, 0], due[i, 1] = due[i, 2], due[i, 3]


@kernel
def pass_by(entries: Words, wheel: Words, due: Words, meta: Words, bound: int) -> tuple[int, int]:
    """Move the bound on, never back, if all that was due has left. Returns the first of those that are due then, and
    where they end: rows of `due`, (time, number), in order of time."""
    if meta[_LEFT] == meta[_DUE]:
        meta[_DUE] = meta[_LEFT] = 0
        if meta[HELD] > 0 and meta[LEAST_TIME] <= bound:
            _find_due(entries, wheel, due, meta, bound)
            _put_in_order(wheel, due, meta[_DUE])
    return meta[_LEFT], meta[_DUE]


@kernel
def leave(wheel: Words, due: Words, meta: Words, rows: int) -> None:
    """The first rows of those that are due are there no more."""
    meta[HELD] -= rows
    meta[_LEFT] += rows
    meta[LEAST_TIME] = due[meta[_LEFT], 0] if meta[_LEFT] < meta[_DUE] else _least_held(wheel)


@kernel(int64(TABLE, TABLE, TABLE, WORDS, COLUMN, WORDS))
def withdraw(entries: Words, wheel: Words, due: Words, meta: Words, chosen: Words, numbers: Words) -> int:
    """Remove the entries at places that are `chosen` (1, not 0), of which none is due; writes their numbers, and
    returns how many they were."""
    found = 0
    for bucket in range(_LEVELS * _BUCKETS):
        at, before, least = wheel[bucket, _FIRST], -1, MOST
        while at >= 0:
            following = entries[at, _NEXT]
            if chosen[at] != 0:
                numbers[found] = entries[at, NUMBER]
                found += 1
                if before < 0:
                    wheel[bucket, _FIRST] = following
                else:
                    entries[before, _NEXT] = following
                entries[at, _NEXT], meta[_FREE] = meta[_FREE], at
            else:
                before, least = at, min(least, entries[at, TIME])
            at = following
        wheel[bucket, _MINIMUM] = least
    leave(wheel, due, meta, 0)  # for the least time
    meta[HELD] -= found
    return found


class TimingWheel:
    """The tables of a wheel. Memory: 24 bytes an entry, 32 for each that can be due at once, and 15 KB."""

    __slots__ = ("due", "entries", "meta", "wheel")

    def __init__(self, room: int) -> None:
        self.entries, self.due = np.zeros((room, ENTRY_WORDS), np.int64), np.zeros((room, DUE_WORDS), np.int64)
        self.wheel = np.zeros((WHEEL_ROWS, WHEEL_WORDS), np.int64)
        self.wheel[:, _FIRST], self.wheel[:, _MINIMUM] = -1, MOST
        self.meta = np.zeros(META_WORDS, np.int64)
        self.meta[LEAST_TIME], self.meta[_BOUND], self.meta[_FREE] = MOST, LEAST, -1

    @property
    def numbers(self) -> np.ndarray:
        """The numbers of entries by place, int64 (places ever used,): at places that are free now, of those that left.
        """
        return self.entries[: self.meta[_USED], NUMBER].copy()

    def reserve(self, room: int) -> None:
        """Make room for so many entries."""
        self.entries, self.due = grown(self.entries, room, axis=0), grown(self.due, room, axis=0)
