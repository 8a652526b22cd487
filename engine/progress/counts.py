"""Count tables: for every location, how many tokens or messages in flight there are at each time, in flat int64 arrays.

A location's entries (time, count) are sorted by time in a window of a region of one pool. Times mostly come at the end
and go at the beginning, so both are O(1); anything else is a binary search and a short move. Where the move would be
long the location's entries become a table of their own: engine/progress/many_times.py. Counts may be negative for a
while. Locations of dataflows with nested scopes keep longer entries in the same pool: engine/progress/nested_counts.py.
Where all of it lies: engine/progress/layout.py.
"""

from collections.abc import Sequence

from tokenring.engine.progress.layout import (
    ENTRY_WORDS,
    LocationRow,
    PoolEntry,
    TrackerState,
    entries_of,
    graphs_of,
    locations_of,
    pool_words,
)
from tokenring.engine.progress.many_times import change_many, least_of_many, make_table
from tokenring.engine.progress.pool import allocate, give_back
from tokenring.engine.times import COMPLETE
from tokenring.shm.kernels import int64, kernel, record_at, words_at

FIRST_REGION = 2  # entries of a location's first region
_LONGEST_MOVE = 64  # entries; where more would have to make room for one, the location gets a table

APPLIED, NEEDS_ROOM = 0, 1

_ENTRIES_LOOKED_AT = 8  # of each location, for its fingerprint
_PRIME = 1_000_003


@kernel
def _find(entries: Sequence[PoolEntry], begin: int, end: int, time: int) -> int:
    """The first entry in begin..end whose time is not less than `time`."""
    while begin < end:
        middle = (begin + end) >> 1
        if entries[middle].time < time:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def _used(entries: Sequence[PoolEntry], region: int, begin: int, end: int) -> int:
    """How many entries of a window are not zero."""
    used = 0
    for i in range(region + begin, region + end):
        used += entries[i].count != 0
    return used


@kernel
def _make_room(state: TrackerState, entries: Sequence[PoolEntry], here: LocationRow) -> bool:
    """Let the location's window have a free entry at its end, leaving zeros behind; False if the pool is full."""
    region, capacity = here.region, here.capacity
    begin, end = here.begin, here.end
    used = _used(entries, region, begin, end)
    target = region
    if capacity == 0 or 2 * used > capacity:
        grown = FIRST_REGION if capacity == 0 else 2 * capacity
        target = allocate(state, grown)
        if target < 0:
            return False
        here.region, here.capacity = target, grown
    moved = target
    for i in range(region + begin, region + end):
        if entries[i].count != 0:
            entries[moved].time, entries[moved].count = entries[i].time, entries[i].count
            moved += 1
    here.begin, here.end = 0, used
    if target != region and capacity > 0:
        give_back(state, region, capacity)
    return True


@kernel
def _become_many(state: TrackerState, entries: Sequence[PoolEntry], here: LocationRow) -> bool:
    """Turn the location's window into a table; False if the pool is full."""
    region, capacity = here.region, here.capacity
    begin, end = here.begin, here.end
    if not make_table(state, here, region + begin, end - begin, _used(entries, region, begin, end)):
        return False
    give_back(state, region, capacity)
    return True


@kernel
def count_nonzero(state: TrackerState, here: LocationRow, change: int) -> None:
    """The location has `change` (1 or -1) more entries that are not zero."""
    graph = graphs_of(state)[here.graph]
    graph.nonzero += change
    state.nonzero += change
    if graph.nonzero == 0:
        state.endings += 1
        graph.ending = state.endings


@kernel
def mark_dirty(state: TrackerState, here: LocationRow, location: int) -> None:
    """Note that the location's counts changed since the last propagation."""
    if here.is_dirty == 0:
        here.is_dirty = 1
        words_at(state.lists, state.location_capacity)[state.dirty_count] = location
        state.dirty_count += 1


@kernel
def _apply_to_many(state: TrackerState, here: LocationRow, location: int, time: int, delta: int) -> int:
    """`apply_change` where the location has a table."""
    more = change_many(state, here, time, delta)
    if more == 2:
        return NEEDS_ROOM
    if more != 0:
        count_nonzero(state, here, more)
    mark_dirty(state, here, location)
    return APPLIED


