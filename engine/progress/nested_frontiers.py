"""Frontiers of dataflows with nested scopes: antichains of partially ordered times.

A frontier is the antichain of the least images of all active locations' least times under the path summaries. Whatever
needs more room than there is returns NEEDS_ROOM, and may be called again after the tables grew.
"""

from tokenring.engine.progress.counts import (
    ACTIVE_ADDRESS,
    ACTIVE_COUNT,
    BEGIN,
    CHAIN_CAPACITY,
    CHAIN_COUNT,
    CHAIN_REGION,
    END,
    FIRST_LOCATION,
    FRONTIER,
    GRAPH,
    GRAPH_CAPACITY,
    GRAPH_WORDS,
    GRAPHS_ADDRESS,
    LEAST_CAPACITY,
    LEAST_COUNT,
    LEAST_REGION,
    LOCATION_CAPACITY,
    LOCATION_WORDS,
    LOCATIONS,
    LOCATIONS_ADDRESS,
    NEEDS_ROOM,
    REGION,
    ROW,
    SCRATCH_ADDRESS,
    SCRATCH_CAPACITY,
    SUMMARIES_ADDRESS,
    SUMMARIES_COUNT,
)
from tokenring.engine.progress.nested_counts import (
    COORDINATES,
    ENTRY_WORDS,
    claim_words,
    compare_times,
    give_words_back,
)
from tokenring.engine.progress.pool import POOL_ADDRESS, POOL_CAPACITY
from tokenring.engine.times import COMPLETE, MAX_TIME
from tokenring.shm.kernels import kernel, words_at

SUMMARY_WORDS = COORDINATES + 1
"""A compiled path summary: how many coordinates are kept, then what is added to each or put in its place."""

# A row's word for an origin: begin << COUNT_BITS | count, into the dataflow's summaries; NO_PATH if there is none.
COUNT_BITS = 8
NO_PATH = -1

SAME, CHANGED, BACKWARDS = 2, 3, 4


@kernel
def _less_equal(left, i, right, j):  # type: ignore[no-untyped-def]
    """Whether the time at left[i:] is less or equal to the one at right[j:] in every coordinate."""
    for k in range(COORDINATES):
        if left[i + k] > right[j + k]:
            return False
    return True


@kernel
def _keep(state, locations, at, region, capacity, count, found):  # type: ignore[no-untyped-def]
    """Store the `found` elements of the scratch as the antichain whose place is in the location's words `region`,
    `capacity` and `count`."""
    if found > locations[at + capacity] or locations[at + capacity] == 0:
        room = max(2, 2 * found)
        offset = claim_words(state, room * COORDINATES)
        if offset < 0:
            return NEEDS_ROOM
        if locations[at + capacity] > 0:
            give_words_back(state, locations[at + region], locations[at + capacity] * COORDINATES)
        locations[at + region], locations[at + capacity] = offset, room
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    scratch = words_at(state[SCRATCH_ADDRESS], state[SCRATCH_CAPACITY] * COORDINATES)
    for i in range(found * COORDINATES):
        pool[locations[at + region] + i] = scratch[i]
    locations[at + count] = found
    return CHANGED


@kernel
def _is_kept(pool, scratch, offset, count, found):  # type: ignore[no-untyped-def]
    """Whether the antichain kept at `offset` is the `found` elements of the scratch."""
    if count != found:
        return False
    for i in range(found * COORDINATES):
        if pool[offset + i] != scratch[i]:
            return False
    return True


