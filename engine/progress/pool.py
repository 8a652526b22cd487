"""Regions of the count tables' pool, allocated and given back by size: what is outgrown or forgotten is used again.

A region has a power of two of entries (pairs of words). Those that were given back are in a list for each size; the
first word of each names the next.
"""

from tokenring.engine.progress.layout import COORDINATES, ENTRY_WORDS, TrackerState, entries_of, graphs_of, locations_of
from tokenring.shm.kernels import int64, kernel, record_at, void


@kernel
def _size(pairs: int) -> int:
    """The least power of two that is at least `pairs`, as an exponent."""
    size = 0
    while (1 << size) < pairs:
        size += 1
    return size


@kernel
def allocate(state: TrackerState, pairs: int) -> int:
    """A region of at least `pairs` pairs, as the number of its first one, with anything in it; -1 if the pool is full.
    """
    size = _size(pairs)
    free = state.free_regions[size] - 1
    if free >= 0:
        state.free_regions[size] = entries_of(state)[free].time
        return free
    if state.pool_used + (1 << size) > state.pool_capacity:
        return -1
    first = state.pool_used
    state.pool_used += 1 << size
    return first


@kernel
def give_back(state: TrackerState, region: int, pairs: int) -> None:
    """Let a region that was allocated with `pairs` be allocated again."""
    size = _size(pairs)
    entries_of(state)[region].time = state.free_regions[size]
    state.free_regions[size] = region + 1


@kernel
def allocate_words(state: TrackerState, words: int) -> int:
    """The word offset of a region of the pool with at least `words` words, or -1 if it is full."""
    first = allocate(state, (words + 1) >> 1)
    return -1 if first < 0 else 2 * first


@kernel
def give_words_back(state: TrackerState, offset: int, words: int) -> None:
    """Let a region that was allocated with `words` be allocated again."""
    give_back(state, offset >> 1, (words + 1) >> 1)


@kernel(void(int64, int64))
def release_regions(address: int, number: int) -> None:
    """Give the pool back what the locations of dataflow `number` have of it; its counts are all zero, so that none has
    a table of many times."""
    state = record_at(address, TrackerState)
    locations = locations_of(state)
    graph = graphs_of(state)[number]
    for location in range(graph.first_location, graph.first_location + graph.locations):
        here = locations[location]
        if graph.is_nested == 0:
            if here.capacity > 0:
                give_back(state, here.region, here.capacity)
            continue
        if here.capacity > 0:
            give_words_back(state, here.region, here.capacity * ENTRY_WORDS)
        if here.least_capacity > 0:
            give_words_back(state, here.least_region, here.least_capacity * COORDINATES)
        if here.chain_capacity > 0:
            give_words_back(state, here.chain_region, here.chain_capacity * COORDINATES)
