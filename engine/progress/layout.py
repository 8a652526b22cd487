"""Where everything lies in the count tables, as data: the words of each, and the kernels' views of them by these names.

    state      addresses and scalars, the kernels' one handle on everything
    locations  a LOCATION each: its window, its least time, its paths, its frontier
    graphs     a GRAPH for each dataflow: which of its locations have something, whose frontiers are kept up to date
    operators  an OPERATOR each: when it wants to be woken
    pool       entries (time, count); a region that is full moves to one of twice the size: engine/progress/pool.py
    lists      three of LOCATION_CAPACITY words: changed locations, changed dataflows, woken operators

All are flat int64 words. Kernels and Python name a record's words as its fields: `locations[i].frontier`,
`tables.locations["frontier"]`.
"""

from typing import Any

import numpy as np

from tokenring.shm.kernels import kernel, records_at, words_at

# Words of `state`. FREE_REGIONS: for each power of two the first free region of so many entries, plus one; 0: none.
# ENDINGS: how often a dataflow's last count became zero, which is for good, or within a batch; all workers apply the
# same batches in one order, and so number these alike.
(
    LOCATIONS_ADDRESS,
    LOCATION_CAPACITY,
    NONZERO,
    GRAPHS_ADDRESS,
    GRAPH_CAPACITY,
    OPERATORS_ADDRESS,
    OPERATOR_CAPACITY,
    LISTS_ADDRESS,
    DIRTY_COUNT,
    DIRTY_GRAPHS,
    WOKEN_COUNT,
    RESUME,
    BROKEN_LOCATION,
    SCRATCH_ADDRESS,
    SCRATCH_CAPACITY,
    ENDINGS,
    POOL_ADDRESS,
    POOL_CAPACITY,
    POOL_USED,
    FREE_REGIONS,
) = range(20)
SIZES = 48
STATE_WORDS = FREE_REGIONS + SIZES


def record(*names: str, **also: str) -> Any:
    """A record of int64 words of these names, one after the other; `also`: further names of some of them."""
    every = [*names, *also]
    offsets = [8 * names.index(also.get(name, name)) for name in every]
    return np.dtype({"names": every, "formats": ["i8"] * len(every), "offsets": offsets, "itemsize": 8 * len(names)})


def words_of(record: "np.dtype[np.void]") -> int:
    """How many words a record has."""
    return record.itemsize // 8


def word_of(record: "np.dtype[np.void]", name: str) -> int:
    """Which of a record's words has this name."""
    fields: Any = record.fields
    return int(fields[name][1]) // 8


COORDINATES = 4
"""Of the times in nested scopes: that many, unused ones are 0."""
ENTRY_WORDS = COORDINATES + 1
"""Of an entry in nested scopes: its time's coordinates, then the count."""
ENTRY = record("time", "count")
_ENTRY_BYTES = ENTRY.itemsize

# `begin` and `end`: its window of `region`. `row` is the address of its paths, 0 until somebody is interested in its
# frontier; `active_at` and `eager_at` are its places in its dataflow's lists, -1 if it is not there. `support` and
# `is_queued` are used where frontiers go along edges (engine/progress/along_edges.py), the chain's in nested scopes.
LOCATION = record(
    *("region", "capacity", "begin", "end", "live", "least", "is_dirty", "graph", "is_nested", "active_at", "eager_at"),
    *("row", "frontier", "reached_frontier", "operator", "support", "is_queued", "chain_capacity", "chain_count"),
    # With many times (engine/progress/many_times.py); `heap_used` is below zero then: -1 - the heap's elements.
    heap_used="begin",
    slots_used="end",
    # Where times are nested: the antichains of the location's least times, and of its frontier.
    least_region="live",
    least_capacity="least",
    least_count="support",
    chain_region="is_queued",
)

# `active`: its locations with a positive count; `eager`: those whose frontier is brought up to date with every change;
# `changed`: those whose least times changed since then (all, in the beginning: room for twice as many). `all_done`:
# the operator to wake when the last count is gone, -1 if nobody; `ending`: the ENDINGS when that was so last. `edges`:
# its links, if frontiers go along them, else 0; `heap`: the locations to be looked at then.
GRAPH = record(
    *("first_location", "locations", "nonzero", "active_address", "active_count", "eager_address", "eager_count"),
    *("changed_address", "changed_count", "is_dirty", "is_nested", "summaries_address", "summaries_count", "all_done"),
    *("edges_address", "edges_links", "heap_address", "heap_count", "ending"),
)

# Its inputs are the `inputs` locations from `first_input` on; `is_lazy`: their frontiers are not kept.
OPERATOR = record("policy", "holding", "is_woken", "first_input", "inputs", "is_lazy")


@kernel
def locations_of(state):  # type: ignore[no-untyped-def]
    """The locations' records."""
    return records_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY], LOCATION)


@kernel
def graphs_of(state):  # type: ignore[no-untyped-def]
    """The dataflows' records."""
    return records_at(state[GRAPHS_ADDRESS], state[GRAPH_CAPACITY], GRAPH)


@kernel
def operators_of(state):  # type: ignore[no-untyped-def]
    """The operators' records."""
    return records_at(state[OPERATORS_ADDRESS], state[OPERATOR_CAPACITY], OPERATOR)


@kernel
def entries_of(state):  # type: ignore[no-untyped-def]
    """The pool as entries."""
    return records_at(state[POOL_ADDRESS], state[POOL_CAPACITY], ENTRY)


@kernel
def pool_words(state):  # type: ignore[no-untyped-def]
    """The pool as words."""
    return words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])


@kernel
def heap_of(state, region, capacity):  # type: ignore[no-untyped-def]
    """The heap of times behind a region's `capacity` slots."""
    return words_at(state[POOL_ADDRESS] + _ENTRY_BYTES * (region + capacity), capacity)


@kernel
def scratch_of(state):  # type: ignore[no-untyped-def]
    """Room for SCRATCH_CAPACITY times of nested scopes, and one more."""
    return words_at(state[SCRATCH_ADDRESS], (state[SCRATCH_CAPACITY] + 1) * COORDINATES)


@kernel
def active_of(graph):  # type: ignore[no-untyped-def]
    """A dataflow's list of locations with a positive count, `active_count` of them."""
    return words_at(graph.active_address, graph.locations)


@kernel
def eager_of(graph):  # type: ignore[no-untyped-def]
    """A dataflow's list of locations whose frontiers are kept up to date, `eager_count` of them."""
    return words_at(graph.eager_address, graph.locations)


@kernel
def changed_of(graph):  # type: ignore[no-untyped-def]
    """A dataflow's list of locations whose least times changed, `changed_count` of them."""
    return words_at(graph.changed_address, 2 * graph.locations)


@kernel
def row_of(location, graph):  # type: ignore[no-untyped-def]
    """The paths to a location from each of its dataflow's."""
    return words_at(location.row, graph.locations)
