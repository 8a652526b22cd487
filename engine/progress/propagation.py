"""The kernels that turn counts into frontiers, and frontiers into operators to wake."""

from tokenring.engine.progress.along_edges import propagate_along_edges
from tokenring.engine.progress.counts import (
    ACTIVE_ADDRESS,
    ACTIVE_AT,
    ACTIVE_COUNT,
    ALL_DONE,
    APPLIED,
    BROKEN_LOCATION,
    CHANGED_ADDRESS,
    CHANGED_COUNT,
    DIRTY_COUNT,
    DIRTY_GRAPHS,
    EAGER_ADDRESS,
    EAGER_AT,
    EAGER_COUNT,
    EDGES_ADDRESS,
    FIRST_LOCATION,
    FRONTIER,
    GRAPH,
    GRAPH_CAPACITY,
    GRAPH_IS_DIRTY,
    GRAPH_IS_NESTED,
    GRAPH_NONZERO,
    GRAPH_WORDS,
    GRAPHS_ADDRESS,
    IS_DIRTY,
    IS_NESTED,
    LEAST,
    LEAST_COUNT,
    LISTS_ADDRESS,
    LOCATION_CAPACITY,
    LOCATION_WORDS,
    LOCATIONS,
    LOCATIONS_ADDRESS,
    NEEDS_ROOM,
    OPERATOR,
    OPERATOR_CAPACITY,
    OPERATORS_ADDRESS,
    REACHED_FRONTIER,
    ROW,
    WOKEN_COUNT,
    least_positive,
)
from tokenring.engine.progress.nested_frontiers import (
    BACKWARDS,
    CHANGED,
    NO_PATH,
    SAME,
    refresh_frontier,
    refresh_least,
)
from tokenring.engine.progress.waking import HOLDING, IF_TOKEN, IS_LAZY, IS_WOKEN, NEVER, OPERATOR_WORDS, POLICY, wake
from tokenring.engine.times import COMPLETE
from tokenring.shm.kernels import WORDS, boolean, int64, kernel, words_at

LAZY = -1  # a frontier that is not kept up to date


@kernel
def _set_active(locations, graphs, location, is_active):  # type: ignore[no-untyped-def]
    """Put the location on its dataflow's list of those with a positive count, or take it off."""
    at = location * LOCATION_WORDS
    place = locations[at + ACTIVE_AT]
    if is_active == (place >= 0):
        return
    graph = locations[at + GRAPH] * GRAPH_WORDS
    active = words_at(graphs[graph + ACTIVE_ADDRESS], graphs[graph + LOCATIONS])
    count = graphs[graph + ACTIVE_COUNT]
    if is_active:
        active[count] = location
        locations[at + ACTIVE_AT] = count
        graphs[graph + ACTIVE_COUNT] = count + 1
    else:
        last = active[count - 1]
        active[place] = last
        locations[last * LOCATION_WORDS + ACTIVE_AT] = place
        locations[at + ACTIVE_AT] = -1
        graphs[graph + ACTIVE_COUNT] = count - 1


@kernel
def _take_in_changes(state, locations, graphs, lists):  # type: ignore[no-untyped-def]
    """Bring the changed locations' least times up to date and list the dataflows they belong to; NEEDS_ROOM may stop it
    half-way."""
    capacity = state[LOCATION_CAPACITY]
    while state[DIRTY_COUNT] > 0:
        location = lists[state[DIRTY_COUNT] - 1]
        at = location * LOCATION_WORDS
        graph = locations[at + GRAPH] * GRAPH_WORDS
        if locations[at + IS_NESTED]:
            status = refresh_least(state, location)
            if status == NEEDS_ROOM:
                return NEEDS_ROOM
            changed = status == CHANGED
            is_active = locations[at + LEAST_COUNT] > 0
        else:
            least = least_positive(state, location)
            changed = least != locations[at + LEAST]
            locations[at + LEAST] = least
            is_active = least != COMPLETE
        locations[at + IS_DIRTY] = 0
        state[DIRTY_COUNT] -= 1
        if changed:
            _set_active(locations, graphs, location, is_active)
            listed = words_at(graphs[graph + CHANGED_ADDRESS], 2 * graphs[graph + LOCATIONS])
            listed[graphs[graph + CHANGED_COUNT]] = location
            graphs[graph + CHANGED_COUNT] += 1
        if (changed or graphs[graph + GRAPH_NONZERO] == 0) and graphs[graph + GRAPH_IS_DIRTY] == 0:
            graphs[graph + GRAPH_IS_DIRTY] = 1
            lists[capacity + state[DIRTY_GRAPHS]] = locations[at + GRAPH]
            state[DIRTY_GRAPHS] += 1
    return APPLIED


