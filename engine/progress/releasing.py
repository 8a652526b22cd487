"""The kernel that takes back what a finished dataflow's locations have of the count tables."""

from tokenring.engine.progress.counts import (
    APPLIED,
    CHAIN_CAPACITY,
    CHAIN_REGION,
    FIRST_LOCATION,
    GRAPH_CAPACITY,
    GRAPH_IS_NESTED,
    GRAPH_WORDS,
    GRAPHS_ADDRESS,
    LEAST_CAPACITY,
    LEAST_REGION,
    LOCATION_CAPACITY,
    LOCATION_WORDS,
    LOCATIONS,
    LOCATIONS_ADDRESS,
    REGION,
    REGION_CAPACITY,
)
from tokenring.engine.progress.nested_counts import COORDINATES, ENTRY_WORDS, give_words_back
from tokenring.engine.progress.pool import give_back
from tokenring.shm.kernels import WORDS, int64, kernel, words_at


@kernel(int64(WORDS, int64))
def release_regions(state, number):  # type: ignore[no-untyped-def]
    """Give the pool back what the locations of dataflow `number` have of it; its counts are all zero, so that none has
    a table of many times. Returns APPLIED."""
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    graphs = words_at(state[GRAPHS_ADDRESS], state[GRAPH_CAPACITY] * GRAPH_WORDS)
    graph = number * GRAPH_WORDS
    first, size = graphs[graph + FIRST_LOCATION], graphs[graph + LOCATIONS]
    for location in range(first, first + size):
        at = location * LOCATION_WORDS
        capacity = locations[at + REGION_CAPACITY]
        if graphs[graph + GRAPH_IS_NESTED] == 0:
            if capacity > 0:
                give_back(state, locations[at + REGION], capacity)
            continue
        if capacity > 0:
            give_words_back(state, locations[at + REGION], capacity * ENTRY_WORDS)
        if locations[at + LEAST_CAPACITY] > 0:
            give_words_back(state, locations[at + LEAST_REGION], locations[at + LEAST_CAPACITY] * COORDINATES)
        if locations[at + CHAIN_CAPACITY] > 0:
            give_words_back(state, locations[at + CHAIN_REGION], locations[at + CHAIN_CAPACITY] * COORDINATES)
    return APPLIED
