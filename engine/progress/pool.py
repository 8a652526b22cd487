"""Regions of the count tables' pool, claimed and given back by size: what is outgrown or forgotten is used again.

A region has a power of two of entries (pairs of words). Those that were given back are in a list for each size; the
first word of each names the next.
"""

from tokenring.engine.progress.layout import (
    COORDINATES,
    ENTRY_WORDS,
    FREE_REGIONS,
    POOL_CAPACITY,
    POOL_USED,
    entries_of,
    graphs_of,
    locations_of,
)
from tokenring.shm.kernels import WORDS, int64, kernel, void


@kernel
def _size(pairs):  # type: ignore[no-untyped-def]
    """The least power of two that is at least `pairs`, as an exponent."""
    size = 0
    while (1 << size) < pairs:
        size += 1
    return size


@kernel
def claim(state, pairs):  # type: ignore[no-untyped-def]
    """A region of at least `pairs` pairs, as the number of its first one, with anything in it; -1 if the pool is full.
    """
    size = _size(pairs)
    free = state[FREE_REGIONS + size] - 1
    if free >= 0:
        state[FREE_REGIONS + size] = entries_of(state)[free].time
        return free
    if state[POOL_USED] + (1 << size) > state[POOL_CAPACITY]:
        return -1
    first = state[POOL_USED]
    state[POOL_USED] += 1 << size
    return first


@kernel
def give_back(state, region, pairs):  # type: ignore[no-untyped-def]
    """Let a region that was claimed with `pairs` be claimed again."""
    size = _size(pairs)
    entries_of(state)[region].time = state[FREE_REGIONS + size]
    state[FREE_REGIONS + size] = region + 1


@kernel
def claim_words(state, words):  # type: ignore[no-untyped-def]
    """The word offset of a region of the pool with at least `words` words, or -1 if it is full."""
    first = claim(state, (words + 1) >> 1)
    return -1 if first < 0 else 2 * first


@kernel
def give_words_back(state, offset, words):  # type: ignore[no-untyped-def]
    """Let a region that was claimed with `words` be claimed again."""
    give_back(state, offset >> 1, (words + 1) >> 1)


@kernel(void(WORDS, int64))
def release_regions(state, number):  # type: ignore[no-untyped-def]
    """Give the pool back what the locations of dataflow `number` have of it; its counts are all zero, so that none has
    a table of many times."""
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
