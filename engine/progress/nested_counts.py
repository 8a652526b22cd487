"""Counts of dataflows with nested scopes: partially ordered times of up to four coordinates.

An entry is (time coordinates 0..3, count); a location's entries are sorted lexicographically, which respects the
partial order, so one pass in order finds the minimal ones. Unused coordinates are 0. Same tables as
engine/progress/counts.py.
"""

from tokenring.engine.progress.counts import (
    APPLIED,
    BEGIN,
    END,
    FIRST_REGION,
    LOCATION_CAPACITY,
    LOCATION_WORDS,
    LOCATIONS_ADDRESS,
    NEEDS_ROOM,
    REGION,
    REGION_CAPACITY,
    count_nonzero,
    mark_dirty,
)
from tokenring.engine.progress.pool import POOL_ADDRESS, POOL_CAPACITY, claim, give_back
from tokenring.shm.kernels import WORDS, int64, kernel, words_at

COORDINATES = 4
ENTRY_WORDS = COORDINATES + 1


@kernel
def compare_times(left, i, right, j):  # type: ignore[no-untyped-def]
    """-1, 0 or 1: the lexicographic order of the times at left[i:] and right[j:]."""
    for k in range(COORDINATES):
        if left[i + k] != right[j + k]:
            return -1 if left[i + k] < right[j + k] else 1
    return 0


@kernel
def claim_words(state, words):  # type: ignore[no-untyped-def]
    """The word offset of a region of the pool with at least `words` words, or -1 if it is full."""
    first = claim(state, (words + 1) >> 1)
    return -1 if first < 0 else 2 * first


@kernel
def give_words_back(state, offset, words):  # type: ignore[no-untyped-def]
    """Let a region that was claimed with `words` be claimed again."""
    give_back(state, offset >> 1, (words + 1) >> 1)


@kernel
def _make_room(state, pool, locations, at):  # type: ignore[no-untyped-def]
    """Let the location's window have a free entry at its end, leaving zeros behind; False if the pool is full."""
    region, capacity = locations[at + REGION], locations[at + REGION_CAPACITY]
    used = 0
    for i in range(locations[at + BEGIN], locations[at + END]):
        used += pool[region + i * ENTRY_WORDS + COORDINATES] != 0
    target = region
    if capacity == 0 or 2 * used > capacity:
        grown = FIRST_REGION if capacity == 0 else 2 * capacity
        target = claim_words(state, grown * ENTRY_WORDS)
        if target < 0:
            return False
        locations[at + REGION], locations[at + REGION_CAPACITY] = target, grown
    moved = target
    for i in range(locations[at + BEGIN], locations[at + END]):
        entry = region + i * ENTRY_WORDS
        if pool[entry + COORDINATES] != 0:
            for k in range(ENTRY_WORDS):
                pool[moved + k] = pool[entry + k]
            moved += ENTRY_WORDS
    locations[at + BEGIN], locations[at + END] = 0, used
    if target != region and capacity > 0:
        give_words_back(state, region, capacity * ENTRY_WORDS)
    return True


@kernel
def _place(pool, locations, at, times, first):  # type: ignore[no-untyped-def]
    """The first entry of the location whose time is not less than the one at times[first:]."""
    region = locations[at + REGION]
    begin, end = locations[at + BEGIN], locations[at + END]
    while begin < end:
        middle = (begin + end) >> 1
        if compare_times(pool, region + middle * ENTRY_WORDS, times, first) < 0:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel(int64(WORDS, int64, WORDS, int64, int64))
def apply_nested_change(state, location, times, first, delta):  # type: ignore[no-untyped-def]
    """Add `delta` to the count at (location, the time at times[first:]). NEEDS_ROOM: nothing applied."""
    if delta == 0:
        return APPLIED
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    at = location * LOCATION_WORDS
    place = _place(pool, locations, at, times, first)
    entry = locations[at + REGION] + place * ENTRY_WORDS
    if place < locations[at + END] and compare_times(pool, entry, times, first) == 0:
        before = pool[entry + COORDINATES]
        pool[entry + COORDINATES] = before + delta
        if before == 0:
            count_nonzero(state, locations, at, 1)
        if before + delta == 0:
            count_nonzero(state, locations, at, -1)
            while place == locations[at + BEGIN] and place < locations[at + END] and pool[entry + COORDINATES] == 0:
                place += 1  # zeros elsewhere wait until they come first
                entry += ENTRY_WORDS
                locations[at + BEGIN] = place
    else:
        if locations[at + END] == locations[at + REGION_CAPACITY]:
            if not _make_room(state, pool, locations, at):
                return NEEDS_ROOM
            place = _place(pool, locations, at, times, first)
            entry = locations[at + REGION] + place * ENTRY_WORDS
        end = locations[at + REGION] + locations[at + END] * ENTRY_WORDS
        for word in range(end - 1, entry - 1, -1):
            pool[word + ENTRY_WORDS] = pool[word]
        for k in range(COORDINATES):
            pool[entry + k] = times[first + k]
        pool[entry + COORDINATES] = delta
        locations[at + END] += 1
        count_nonzero(state, locations, at, 1)
    mark_dirty(state, locations, at, location)
    return APPLIED