@kernel
def _is_concerned(locations, graphs, target):  # type: ignore[no-untyped-def]
    """Whether a path leads from some changed location of the target's dataflow to the target."""
    graph = locations[target * LOCATION_WORDS + GRAPH] * GRAPH_WORDS
    no_path = NO_PATH if graphs[graph + GRAPH_IS_NESTED] else COMPLETE
    row = words_at(locations[target * LOCATION_WORDS + ROW], graphs[graph + LOCATIONS])
    changed = words_at(graphs[graph + CHANGED_ADDRESS], 2 * graphs[graph + LOCATIONS])
    for i in range(graphs[graph + CHANGED_COUNT]):
        if row[changed[i] - graphs[graph + FIRST_LOCATION]] != no_path:
            return True
    return False


@kernel
def _least_frontier(locations, graphs, target):  # type: ignore[no-untyped-def]
    """The frontier of a target with integer times: a (min,+) product over the active locations."""
    graph = locations[target * LOCATION_WORDS + GRAPH] * GRAPH_WORDS
    first = graphs[graph + FIRST_LOCATION]
    row = words_at(locations[target * LOCATION_WORDS + ROW], graphs[graph + LOCATIONS])
    active = words_at(graphs[graph + ACTIVE_ADDRESS], graphs[graph + LOCATIONS])
    frontier = COMPLETE
    for i in range(graphs[graph + ACTIVE_COUNT]):
        delay = row[active[i] - first]
        least = locations[active[i] * LOCATION_WORDS + LEAST]
        if delay != COMPLETE and least + delay < frontier:
            frontier = least + delay
    return frontier


@kernel
def _refresh(state, locations, graphs, target):  # type: ignore[no-untyped-def]
    """Bring one target's kept frontier up to date: SAME, CHANGED, NEEDS_ROOM or BACKWARDS."""
    at = target * LOCATION_WORDS
    if locations[at + IS_NESTED]:
        status = refresh_frontier(state, target)
        if status == BACKWARDS:
            state[BROKEN_LOCATION] = target
        if status == CHANGED:
            locations[at + REACHED_FRONTIER] = locations[at + FRONTIER]
        return status
    frontier = _least_frontier(locations, graphs, target)
    if frontier < locations[at + REACHED_FRONTIER]:
        state[BROKEN_LOCATION] = target
        return BACKWARDS
    if frontier == locations[at + FRONTIER]:
        return SAME
    locations[at + FRONTIER] = locations[at + REACHED_FRONTIER] = frontier
    return CHANGED


