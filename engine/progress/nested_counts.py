"""Counts of dataflows with nested scopes: partially ordered times of several coordinates.

An entry is (time coordinates, count); a location's entries are sorted lexicographically, which respects the
partial order, so one pass in order finds the minimal ones. Unused coordinates are 0. Same tables as
engine/progress/counts.py.
"""

from tokenring.engine.progress.counts import APPLIED, FIRST_REGION, NEEDS_ROOM, count_nonzero, mark_dirty
from tokenring.engine.progress.layout import (
    COORDINATES,
    ENTRY_WORDS,
    LocationRow,
    TrackerState,
    locations_of,
    pool_words,
)
from tokenring.engine.progress.pool import allocate_words, give_words_back
from tokenring.shm.kernels import WORDS, Words, int64, kernel, record_at


@kernel
def compare_times(left: Words, i: int, right: Words, j: int) -> int:
    """-1, 0 or 1: the lexicographic order of the times at left[i:] and right[j:]."""
    for k in range(COORDINATES):
        if left[i + k] != right[j + k]:
            return -1 if left[i + k] < right[j + k] else 1
    return 0


@kernel
def _make_room(state: TrackerState, pool: Words, here: LocationRow) -> bool:
    """Let the location's window have a free entry at its end, leaving zeros behind; False if the pool is full."""
    region, capacity = here.region, here.capacity
    used = 0
    for i in range(here.begin, here.end):
        used += pool[region + i * ENTRY_WORDS + COORDINATES] != 0
    target = region
    if capacity == 0 or 2 * used > capacity:
        grown = FIRST_REGION if capacity == 0 else 2 * capacity
        target = allocate_words(state, grown * ENTRY_WORDS)
        if target < 0:
            return False
        here.region, here.capacity = target, grown
    moved = target
    for i in range(here.begin, here.end):
        entry = region + i * ENTRY_WORDS
        if pool[entry + COORDINATES] != 0:
            for k in range(ENTRY_WORDS):
                pool[moved + k] = pool[entry + k]
            moved += ENTRY_WORDS
    here.begin, here.end = 0, used
    if target != region and capacity > 0:
        give_words_back(state, region, capacity * ENTRY_WORDS)
    return True


@kernel
def _place(pool: Words, here: LocationRow, times: Words, first: int) -> int:
    """The first entry of the location whose time is not less than the one at times[first:]."""
    region = here.region
    begin, end = here.begin, here.end
    while begin < end:
        middle = (begin + end) >> 1
        if compare_times(pool, region + middle * ENTRY_WORDS, times, first) < 0:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel(int64(int64, int64, WORDS, int64, int64))
def apply_nested_change(address: int, location: int, times: Words, first: int, delta: int) -> int:
    """Add `delta` to the count at (location, the time at times[first:]). NEEDS_ROOM: nothing applied."""
    state = record_at(address, TrackerState)
    if delta == 0:
        return APPLIED
    here = locations_of(state)[location]
    pool = pool_words(state)
    place = _place(pool, here, times, first)
    entry = here.region + place * ENTRY_WORDS
    if place < here.end and compare_times(pool, entry, times, first) == 0:
        before = pool[entry + COORDINATES]
        pool[entry + COORDINATES] = before + delta
        if before == 0:
            count_nonzero(state, here, 1)
        if before + delta == 0:
            count_nonzero(state, here, -1)
            while place == here.begin and place < here.end and pool[entry + COORDINATES] == 0:
                place += 1  # zeros elsewhere wait until they come first
                entry += ENTRY_WORDS
                here.begin = place
    else:
        if here.end == here.capacity:
            if not _make_room(state, pool, here):
                return NEEDS_ROOM
            place = _place(pool, here, times, first)
            entry = here.region + place * ENTRY_WORDS
        end = here.region + here.end * ENTRY_WORDS
        for word in range(end - 1, entry - 1, -1):
            pool[word + ENTRY_WORDS] = pool[word]
        for k in range(COORDINATES):
            pool[entry + k] = times[first + k]
        pool[entry + COORDINATES] = delta
        here.end += 1
        count_nonzero(state, here, 1)
    mark_dirty(state, here, location)
    return APPLIED
