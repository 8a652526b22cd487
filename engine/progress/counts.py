"""Count tables: for every location, how many tokens or messages in flight there are at each time, in flat int64 arrays.

A location's entries (time, count) are sorted by time in a window of a region of one pool. Times mostly come at the end
and go at the beginning, so both are O(1); anything else is a binary search and a short move. Where the move would be
long the location's entries become a table of their own: engine/progress/many_times.py. Counts may be negative for a
while. Locations of dataflows with nested scopes keep longer entries in the same pool: engine/progress/nested_counts.py.

    state      addresses and scalars, the kernels' one handle on everything
    locations  LOCATION_WORDS words a location: its window, its least time, its paths, its frontier
    graphs     GRAPH_WORDS words a dataflow: which of its locations have something, whose frontiers are kept up to date
    pool       (time, count) pairs; a region that is full moves to one of twice the size: engine/progress/pool.py
    lists      three of LOCATION_CAPACITY words: changed locations, changed dataflows, woken operators
"""

from tokenring.engine.progress.many_times import change_many, least_of_many, make_table
from tokenring.engine.progress.pool import POOL_ADDRESS, POOL_CAPACITY, POOL_STATE_WORDS, claim, give_back
from tokenring.engine.times import COMPLETE
from tokenring.shm.kernels import WORDS, int64, kernel, words_at

# Words of `state`, behind those of the pool. ENDINGS: how often a dataflow's last count became zero, which is for good,
# or within a batch; all workers apply the same batches in one order, and so number these alike.
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
) = range(POOL_STATE_WORDS, POOL_STATE_WORDS + 16)
STATE_WORDS = POOL_STATE_WORDS + 16

# Words of a location. BEGIN and END: its window; with many times (BEGIN below 0) the first five are as in
# engine/progress/many_times.py. ROW is the address of its paths, 0 until somebody is interested in its frontier;
# ACTIVE_AT and EAGER_AT are its places in its dataflow's lists, -1 if it is not there. SUPPORT and
# IS_QUEUED are used where frontiers go along edges (engine/progress/along_edges.py), the last two in nested scopes
# only.
(
    REGION,
    REGION_CAPACITY,
    BEGIN,
    END,
    LIVE,
    LEAST,
    IS_DIRTY,
    GRAPH,
    IS_NESTED,
    ACTIVE_AT,
    EAGER_AT,
    ROW,
    FRONTIER,
    REACHED_FRONTIER,
    OPERATOR,
    SUPPORT,
    IS_QUEUED,
    CHAIN_CAPACITY,
    CHAIN_COUNT,
) = range(19)
# The same words where times are nested: the antichains of the location's least times, and of its frontier.
LEAST_REGION, LEAST_CAPACITY, LEAST_COUNT, CHAIN_REGION = LIVE, LEAST, SUPPORT, IS_QUEUED
LOCATION_WORDS = 19

# Words of a dataflow. ACTIVE_ADDRESS: its locations with a positive count; EAGER_ADDRESS: those whose frontier is
# brought up to date with every change; CHANGED_ADDRESS: those whose least times changed since then (all, in the
# beginning: twice LOCATIONS words); ALL_DONE: the operator to wake when the last count is gone, -1 if nobody.
# ENDING: the ENDINGS when that was so last.
# EDGES_ADDRESS: its links, if frontiers go along them, else 0; HEAP_ADDRESS: the locations to be looked at then.
(
    FIRST_LOCATION,
    LOCATIONS,
    GRAPH_NONZERO,
    ACTIVE_ADDRESS,
    ACTIVE_COUNT,
    EAGER_ADDRESS,
    EAGER_COUNT,
    CHANGED_ADDRESS,
    CHANGED_COUNT,
    GRAPH_IS_DIRTY,
    GRAPH_IS_NESTED,
    SUMMARIES_ADDRESS,
    SUMMARIES_COUNT,
    ALL_DONE,
    EDGES_ADDRESS,
    EDGES_LINKS,
    HEAP_ADDRESS,
    HEAP_COUNT,
    ENDING,
) = range(19)
GRAPH_WORDS = 19

FIRST_REGION = 2  # entries of a location's first region
_LONGEST_MOVE = 64  # entries; where more would have to make room for one, the location gets a table

APPLIED, NEEDS_ROOM = 0, 1


@kernel
def _find(pool, begin, end, time):  # type: ignore[no-untyped-def]
    """The first entry in begin..end (pool indices) whose time is not less than `time`."""
    while begin < end:
        middle = (begin + end) >> 1
        if pool[2 * middle] < time:
            begin = middle + 1
        else:
            end = middle
    return begin


@kernel
def _used(pool, region, begin, end):  # type: ignore[no-untyped-def]
    """How many entries of a window are not zero."""
    used = 0
    for i in range(region + begin, region + end):
        used += pool[2 * i + 1] != 0
    return used


