"""A timing wheel: entries (time, number) that leave in order of time, as a moving bound passes them.

Times are any int64. A wheel's levels are the digits of a time, of six bits each: an entry stands at the level of the
highest digit in which it differs from the bound, in the place of its own digit there. So an entry whose time comes far
behind the bound moves down a few levels at most before it leaves, whatever else is there; what leaves together is then
put in order, digit by digit. A heap compares as many times as its logarithm, each of which a processor guesses wrong.

The kernels work on tables of records: `entries` by place; `wheel`, a Bucket each, and room to count digits behind them;
`due`, int64 (time, number) of those that leave, and as much room beside it; `counts`.
"""

from collections.abc import MutableSequence

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel
from tokenring.engine.compiled import Record, Words, record_of, records_of, signed, unsigned
from tokenring.operators.state import LEAST, MOST, grown

_BITS, _LEVELS = 6, 11
_BUCKETS = 1 << _BITS


class HeldEntry(Record):
    """By its place; `next`: the place of the next one of its bucket, -1 for none."""

    time: int
    number: int
    next: int


class Bucket(Record):
    """The first entry's place, -1 for none, and the least time."""

    first: int
    minimum: int


class WheelCounts(Record):
    """How many entries there are and their least time; the bound; the first free place, or -1; how many places were
    ever used; how many of `due` are to leave, and how many of them have left."""

    held: int
    least_time: int
    bound: int
    free: int
    used: int
    due: int
    left: int


Entries = MutableSequence[HeldEntry]
Buckets = MutableSequence[Bucket]
ENTRY_WORDS, DUE_WORDS = HeldEntry.size, 4
_DIGIT = 8  # bits, of the order that is made of what leaves
WHEEL_ROWS, WHEEL_WORDS = _LEVELS * _BUCKETS + (1 << _DIGIT), Bucket.size
_DIGITS = _LEVELS * _BUCKETS  # where room to count them begins
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
def _insert(entries: Entries, wheel: Buckets, bound: int, at: int) -> None:
    time = entries[at].time
    bucket = _bucket(bound, time)
    entries[at].next = wheel[bucket].first
    wheel[bucket].first = at
    wheel[bucket].minimum = min(wheel[bucket].minimum, time)


@kernel
def hold(entries: Entries, wheel: Buckets, counts: WheelCounts, time: int, number: int) -> None:
    """Add an entry; there must be room for it."""
    at = counts.free
    if at >= 0:
        counts.free = entries[at].next
    else:
        at = counts.used
        counts.used += 1
    entries[at].time, entries[at].number = time, number
    _insert(entries, wheel, counts.bound, at)
    counts.held += 1
    counts.least_time = min(counts.least_time, time)


@kernel
def _take_out(entries: Entries, wheel: Buckets, bucket: int, bound: int, due: Words, counts: WheelCounts) -> None:
    """Empty a bucket: entries up to the bound are due, others find their place again."""
    at = wheel[bucket].first
    wheel[bucket].first, wheel[bucket].minimum = -1, MOST
    found = counts.due
    while at >= 0:
        following = entries[at].next
        if entries[at].time <= bound:
            due[found, 0], due[found, 1] = entries[at].time, entries[at].number
            found += 1
            entries[at].next, counts.free = counts.free, at
        else:
            _insert(entries, wheel, bound, at)
        at = following
    counts.due = found


@kernel
def _find_due(entries: Entries, wheel: Buckets, due: Words, counts: WheelCounts, bound: int) -> None:
    """Move the bound on; what it passes is due."""
    place, differing = unsigned(bound ^ LEAST), unsigned(counts.bound ^ LEAST) ^ unsigned(bound ^ LEAST)
    counts.bound = bound
    level = 0
    while differing >= unsigned(_BUCKETS):  # whatever differs from the old bound in lower digits alone is passed
        for bucket in range(level * _BUCKETS, (level + 1) * _BUCKETS):
            if wheel[bucket].first >= 0:
                _take_out(entries, wheel, bucket, bound, due, counts)
        differing >>= unsigned(_BITS)
        place >>= unsigned(_BITS)
        level += 1
    first = level * _BUCKETS
    for bucket in range(first, first + signed(place & unsigned(_BUCKETS - 1)) + 1):
        if wheel[bucket].first >= 0:
            _take_out(entries, wheel, bucket, bound, due, counts)