@kernel(int64(int64, int64, int64, int64))
def apply_change(address: int, location: int, time: int, delta: int) -> int:
    """Add `delta` to the count at (location, time). NEEDS_ROOM (nothing applied) if a table is too small."""
    state = record_at(address, TrackerState)
    if delta == 0:
        return APPLIED
    here = locations_of(state)[location]
    entries = entries_of(state)
    if here.begin < 0:
        return _apply_to_many(state, here, location, time, delta)
    region = here.region
    begin, end = region + here.begin, region + here.end
    if begin == end or entries[end - 1].time < time:
        place = end
    elif entries[begin].time == time:
        place = begin
    else:
        place = _find(entries, begin, end, time)
    if place < end and entries[place].time == time:
        before = entries[place].count
        entries[place].count = before + delta
        if before == 0:
            count_nonzero(state, here, 1)
        if before + delta == 0:
            count_nonzero(state, here, -1)
            if place == begin:  # zeros elsewhere wait until they come first
                while begin < end and entries[begin].count == 0:
                    begin += 1
                here.begin = begin - region
    else:
        if end - place > _LONGEST_MOVE:
            if not _become_many(state, entries, here):
                return NEEDS_ROOM
            return _apply_to_many(state, here, location, time, delta)
        if here.end == here.capacity:
            if not _make_room(state, entries, here):
                return NEEDS_ROOM
            begin = here.region
            end = begin + here.end
            place = _find(entries, begin, end, time)
        for i in range(end, place, -1):
            entries[i].time, entries[i].count = entries[i - 1].time, entries[i - 1].count
        entries[place].time, entries[place].count = time, delta
        here.end += 1
        count_nonzero(state, here, 1)
    mark_dirty(state, here, location)
    return APPLIED


@kernel
def least_positive(state: TrackerState, location: int) -> int:
    """The least time with a positive count at `location`; COMPLETE if there is none."""
    here = locations_of(state)[location]
    entries = entries_of(state)
    if here.begin < 0:
        return least_of_many(state, here)
    region = here.region
    for i in range(region + here.begin, region + here.end):
        if entries[i].count > 0:
            return entries[i].time
    return COMPLETE


@kernel
def count_at(state: TrackerState, location: int) -> int:
    """How many messages or tokens are counted at a location, of whatever times; of very many times how many times. One
    that is known to be gone before it was known to be there counts as one."""
    here = locations_of(state)[location]
    if here.begin < 0:
        return here.live
    total = 0
    if here.is_nested != 0:
        pool = pool_words(state)
        for entry in range(here.begin, here.end):
            total += abs(pool[here.region + entry * ENTRY_WORDS + ENTRY_WORDS - 1])
        return total
    entries = entries_of(state)
    for entry in range(here.region + here.begin, here.region + here.end):
        total += abs(entries[entry].count)
    return total


@kernel
def fingerprint(state: TrackerState, location: int) -> int:
    """A number that changes, but for rare accidents, whenever the first counts of a location do."""
    here = locations_of(state)[location]
    found = here.begin * _PRIME + here.end
    if here.begin < 0:
        return found * _PRIME + here.live
    pool = pool_words(state)
    width = ENTRY_WORDS if here.is_nested != 0 else 2
    first = here.region + here.begin * width if here.is_nested != 0 else 2 * (here.region + here.begin)
    for word in range(first, first + width * min(here.end - here.begin, _ENTRIES_LOOKED_AT)):
        found = found * _PRIME + pool[word]
    return found


@kernel
def sum_of_times(state: TrackerState, location: int) -> int:
    """The sum, over all that is counted at a location, of the times, of nested ones of their first coordinates; of very
    many times, 0."""
    here = locations_of(state)[location]
    total = 0
    if here.is_nested != 0:
        pool = pool_words(state)
        for entry in range(here.begin, here.end):
            at = here.region + entry * ENTRY_WORDS
            total += pool[at] * pool[at + ENTRY_WORDS - 1]
    elif here.begin >= 0:
        entries = entries_of(state)
        for entry in range(here.region + here.begin, here.region + here.end):
            total += entries[entry].time * entries[entry].count
    return total