@kernel
def _make_room(state, pool, locations, at):  # type: ignore[no-untyped-def]
    """Let the location's window have a free entry at its end, leaving zeros behind; False if the pool is full."""
    region, capacity = locations[at + REGION], locations[at + REGION_CAPACITY]
    begin, end = locations[at + BEGIN], locations[at + END]
    used = _used(pool, region, begin, end)
    target = region
    if capacity == 0 or 2 * used > capacity:
        grown = FIRST_REGION if capacity == 0 else 2 * capacity
        target = claim(state, grown)
        if target < 0:
            return False
        locations[at + REGION], locations[at + REGION_CAPACITY] = target, grown
    moved = target
    for i in range(region + begin, region + end):
        if pool[2 * i + 1] != 0:
            pool[2 * moved], pool[2 * moved + 1] = pool[2 * i], pool[2 * i + 1]
            moved += 1
    locations[at + BEGIN], locations[at + END] = 0, used
    if target != region and capacity > 0:
        give_back(state, region, capacity)
    return True


@kernel
def _become_many(state, pool, locations, at):  # type: ignore[no-untyped-def]
    """Turn the location's window into a table; False if the pool is full."""
    region, capacity = locations[at + REGION], locations[at + REGION_CAPACITY]
    begin, end = locations[at + BEGIN], locations[at + END]
    if not make_table(state, locations, at, region + begin, end - begin, _used(pool, region, begin, end)):
        return False
    give_back(state, region, capacity)
    return True


@kernel
def count_nonzero(state, locations, at, change):  # type: ignore[no-untyped-def]
    """The location has `change` (1 or -1) more entries that are not zero."""
    graphs = words_at(state[GRAPHS_ADDRESS], state[GRAPH_CAPACITY] * GRAPH_WORDS)
    graph = locations[at + GRAPH] * GRAPH_WORDS
    graphs[graph + GRAPH_NONZERO] += change
    state[NONZERO] += change
    if graphs[graph + GRAPH_NONZERO] == 0:
        state[ENDINGS] += 1
        graphs[graph + ENDING] = state[ENDINGS]


@kernel
def mark_dirty(state, locations, at, location):  # type: ignore[no-untyped-def]
    """Note that the location's counts changed since the last propagation."""
    if locations[at + IS_DIRTY] == 0:
        locations[at + IS_DIRTY] = 1
        words_at(state[LISTS_ADDRESS], state[LOCATION_CAPACITY])[state[DIRTY_COUNT]] = location
        state[DIRTY_COUNT] += 1


@kernel
def _apply_to_many(state, locations, at, location, time, delta):  # type: ignore[no-untyped-def]
    """`apply_change` where the location has a table."""
    more = change_many(state, locations, at, time, delta)
    if more == 2:
        return NEEDS_ROOM
    if more != 0:
        count_nonzero(state, locations, at, more)
    mark_dirty(state, locations, at, location)
    return APPLIED


@kernel(int64(WORDS, int64, int64, int64))
def apply_change(state, location, time, delta):  # type: ignore[no-untyped-def]
    """Add `delta` to the count at (location, time). NEEDS_ROOM (nothing applied) if a table is too small."""
    if delta == 0:
        return APPLIED
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    at = location * LOCATION_WORDS
    if locations[at + BEGIN] < 0:
        return _apply_to_many(state, locations, at, location, time, delta)
    region = locations[at + REGION]
    begin, end = region + locations[at + BEGIN], region + locations[at + END]
    if begin == end or pool[2 * (end - 1)] < time:
        place = end
    elif pool[2 * begin] == time:
        place = begin
    else:
        place = _find(pool, begin, end, time)
    if place < end and pool[2 * place] == time:
        before = pool[2 * place + 1]
        pool[2 * place + 1] = before + delta
        if before == 0:
            count_nonzero(state, locations, at, 1)
        if before + delta == 0:
            count_nonzero(state, locations, at, -1)
            if place == begin:  # zeros elsewhere wait until they come first
                while begin < end and pool[2 * begin + 1] == 0:
                    begin += 1
                locations[at + BEGIN] = begin - region
    else:
        if end - place > _LONGEST_MOVE:
            if not _become_many(state, pool, locations, at):
                return NEEDS_ROOM
            return _apply_to_many(state, locations, at, location, time, delta)
        if locations[at + END] == locations[at + REGION_CAPACITY]:
            if not _make_room(state, pool, locations, at):
                return NEEDS_ROOM
            begin = locations[at + REGION]
            end = begin + locations[at + END]
            place = _find(pool, begin, end, time)
        for i in range(end, place, -1):
            pool[2 * i], pool[2 * i + 1] = pool[2 * i - 2], pool[2 * i - 1]
        pool[2 * place], pool[2 * place + 1] = time, delta
        locations[at + END] += 1
        count_nonzero(state, locations, at, 1)
    mark_dirty(state, locations, at, location)
    return APPLIED


@kernel
def least_positive(state, location):  # type: ignore[no-untyped-def]
    """The least time with a positive count at `location`; COMPLETE if there is none."""
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    pool = words_at(state[POOL_ADDRESS], 2 * state[POOL_CAPACITY])
    at = location * LOCATION_WORDS
    if locations[at + BEGIN] < 0:
        return least_of_many(state, locations, at)
    region = locations[at + REGION]
    for i in range(region + locations[at + BEGIN], region + locations[at + END]):
        if pool[2 * i + 1] > 0:
            return pool[2 * i]
    return COMPLETE