@kernel
def _least_held(wheel: Buckets) -> int:
    """The least time: that of the first bucket that is not empty, as each level comes before all above it."""
    for bucket in range(_LEVELS * _BUCKETS):
        if wheel[bucket].first >= 0:
            return wheel[bucket].minimum
    return MOST


@kernel
def _put_in_order(wheel: Buckets, due: Words, rows: int) -> None:
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
    shift = unsigned(0)
    source = 0
    while span > unsigned(0):
        target = 2 - source
        for value in range(1 << _DIGIT):
            wheel[_DIGITS + value].first = 0
        for i in range(rows):
            digit = ((unsigned(due[i, source]) - lowest) >> shift) & unsigned((1 << _DIGIT) - 1)
            wheel[_DIGITS + signed(digit)].first += 1
        total = 0
        for value in range(1 << _DIGIT):
            count = wheel[_DIGITS + value]
            total, count.first = total + count.first, total
        for i in range(rows):
            digit = ((unsigned(due[i, source]) - lowest) >> shift) & unsigned((1 << _DIGIT) - 1)
            count = wheel[_DIGITS + signed(digit)]
            at = count.first
            count.first += 1
            due[at, target], due[at, target + 1] = due[i, source], due[i, source + 1]
        source = target
        shift += unsigned(_DIGIT)
        span >>= unsigned(_DIGIT)
    if source == 2:
        for i in range(rows):
            due[i, 0], due[i, 1] = due[i, 2], due[i, 3]


@kernel
def pass_by(entries: Entries, wheel: Buckets, due: Words, counts: WheelCounts, bound: int) -> tuple[int, int]:
    """Move the bound on, never back, if all that was due has left. Returns the first of those that are due then, and
    where they end: rows of `due`, (time, number), in order of time."""
    if counts.left == counts.due:
        counts.due = counts.left = 0
        if counts.held > 0 and counts.least_time <= bound:
            _find_due(entries, wheel, due, counts, bound)
            _put_in_order(wheel, due, counts.due)
    return counts.left, counts.due


@kernel
def leave(wheel: Buckets, due: Words, counts: WheelCounts, rows: int) -> None:
    """The first rows of those that are due are there no more."""
    counts.held -= rows
    counts.left += rows
    counts.least_time = due[counts.left, 0] if counts.left < counts.due else _least_held(wheel)


@kernel(int64(TABLE, TABLE, TABLE, WORDS, COLUMN, WORDS))
def withdraw(places: Words, buckets: Words, due: Words, words: Words, chosen: Words, numbers: Words) -> int:
    """Remove the entries at places that are `chosen` (1, not 0), of which none is due; writes their numbers, and
    returns how many they were. words: of the counts."""
    entries, wheel, counts = records_of(places, HeldEntry), records_of(buckets, Bucket), record_of(words, WheelCounts)
    found = 0
    for bucket in range(_LEVELS * _BUCKETS):
        at, before, least = wheel[bucket].first, -1, MOST
        while at >= 0:
            following = entries[at].next
            if chosen[at] != 0:
                numbers[found] = entries[at].number
                found += 1
                if before < 0:
                    wheel[bucket].first = following
                else:
                    entries[before].next = following
                entries[at].next, counts.free = counts.free, at
            else:
                before, least = at, min(least, entries[at].time)
            at = following
        wheel[bucket].minimum = least
    leave(wheel, due, counts, 0)  # for the least time
    counts.held -= found
    return found


class TimingWheel:
    """The tables of a wheel. Memory: 24 bytes an entry, 32 for each that can be due at once, and 15 KB."""

    __slots__ = ("counts", "due", "entries", "wheel")

    def __init__(self, room: int) -> None:
        self.entries, self.due = np.zeros((room, ENTRY_WORDS), np.int64), np.zeros((room, DUE_WORDS), np.int64)
        self.wheel = np.zeros((WHEEL_ROWS, WHEEL_WORDS), np.int64)
        self.wheel[:] = -1, MOST
        self.counts = WheelCounts()
        self.counts.least_time, self.counts.bound, self.counts.free = MOST, LEAST, -1

    @property
    def numbers(self) -> np.ndarray:
        """The numbers of entries by place, int64 (places ever used,): at places that are free now, of those that left.
        """
        return HeldEntry.of_table(self.entries[: self.counts.used])["number"].copy()

    def reserve(self, room: int) -> None:
        """Make room for so many entries."""
        self.entries, self.due = grown(self.entries, room, axis=0), grown(self.due, room, axis=0)
