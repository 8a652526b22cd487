"""The kernels that turn counts into frontiers, and frontiers into operators to wake."""

from collections.abc import Sequence

from tokenring.engine.progress.along_edges import propagate_along_edges
from tokenring.engine.progress.counts import APPLIED, NEEDS_ROOM, least_positive
from tokenring.engine.progress.layout import (
    GraphRow,
    LocationRow,
    TrackerState,
    active_of,
    changed_of,
    eager_of,
    graphs_of,
    locations_of,
    operators_of,
    row_of,
)
from tokenring.engine.progress.nested_frontiers import (
    BACKWARDS,
    CHANGED,
    NO_PATH,
    SAME,
    refresh_frontier,
    refresh_least,
)
from tokenring.engine.progress.waking import IF_TOKEN, NEVER, wake
from tokenring.engine.times import COMPLETE
from tokenring.shm.kernels import Words, boolean, int64, kernel, record_at, words_at

LAZY = -1  # a frontier that is not kept up to date


@kernel
def _set_active(locations: Sequence[LocationRow], graphs: Sequence[GraphRow], location: int, is_active: bool) -> None:
    """Put the location on its dataflow's list of those with a positive count, or take it off."""
    here = locations[location]
    place = here.active_at
    if is_active == (place >= 0):
        return
    graph = graphs[here.graph]
    active = active_of(graph)
    count = graph.active_count
    if is_active:
        active[count] = location
        here.active_at = count
        graph.active_count = count + 1
    else:
        last = active[count - 1]
        active[place] = last
        locations[last].active_at = place
        here.active_at = -1
        graph.active_count = count - 1


@kernel
def _take_in_changes(
    state: TrackerState, locations: Sequence[LocationRow], graphs: Sequence[GraphRow], lists: Words
) -> int:
    """Bring the changed locations' least times up to date and list the dataflows they belong to; NEEDS_ROOM may stop it
    half-way."""
    capacity = state.location_capacity
    while state.dirty_count > 0:
        location = lists[state.dirty_count - 1]
        here = locations[location]
        graph = graphs[here.graph]
        if here.is_nested != 0:
            status = refresh_least(state, location)
            if status == NEEDS_ROOM:
                return NEEDS_ROOM
            changed = status == CHANGED
            is_active = here.least_count > 0
        else:
            least = least_positive(state, location)
            changed = least != here.least
            here.least = least
            is_active = least != COMPLETE
        here.is_dirty = 0
        state.dirty_count -= 1
        if changed:
            _set_active(locations, graphs, location, is_active)
            changed_of(graph)[graph.changed_count] = location
            graph.changed_count += 1
        if (changed or graph.nonzero == 0) and graph.is_dirty == 0:
            graph.is_dirty = 1
            lists[capacity + state.dirty_graphs] = here.graph
            state.dirty_graphs += 1
    return APPLIED


@kernel
def _is_concerned(locations: Sequence[LocationRow], graphs: Sequence[GraphRow], target: int) -> bool:
    """Whether a path leads from some changed location of the target's dataflow to the target."""
    graph = graphs[locations[target].graph]
    no_path = NO_PATH if graph.is_nested != 0 else COMPLETE
    row = row_of(locations[target], graph)
    changed = changed_of(graph)
    for i in range(graph.changed_count):
        if row[changed[i] - graph.first_location] != no_path:
            return True
    return False


@kernel
def _least_frontier(locations: Sequence[LocationRow], graphs: Sequence[GraphRow], target: int) -> int:
    """The frontier of a target with integer times: a (min,+) product over the active locations."""
    graph = graphs[locations[target].graph]
    first = graph.first_location
    row = row_of(locations[target], graph)
    active = active_of(graph)
    frontier = COMPLETE
    for i in range(graph.active_count):
        delay = row[active[i] - first]
        least = locations[active[i]].least
        if delay != COMPLETE and least + delay < frontier:
            frontier = least + delay
    return frontier


