"""Frontiers of dataflows with nested scopes: antichains of partially ordered times.

A frontier is the antichain of the least images of all active locations' least times under the path summaries. Whatever
needs more room than there is returns NEEDS_ROOM, and may be called again after the tables grew.
"""

from tokenring.engine.progress.counts import NEEDS_ROOM
from tokenring.engine.progress.layout import (
    COORDINATES,
    ENTRY_WORDS,
    TrackerState,
    active_of,
    graphs_of,
    locations_of,
    pool_words,
    row_of,
    scratch_of,
)
from tokenring.engine.progress.nested_counts import compare_times
from tokenring.engine.progress.pool import allocate_words, give_words_back
from tokenring.engine.times import COMPLETE, MAX_TIME
from tokenring.shm.kernels import Words, kernel, words_at

SUMMARY_WORDS = COORDINATES + 1
"""A compiled path summary: how many coordinates are kept, then what is added to each or put in its place."""

# A row's word for an origin: begin << COUNT_BITS | count, into the dataflow's summaries; NO_PATH if there is none.
COUNT_BITS = 8
NO_PATH = -1

SAME, CHANGED, BACKWARDS = 2, 3, 4


@kernel
def _less_equal(left: Words, i: int, right: Words, j: int) -> bool:
    """Whether the time at left[i:] is less or equal to the one at right[j:] in every coordinate."""
    for k in range(COORDINATES):
        if left[i + k] > right[j + k]:
            return False
    return True


@kernel
def _keep(state: TrackerState, region: int, capacity: int, found: int) -> tuple[int, int]:
    """Store the `found` elements of the scratch as an antichain that had room for `capacity` at `region` so far.
    Returns where it is now and what it has room for; -1 for where if the pool is full, and nothing is changed then."""
    if found > capacity or capacity == 0:
        room = max(2, 2 * found)
        offset = allocate_words(state, room * COORDINATES)
        if offset < 0:
            return offset, capacity
        if capacity > 0:
            give_words_back(state, region, capacity * COORDINATES)
        region, capacity = offset, room
    pool, scratch = pool_words(state), scratch_of(state)
    for i in range(found * COORDINATES):
        pool[region + i] = scratch[i]
    return region, capacity


@kernel
def _is_kept(pool: Words, scratch: Words, offset: int, count: int, found: int) -> bool:
    """Whether the antichain kept at `offset` is the `found` elements of the scratch."""
    if count != found:
        return False
    for i in range(found * COORDINATES):
        if pool[offset + i] != scratch[i]:
            return False
    return True


@kernel
def refresh_least(state: TrackerState, location: int) -> int:
    """Bring the location's antichain of least times with a positive count up to date: SAME, CHANGED or NEEDS_ROOM."""
    here = locations_of(state)[location]
    pool, scratch = pool_words(state), scratch_of(state)
    found = 0
    for i in range(here.begin, here.end):
        entry = here.region + i * ENTRY_WORDS
        if pool[entry + COORDINATES] <= 0:
            continue
        minimal = True
        for j in range(found):
            if _less_equal(scratch, j * COORDINATES, pool, entry):
                minimal = False
                break
        if minimal:
            if found == state.scratch_capacity:
                return NEEDS_ROOM
            for k in range(COORDINATES):
                scratch[found * COORDINATES + k] = pool[entry + k]
            found += 1
    if _is_kept(pool, scratch, here.least_region, here.least_count, found):
        return SAME
    region, capacity = _keep(state, here.least_region, here.least_capacity, found)
    if region < 0:
        return NEEDS_ROOM
    here.least_region, here.least_capacity, here.least_count = region, capacity, found
    return CHANGED


@kernel
def _insert(scratch: Words, found: int, image: Words) -> int:
    """Insert the time `image` into the sorted antichain of `found` elements in the scratch; returns their new number.
    The scratch must have room for one more."""
    kept = 0
    for i in range(found):
        if _less_equal(scratch, i * COORDINATES, image, 0):
            return found  # nothing can have been dropped before: members are incomparable
    for i in range(found):
        if not _less_equal(image, 0, scratch, i * COORDINATES):
            for k in range(COORDINATES):
                scratch[kept * COORDINATES + k] = scratch[i * COORDINATES + k]
            kept += 1
    place = kept
    while place > 0 and compare_times(image, 0, scratch, (place - 1) * COORDINATES) < 0:
        for k in range(COORDINATES):
            scratch[place * COORDINATES + k] = scratch[(place - 1) * COORDINATES + k]
        place -= 1
    for k in range(COORDINATES):
        scratch[place * COORDINATES + k] = image[k]
    return kept + 1


@kernel
def nested_frontier(state: TrackerState, target: int) -> int:
    """Compute the target's frontier into the scratch, sorted; returns the number of elements, -1 for lack of room."""
    locations = locations_of(state)
    pool = pool_words(state)
    scratch = scratch_of(state)
    graph = graphs_of(state)[locations[target].graph]
    first = graph.first_location
    row = row_of(locations[target], graph)
    active = active_of(graph)
    summaries = words_at(graph.summaries_address, graph.summaries_count * SUMMARY_WORDS)
    image = scratch[state.scratch_capacity * COORDINATES :]  # the scratch has one element more than its capacity
    found = 0
    for i in range(graph.active_count):
        origin = active[i]
        paths = row[origin - first]
        if paths == NO_PATH:
            continue
        here = locations[origin]
        for path in range(paths >> COUNT_BITS, (paths >> COUNT_BITS) + (paths & ((1 << COUNT_BITS) - 1))):
            summary = path * SUMMARY_WORDS
            for j in range(here.least_count):
                time = here.least_region + j * COORDINATES
                fits = True
                for k in range(COORDINATES):
                    kept = pool[time + k] if k < summaries[summary] else 0
                    if kept > MAX_TIME - summaries[summary + 1 + k]:
                        fits = False
                        break
                    image[k] = kept + summaries[summary + 1 + k]
                if fits:
                    if found == state.scratch_capacity:
                        return -1
                    found = _insert(scratch, found, image)
    return found


@kernel
def refresh_frontier(state: TrackerState, target: int) -> int:
    """Bring the target's kept frontier up to date: SAME, CHANGED, NEEDS_ROOM, or BACKWARDS where it would move back."""
    here = locations_of(state)[target]
    pool, scratch = pool_words(state), scratch_of(state)
    found = nested_frontier(state, target)
    if found < 0:
        return NEEDS_ROOM
    chain, count = here.chain_region, here.chain_count
    if here.chain_capacity > 0:
        if here.frontier >= 0 and _is_kept(pool, scratch, chain, count, found):
            return SAME
        for i in range(found):
            reached = False
            for j in range(count):
                if _less_equal(pool, chain + j * COORDINATES, scratch, i * COORDINATES):
                    reached = True
                    break
            if not reached:
                return BACKWARDS
    region, capacity = _keep(state, chain, here.chain_capacity, found)
    if region < 0:
        return NEEDS_ROOM
    here.chain_region, here.chain_capacity, here.chain_count = region, capacity, found
    here.frontier = scratch[0] if found > 0 else COMPLETE
    return CHANGED
