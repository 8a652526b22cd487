"""Counts of a location with very many open times, which come and go in any order: a hash table and a heap of times.

Its region of the pool: CAPACITY slots (time, count), a power of two, and CAPACITY words of a binary heap. An empty slot
has the time -1; one whose count is zero is found until the table is made anew. The heap has every time with a positive
count, and others, which are left out when they come first. So a change costs what it costs at any number of times.
"""

from collections.abc import Sequence

from tokenring.engine.progress.layout import LocationRow, PoolEntry, TrackerState, entries_of, heap_of
from tokenring.engine.progress.pool import allocate, give_back
from tokenring.engine.times import COMPLETE
from tokenring.shm.kernels import Words, kernel

_EMPTY = -1


@kernel
def region_pairs(capacity: int) -> int:
    """The pairs of the pool that a table of so many slots takes."""
    return capacity + (capacity >> 1)


@kernel
def _slot(entries: Sequence[PoolEntry], region: int, capacity: int, time: int) -> int:
    """The entry of the pool where the time is, or where it would be."""
    mixed = (time ^ (time >> 29)) * -7046029254386353131
    slot = (mixed ^ (mixed >> 32)) & (capacity - 1)
    while entries[region + slot].time != time and entries[region + slot].time != _EMPTY:
        slot = (slot + 1) & (capacity - 1)
    return region + slot


@kernel
def _push(heap: Words, used: int, time: int) -> None:
    """Add a time to the heap, which has `used`."""
    at = used
    while at > 0 and heap[(at - 1) >> 1] > time:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = time


@kernel
def _pop(heap: Words, used: int) -> None:
    """Take the least time off the heap, which has `used`."""
    last = heap[used - 1]
    at = 0
    while 2 * at + 1 < used - 1:
        child = 2 * at + 1
        if child + 1 < used - 1 and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= last:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last


@kernel
def make_table(state: TrackerState, here: LocationRow, origin: int, pairs: int, live: int) -> bool:
    """Put the location's counts, `live` of them among the `pairs` entries of the pool from `origin` on, into a new
    table with room for as many; False if the pool is full. The old region is the caller's to give back.
    """
    capacity = 64
    while capacity < 4 * live:
        capacity *= 2
    region = allocate(state, region_pairs(capacity))
    if region < 0:
        return False
    entries, heap = entries_of(state), heap_of(state, region, capacity)
    for slot in range(region, region + capacity):
        entries[slot].time = _EMPTY
    heap_used, used = 0, 0
    for i in range(origin, origin + pairs):
        time, count = entries[i].time, entries[i].count
        if time == _EMPTY or count == 0:
            continue
        entry = entries[_slot(entries, region, capacity, time)]
        entry.time, entry.count = time, count
        used += 1
        if count > 0:
            _push(heap, heap_used, time)
            heap_used += 1
    here.region, here.capacity = region, capacity
    here.heap_used, here.slots_used, here.live = -1 - heap_used, used, used
    return True


@kernel
def change_many(state: TrackerState, here: LocationRow, time: int, delta: int) -> int:
    """Add `delta` to the count at a time. Returns how many entries more are not zero (1, 0 or -1); 2 (nothing done) if
    the pool is full."""
    region, capacity = here.region, here.capacity
    if 4 * (here.slots_used + 1) > 3 * capacity or -1 - here.heap_used == capacity:
        if not make_table(state, here, region, capacity, here.live):
            return 2
        give_back(state, region, region_pairs(capacity))
        region, capacity = here.region, here.capacity
    entries = entries_of(state)
    slot = entries[_slot(entries, region, capacity, time)]
    before = 0
    if slot.time == _EMPTY:
        slot.time = time
        here.slots_used += 1
    else:
        before = slot.count
    slot.count = before + delta
    if before <= 0 and before + delta > 0:
        _push(heap_of(state, region, capacity), -1 - here.heap_used, time)
        here.heap_used -= 1
    more = (before + delta != 0) - (before != 0)
    here.live += more
    if here.live == 0:  # from here on as if it had never had many
        give_back(state, region, region_pairs(capacity))
        here.region = here.capacity = here.heap_used = here.slots_used = here.live = 0
    return more


@kernel
def least_of_many(state: TrackerState, here: LocationRow) -> int:
    """The least time with a positive count; COMPLETE if there is none."""
    entries, region, capacity = entries_of(state), here.region, here.capacity
    heap = heap_of(state, region, capacity)
    while here.heap_used < -1:
        if entries[_slot(entries, region, capacity, heap[0])].count > 0:
            return heap[0]
        _pop(heap, -1 - here.heap_used)
        here.heap_used += 1
    return COMPLETE