@kernel
def _refresh(state: TrackerState, locations: Sequence[LocationRow], graphs: Sequence[GraphRow], target: int) -> int:
    """Bring one target's kept frontier up to date: SAME, CHANGED, NEEDS_ROOM or BACKWARDS."""
    here = locations[target]
    if here.is_nested != 0:
        status = refresh_frontier(state, target)
        if status == BACKWARDS:
            state.broken_location = target
        if status == CHANGED:
            here.reached_frontier = here.frontier
        return status
    frontier = _least_frontier(locations, graphs, target)
    if frontier < here.reached_frontier:
        state.broken_location = target
        return BACKWARDS
    if frontier == here.frontier:
        return SAME
    here.frontier = here.reached_frontier = frontier
    return CHANGED


@kernel(int64(int64))
def propagate(address: int) -> int:
    """Bring frontiers up to date with the counts changed since the last call, and list the operators this wakes (in the
    last third of `lists`, state.woken_count of them).

    Returns APPLIED; NEEDS_ROOM, and then goes on when called again; or BACKWARDS if a frontier would move back (its
    location is in state.broken_location).
    """
    state = record_at(address, TrackerState)
    capacity = state.location_capacity
    locations = locations_of(state)
    lists = words_at(state.lists, 3 * capacity)
    graphs = graphs_of(state)
    operators = operators_of(state)
    if _take_in_changes(state, locations, graphs, lists) == NEEDS_ROOM:
        return NEEDS_ROOM
    while state.dirty_graphs > 0:
        graph = graphs[lists[capacity + state.dirty_graphs - 1]]
        if graph.edges_address != 0:
            if propagate_along_edges(state, locations, operators, lists, graph) == BACKWARDS:
                return BACKWARDS
        eager = eager_of(graph)
        i = 0
        while i < graph.eager_count:
            target = eager[i]
            here = locations[target]
            operator = operators[here.operator]
            if operator.policy == IF_TOKEN and operator.holding == 0:
                # Nobody waits for this frontier any more: leave it, until the operator holds a token again or asks.
                operator.is_lazy = 1
                here.frontier = LAZY
                last = eager[graph.eager_count - 1]
                eager[i] = last
                locations[last].eager_at = i
                here.eager_at = -1
                graph.eager_count -= 1
                continue
            i += 1
            if not _is_concerned(locations, graphs, target):
                continue
            status = _refresh(state, locations, graphs, target)
            if status != SAME and status != CHANGED:
                return status
            if status == CHANGED and operator.policy != NEVER:
                wake(state, operators, lists, here.operator)
        if graph.nonzero == 0 and graph.all_done >= 0:
            wake(state, operators, lists, graph.all_done)
        graph.is_dirty = graph.changed_count = 0
        state.dirty_graphs -= 1
    for i in range(state.woken_count):
        operators[lists[2 * capacity + i]].is_woken = 0
    return APPLIED


@kernel(int64(int64, int64, boolean))
def become_eager(address: int, target: int, is_new: bool) -> int:
    """Keep the target's frontier up to date from now on (its row is compiled). It is computed at once, unless the
    dataflow is new and has no counts yet: then it is 0. CHANGED, SAME, NEEDS_ROOM or BACKWARDS."""
    state = record_at(address, TrackerState)
    locations = locations_of(state)
    graphs = graphs_of(state)
    here = locations[target]
    if here.eager_at >= 0:
        return SAME
    if is_new:
        here.frontier = 0
    else:
        status = _refresh(state, locations, graphs, target)
        if status != SAME and status != CHANGED:
            return status
    graph = graphs[here.graph]
    eager_of(graph)[graph.eager_count] = target
    here.eager_at = graph.eager_count
    graph.eager_count += 1
    return CHANGED


@kernel(int64(int64, int64))
def current_frontier(address: int, target: int) -> int:
    """Compute the frontier of a target that is not kept up to date, into `reached_frontier` (and, in nested scopes, its
    antichain): CHANGED, NEEDS_ROOM or BACKWARDS."""
    state = record_at(address, TrackerState)
    locations = locations_of(state)
    graphs = graphs_of(state)
    status = _refresh(state, locations, graphs, target)
    if status == SAME or status == CHANGED:  # noqa: SIM109 - a kernel knows no `in`
        locations[target].frontier = LAZY
    return status