@kernel(int64(WORDS))
def propagate(state):  # type: ignore[no-untyped-def]
    """Bring frontiers up to date with the counts changed since the last call, and list the operators this wakes (in the
    last third of `lists`, state[WOKEN_COUNT] of them).

    Returns APPLIED; NEEDS_ROOM, and then goes on when called again; or BACKWARDS if a frontier would move back (its
    location is in state[BROKEN_LOCATION]).
    """
    capacity = state[LOCATION_CAPACITY]
    locations = words_at(state[LOCATIONS_ADDRESS], capacity * LOCATION_WORDS)
    lists = words_at(state[LISTS_ADDRESS], 3 * capacity)
    graphs = words_at(state[GRAPHS_ADDRESS], state[GRAPH_CAPACITY] * GRAPH_WORDS)
    operators = words_at(state[OPERATORS_ADDRESS], state[OPERATOR_CAPACITY] * OPERATOR_WORDS)
    if _take_in_changes(state, locations, graphs, lists) == NEEDS_ROOM:
        return NEEDS_ROOM
    while state[DIRTY_GRAPHS] > 0:
        graph = lists[capacity + state[DIRTY_GRAPHS] - 1] * GRAPH_WORDS
        if graphs[graph + EDGES_ADDRESS] != 0:
            if propagate_along_edges(state, locations, graphs, operators, lists, graph) == BACKWARDS:
                return BACKWARDS
        eager = words_at(graphs[graph + EAGER_ADDRESS], graphs[graph + LOCATIONS])
        i = 0
        while i < graphs[graph + EAGER_COUNT]:
            target = eager[i]
            at = target * LOCATION_WORDS
            operator = locations[at + OPERATOR] * OPERATOR_WORDS
            if operators[operator + POLICY] == IF_TOKEN and operators[operator + HOLDING] == 0:
                # Nobody waits for this frontier any more: leave it, until the operator holds a token again or asks.
                operators[operator + IS_LAZY] = 1
                locations[at + FRONTIER] = LAZY
                last = eager[graphs[graph + EAGER_COUNT] - 1]
                eager[i] = last
                locations[last * LOCATION_WORDS + EAGER_AT] = i
                locations[at + EAGER_AT] = -1
                graphs[graph + EAGER_COUNT] -= 1
                continue
            i += 1
            if not _is_concerned(locations, graphs, target):
                continue
            status = _refresh(state, locations, graphs, target)
            if status != SAME and status != CHANGED:
                return status
            if status == CHANGED and operators[operator + POLICY] != NEVER:
                wake(state, operators, lists, locations[at + OPERATOR])
        if graphs[graph + GRAPH_NONZERO] == 0 and graphs[graph + ALL_DONE] >= 0:
            wake(state, operators, lists, graphs[graph + ALL_DONE])
        graphs[graph + GRAPH_IS_DIRTY] = graphs[graph + CHANGED_COUNT] = 0
        state[DIRTY_GRAPHS] -= 1
    for i in range(state[WOKEN_COUNT]):
        operators[lists[2 * capacity + i] * OPERATOR_WORDS + IS_WOKEN] = 0
    return APPLIED


@kernel(int64(WORDS, int64, boolean))
def become_eager(state, target, is_new):  # type: ignore[no-untyped-def]
    """Keep the target's frontier up to date from now on (its row is compiled). It is computed at once, unless the
    dataflow is new and has no counts yet: then it is 0. CHANGED, SAME, NEEDS_ROOM or BACKWARDS."""
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    graphs = words_at(state[GRAPHS_ADDRESS], state[GRAPH_CAPACITY] * GRAPH_WORDS)
    at = target * LOCATION_WORDS
    if locations[at + EAGER_AT] >= 0:
        return SAME
    if is_new:
        locations[at + FRONTIER] = 0
    else:
        status = _refresh(state, locations, graphs, target)
        if status != SAME and status != CHANGED:
            return status
    graph = locations[at + GRAPH] * GRAPH_WORDS
    eager = words_at(graphs[graph + EAGER_ADDRESS], graphs[graph + LOCATIONS])
    eager[graphs[graph + EAGER_COUNT]] = target
    locations[at + EAGER_AT] = graphs[graph + EAGER_COUNT]
    graphs[graph + EAGER_COUNT] += 1
    return CHANGED


@kernel(int64(WORDS, int64))
def current_frontier(state, target):  # type: ignore[no-untyped-def]
    """Compute the frontier of a target that is not kept up to date, into REACHED_FRONTIER (and, in nested scopes, its
    antichain): CHANGED, NEEDS_ROOM or BACKWARDS."""
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    graphs = words_at(state[GRAPHS_ADDRESS], state[GRAPH_CAPACITY] * GRAPH_WORDS)
    status = _refresh(state, locations, graphs, target)
    if status == SAME or status == CHANGED:  # noqa: SIM109 - a kernel knows no `in`
        locations[target * LOCATION_WORDS + FRONTIER] = LAZY
    return status