@kernel
def refresh_least(state, location):  # type: ignore[no-untyped-def]
    """Bring the location's antichain of least times with a positive count up to date: SAME, CHANGED or NEEDS_ROOM."""
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    scratch = words_at(state[SCRATCH_ADDRESS], state[SCRATCH_CAPACITY] * COORDINATES)
    at = location * LOCATION_WORDS
    found = 0
    for i in range(locations[at + BEGIN], locations[at + END]):
        entry = locations[at + REGION] + i * ENTRY_WORDS
        if pool[entry + COORDINATES] <= 0:
            continue
        minimal = True
        for j in range(found):
            if _less_equal(scratch, j * COORDINATES, pool, entry):
                minimal = False
                break
        if minimal:
            if found == state[SCRATCH_CAPACITY]:
                return NEEDS_ROOM
            for k in range(COORDINATES):
                scratch[found * COORDINATES + k] = pool[entry + k]
            found += 1
    if _is_kept(pool, scratch, locations[at + LEAST_REGION], locations[at + LEAST_COUNT], found):
        return SAME
    return _keep(state, locations, at, LEAST_REGION, LEAST_CAPACITY, LEAST_COUNT, found)


@kernel
def _insert(scratch, found, image):  # type: ignore[no-untyped-def]
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
def nested_frontier(state, target):  # type: ignore[no-untyped-def]
    """Compute the target's frontier into the scratch, sorted; returns the number of elements, -1 for lack of room."""
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    scratch = words_at(state[SCRATCH_ADDRESS], (state[SCRATCH_CAPACITY] + 1) * COORDINATES)
    graphs = words_at(state[GRAPHS_ADDRESS], state[GRAPH_CAPACITY] * GRAPH_WORDS)
    graph = locations[target * LOCATION_WORDS + GRAPH] * GRAPH_WORDS
    first = graphs[graph + FIRST_LOCATION]
    row = words_at(locations[target * LOCATION_WORDS + ROW], graphs[graph + LOCATIONS])
    active = words_at(graphs[graph + ACTIVE_ADDRESS], graphs[graph + LOCATIONS])
    summaries = words_at(graphs[graph + SUMMARIES_ADDRESS], graphs[graph + SUMMARIES_COUNT] * SUMMARY_WORDS)
    image = scratch[state[SCRATCH_CAPACITY] * COORDINATES :]  # the scratch has one element more than its capacity
    found = 0
    for i in range(graphs[graph + ACTIVE_COUNT]):
        origin = active[i]
        paths = row[origin - first]
        if paths == NO_PATH:
            continue
        at = origin * LOCATION_WORDS
        for path in range(paths >> COUNT_BITS, (paths >> COUNT_BITS) + (paths & ((1 << COUNT_BITS) - 1))):
            summary = path * SUMMARY_WORDS
            for j in range(locations[at + LEAST_COUNT]):
                time = locations[at + LEAST_REGION] + j * COORDINATES
                fits = True
                for k in range(COORDINATES):
                    kept = pool[time + k] if k < summaries[summary] else 0
                    if kept > MAX_TIME - summaries[summary + 1 + k]:
                        fits = False
                        break
                    image[k] = kept + summaries[summary + 1 + k]
                if fits:
                    if found == state[SCRATCH_CAPACITY]:
                        return -1
                    found = _insert(scratch, found, image)
    return found


@kernel
def refresh_frontier(state, target):  # type: ignore[no-untyped-def]
    """Bring the target's kept frontier up to date: SAME, CHANGED, NEEDS_ROOM, or BACKWARDS where it would move back."""
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    scratch = words_at(state[SCRATCH_ADDRESS], state[SCRATCH_CAPACITY] * COORDINATES)
    at = target * LOCATION_WORDS
    found = nested_frontier(state, target)
    if found < 0:
        return NEEDS_ROOM
    chain, count = locations[at + CHAIN_REGION], locations[at + CHAIN_COUNT]
    if locations[at + CHAIN_CAPACITY] > 0:
        if locations[at + FRONTIER] >= 0 and _is_kept(pool, scratch, chain, count, found):
            return SAME
        for i in range(found):
            reached = False
            for j in range(count):
                if _less_equal(pool, chain + j * COORDINATES, scratch, i * COORDINATES):
                    reached = True
                    break
            if not reached:
                return BACKWARDS
    status = _keep(state, locations, at, CHAIN_REGION, CHAIN_CAPACITY, CHAIN_COUNT, found)
    if status == CHANGED:
        locations[at + FRONTIER] = scratch[0] if found > 0 else COMPLETE
    return status
