"""Counts of a location with very many open times, which come and go in any order: a hash table and a heap of times.

Its region of the pool: CAPACITY slots (time, count), a power of two, and CAPACITY words of a binary heap. An empty slot
has the time -1; one whose count is zero is found until the table is made anew. The heap has every time with a positive
count, and others, which are left out when they come first. So a change costs what it costs at any number of times.
"""

from tokenring.engine.progress.pool import POOL_ADDRESS, POOL_CAPACITY, claim, give_back
from tokenring.engine.times import COMPLETE
from tokenring.shm.kernels import kernel, words_at

# Words of a location, as far as they are used here (see engine/progress/counts.py). A location with many times has
# HEAP_USED below zero: -1 - the heap's elements.
REGION, CAPACITY, HEAP_USED, SLOTS_USED, LIVE = range(5)

_EMPTY = -1


@kernel
def region_pairs(capacity):  # type: ignore[no-untyped-def]
    """The pairs of the pool that a table of so many slots takes."""
    return capacity + (capacity >> 1)


@kernel
def _slot(pool, region, capacity, time):  # type: ignore[no-untyped-def]
    """The pool's word where the time is, or where it would be."""
    mixed = (time ^ (time >> 29)) * -7046029254386353131
    slot = (mixed ^ (mixed >> 32)) & (capacity - 1)
    while pool[2 * (region + slot)] != time and pool[2 * (region + slot)] != _EMPTY:
        slot = (slot + 1) & (capacity - 1)
    return 2 * (region + slot)


@kernel
def _push(pool, heap, used, time):  # type: ignore[no-untyped-def]
    """Add a time to the heap at word `heap` of the pool, which has `used`."""
    at = used
    while at > 0 and pool[heap + ((at - 1) >> 1)] > time:
        pool[heap + at] = pool[heap + ((at - 1) >> 1)]
        at = (at - 1) >> 1
    pool[heap + at] = time


@kernel
def _pop(pool, heap, used):  # type: ignore[no-untyped-def]
    """Take the least time off the heap, which has `used`."""
    last = pool[heap + used - 1]
    at = 0
    while 2 * at + 1 < used - 1:
        child = 2 * at + 1
        if child + 1 < used - 1 and pool[heap + child + 1] < pool[heap + child]:
            child += 1
        if pool[heap + child] >= last:
            break
        pool[heap + at] = pool[heap + child]
        at = child
    pool[heap + at] = last


@kernel
def make_table(state, locations, at, origin, pairs, live):  # type: ignore[no-untyped-def]
    """Put the location's counts, `live` of them among the `pairs` pairs of words from pair `origin` on, into a new
    table with room for as many; False if the pool is full. The old region is the caller's to give back.
    """
    capacity = 64
    while capacity < 4 * live:
        capacity *= 2
    region = claim(state, region_pairs(capacity))
    if region < 0:
        return False
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    for slot in range(capacity):
        pool[2 * (region + slot)] = _EMPTY
    heap, heap_used, used = 2 * (region + capacity), 0, 0
    for i in range(origin, origin + pairs):
        time, count = pool[2 * i], pool[2 * i + 1]
        if time == _EMPTY or count == 0:
            continue
        slot = _slot(pool, region, capacity, time)
        pool[slot], pool[slot + 1] = time, count
        used += 1
        if count > 0:
            _push(pool, heap, heap_used, time)
            heap_used += 1
    locations[at + REGION], locations[at + CAPACITY] = region, capacity
    locations[at + HEAP_USED], locations[at + SLOTS_USED], locations[at + LIVE] = -1 - heap_used, used, used
    return True


@kernel
def change_many(state, locations, at, time, delta):  # type: ignore[no-untyped-def]
    """Add `delta` to the count at a time. Returns how many entries more are not zero (1, 0 or -1); 2 (nothing done) if
    the pool is full."""
    region, capacity = locations[at + REGION], locations[at + CAPACITY]
    if 4 * (locations[at + SLOTS_USED] + 1) > 3 * capacity or -1 - locations[at + HEAP_USED] == capacity:
        if not make_table(state, locations, at, region, capacity, locations[at + LIVE]):
            return 2
        give_back(state, region, region_pairs(capacity))
        region, capacity = locations[at + REGION], locations[at + CAPACITY]
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    slot = _slot(pool, region, capacity, time)
    before = 0
    if pool[slot] == _EMPTY:
        pool[slot] = time
        locations[at + SLOTS_USED] += 1
    else:
        before = pool[slot + 1]
    pool[slot + 1] = before + delta
    if before <= 0 and before + delta > 0:
        _push(pool, 2 * (region + capacity), -1 - locations[at + HEAP_USED], time)
        locations[at + HEAP_USED] -= 1
    more = (before + delta != 0) - (before != 0)
    locations[at + LIVE] += more
    if locations[at + LIVE] == 0:  # from here on as if it had never had many
        give_back(state, region, region_pairs(capacity))
        for word in range(at, at + LIVE + 1):
            locations[word] = 0
    return more


@kernel
def least_of_many(state, locations, at):  # type: ignore[no-untyped-def]
    """The least time with a positive count; COMPLETE if there is none."""
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    region, capacity = locations[at + REGION], locations[at + CAPACITY]
    heap = 2 * (region + capacity)
    while locations[at + HEAP_USED] < -1:
        if pool[_slot(pool, region, capacity, pool[heap]) + 1] > 0:
            return pool[heap]
        _pop(pool, heap, -1 - locations[at + HEAP_USED])
        locations[at + HEAP_USED] += 1
    return COMPLETE
