"""Where everything lies in the count tables, as data: the words of each, and the kernels' views of them by these names.

    state      addresses and scalars, the kernels' one handle on everything: a TrackerState
    locations  a LocationRow each: its window, its least time, its paths, its frontier
    graphs     a GraphRow for each dataflow: which of its locations have something, whose frontiers are kept up to date
    operators  a TrackedOperator each: when it wants to be woken
    pool       entries (time, count); a region that is full moves to one of twice the size: engine/progress/pool.py
    lists      three of `location_capacity` words: changed locations, changed dataflows, woken operators

All are records of int64 words, which kernels and Python name alike: `locations[i].frontier`,
`tables.locations["frontier"]`.
"""

from collections.abc import Sequence

from tokenring.engine.times import MOST_COORDINATES
from tokenring.shm.kernels import Record, Words, also, kernel, records_at, room, words_at

SIZES = 48


class TrackerState(Record, is_checked=False):
    """The kernels' one handle on a tracker's tables: where each is, and for how many rows it has room. `nonzero`: how
    many counts are not zero. `dirty_count`, `dirty_graphs`, `woken_count`: how many are listed. `resume`: the record of
    a batch to go on with. `free_regions`: for each power of two the first free region of so many entries, plus one; 0:
    none. `endings`: how often a dataflow's last count became zero, which is for good, or within a batch; all workers
    apply the same batches in one order, and so number these alike. `broken_location`: where a frontier would move back;
    else how many changes are left in the log."""

    locations: int
    location_capacity: int
    nonzero: int
    graphs: int
    graph_capacity: int
    operators: int
    operator_capacity: int
    lists: int
    dirty_count: int
    dirty_graphs: int
    woken_count: int
    resume: int
    broken_location: int
    scratch: int
    scratch_capacity: int
    endings: int
    pool: int
    pool_capacity: int
    pool_used: int
    free_regions: Words = room(SIZES)
    left_in_log: int = also("broken_location")


COORDINATES = MOST_COORDINATES
"""Of the times in nested scopes: that many, unused ones are 0."""
ENTRY_WORDS = COORDINATES + 1
"""Of an entry in nested scopes: its time's coordinates, then the count."""


class PoolEntry(Record):
    """Of the pool: how much is counted at a time."""

    time: int
    count: int


_ENTRY_BYTES = 8 * PoolEntry.size


class LocationRow(Record):
    """`begin` and `end`: its window of `region`. `row` is the address of its paths, 0 until somebody is interested in
    its frontier; `active_at` and `eager_at` are its places in its dataflow's lists, -1 if it is not there. `support`
    and `is_queued` are used where frontiers go along edges (engine/progress/along_edges.py), the chain's in nested
    scopes. With many times (engine/progress/many_times.py) `heap_used` is below zero: -1 - the heap's elements. Where
    times are nested `least_region` to `chain_count` are the antichains of its least times, and of its frontier."""

    region: int
    capacity: int
    begin: int
    end: int
    live: int
    least: int
    is_dirty: int
    graph: int
    is_nested: int
    active_at: int
    eager_at: int
    row: int
    frontier: int
    reached_frontier: int
    operator: int
    support: int
    is_queued: int
    chain_capacity: int
    chain_count: int
    heap_used: int = also("begin")
    slots_used: int = also("end")
    least_region: int = also("live")
    least_capacity: int = also("least")
    least_count: int = also("support")
    chain_region: int = also("is_queued")


class GraphRow(Record):
    """`active`: its locations with a positive count; `eager`: those whose frontier is brought up to date with every
    change; `changed`: those whose least times changed since then (all, in the beginning: room for twice as many).
    `all_done`: the operator to wake when the last count is gone, -1 if nobody; `ending`: the `endings` when that was so
    last. `edges`: its links, if frontiers go along them, else 0; `heap`: the locations to be looked at then."""

    first_location: int
    locations: int
    nonzero: int
    active_address: int
    active_count: int
    eager_address: int
    eager_count: int
    changed_address: int
    changed_count: int
    is_dirty: int
    is_nested: int
    summaries_address: int
    summaries_count: int
    all_done: int
    edges_address: int
    edges_links: int
    heap_address: int
    heap_count: int
    ending: int


class TrackedOperator(Record):
    """Its inputs are the `inputs` locations from `first_input` on; `is_lazy`: their frontiers are not kept."""

    policy: int
    holding: int
    is_woken: int
    first_input: int
    inputs: int
    is_lazy: int


@kernel
def locations_of(state: TrackerState) -> Sequence[LocationRow]:
    """The locations' records."""
    return records_at(state.locations, state.location_capacity, LocationRow)


@kernel
def graphs_of(state: TrackerState) -> Sequence[GraphRow]:
    """The dataflows' records."""
    return records_at(state.graphs, state.graph_capacity, GraphRow)


@kernel
def operators_of(state: TrackerState) -> Sequence[TrackedOperator]:
    """The operators' records."""
    return records_at(state.operators, state.operator_capacity, TrackedOperator)


@kernel
def entries_of(state: TrackerState) -> Sequence[PoolEntry]:
    """The pool as entries."""
    return records_at(state.pool, state.pool_capacity, PoolEntry)


@kernel
def pool_words(state: TrackerState) -> Words:
    """The pool as words."""
    return words_at(state.pool, 2 * state.pool_capacity)


@kernel
def heap_of(state: TrackerState, region: int, capacity: int) -> Words:
    """The heap of times behind a region's `capacity` slots."""
    return words_at(state.pool + _ENTRY_BYTES * (region + capacity), capacity)


@kernel
def scratch_of(state: TrackerState) -> Words:
    """Room for `scratch_capacity` times of nested scopes, and one more."""
    return words_at(state.scratch, (state.scratch_capacity + 1) * COORDINATES)


@kernel
def active_of(graph: GraphRow) -> Words:
    """A dataflow's list of locations with a positive count, `active_count` of them."""
    return words_at(graph.active_address, graph.locations)


@kernel
def eager_of(graph: GraphRow) -> Words:
    """A dataflow's list of locations whose frontiers are kept up to date, `eager_count` of them."""
    return words_at(graph.eager_address, graph.locations)


@kernel
def changed_of(graph: GraphRow) -> Words:
    """A dataflow's list of locations whose least times changed, `changed_count` of them."""
    return words_at(graph.changed_address, 2 * graph.locations)


@kernel
def row_of(location: LocationRow, graph: GraphRow) -> Words:
    """The paths to a location from each of its dataflow's."""
    return words_at(location.row, graph.locations)
