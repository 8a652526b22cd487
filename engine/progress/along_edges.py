"""Frontiers along the edges of a dataflow: each location keeps the least time that could reach it, from its own counts
and from what the locations before it keep, so that a change costs what it changes.

For dataflows without cycles and with integer times in which many frontiers are kept: rows of paths, as in
engine/progress/propagation.py, would be as many words as targets times locations. Locations are looked at in
topological order,
each at most once a call. Each knows its support, the link or the count that its time comes from; while that stands,
nothing else is looked at. A time can fall only where that of a count does (those before it have risen or stayed), so
looking at the counts finds every frontier that would move back.
"""

from tokenring.engine.progress.counts import (
    APPLIED,
    BROKEN_LOCATION,
    CHANGED_ADDRESS,
    CHANGED_COUNT,
    EDGES_ADDRESS,
    EDGES_LINKS,
    FIRST_LOCATION,
    FRONTIER,
    GRAPH_CAPACITY,
    GRAPH_WORDS,
    GRAPHS_ADDRESS,
    HEAP_ADDRESS,
    HEAP_COUNT,
    IS_QUEUED,
    LEAST,
    LOCATION_CAPACITY,
    LOCATION_WORDS,
    LOCATIONS,
    LOCATIONS_ADDRESS,
    OPERATOR,
    REACHED_FRONTIER,
    SUPPORT,
)
from tokenring.engine.progress.nested_frontiers import BACKWARDS
from tokenring.engine.progress.waking import FIRST_INPUT, HOLDING, IF_TOKEN, INPUTS, NEVER, OPERATOR_WORDS, POLICY, wake
from tokenring.engine.times import COMPLETE, MAX_TIME
from tokenring.shm.kernels import WORDS, int64, kernel, words_at

OWN = -1
"""The support of a location whose time is the least of its own counts."""


@kernel
def _queue(graphs, graph, heap, locations, location, rank):  # type: ignore[no-untyped-def]
    """Let the location of that rank be looked at, once."""
    if locations[location * LOCATION_WORDS + IS_QUEUED]:
        return
    locations[location * LOCATION_WORDS + IS_QUEUED] = 1
    at = graphs[graph + HEAP_COUNT]
    graphs[graph + HEAP_COUNT] = at + 1
    while at > 0 and heap[(at - 1) >> 1] > rank:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = rank


@kernel
def _next(graphs, graph, heap):  # type: ignore[no-untyped-def]
    """Take the least rank off the heap."""
    least, count = heap[0], graphs[graph + HEAP_COUNT] - 1
    graphs[graph + HEAP_COUNT] = count
    last, at = heap[count], 0
    while 2 * at + 1 < count:
        child = 2 * at + 1
        if child + 1 < count and heap[child + 1] < heap[child]:
            child += 1
        if heap[child] >= last:
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
    return least


@kernel
def _through(locations, first, edges, size, links, link):  # type: ignore[no-untyped-def]
    """The least time that could come through a link."""
    time = locations[(first + edges[size + 1 + link]) * LOCATION_WORDS + FRONTIER]
    delay = edges[size + 1 + links + link]
    return time + delay if time <= MAX_TIME - delay else COMPLETE


@kernel
def _least(locations, first, edges, size, links, local, bound):  # type: ignore[no-untyped-def]
    """The least time that could reach a location, and its support. No time is less than `bound`; where it is found the
    search ends, and the next begins there."""
    at = (first + local) * LOCATION_WORDS
    least, support = locations[at + LEAST], OWN
    begin, end = edges[local], edges[local + 1]
    link = locations[at + SUPPORT]
    if link < begin or link >= end:
        link = begin
    for _ in range(begin, end):
        if least == bound:
            break
        time = _through(locations, first, edges, size, links, link)
        if time < least:
            least, support = time, link
        link = link + 1 if link + 1 < end else begin
    return least, support


@kernel
def propagate_along_edges(state, locations, graphs, operators, lists, graph):  # type: ignore[no-untyped-def]
    """Bring all frontiers of a dataflow (its words at `graph`) up to date, and wake whom this concerns: APPLIED or
    BACKWARDS."""
    first, size, links = graphs[graph + FIRST_LOCATION], graphs[graph + LOCATIONS], graphs[graph + EDGES_LINKS]
    edges = words_at(graphs[graph + EDGES_ADDRESS], 4 * size + 2 + 3 * links)
    heap = words_at(graphs[graph + HEAP_ADDRESS], size)
    changed = words_at(graphs[graph + CHANGED_ADDRESS], 2 * size)
    outs = size + 1 + 2 * links
    ranks, order = outs + size + 1 + links, outs + 2 * size + 1 + links
    for i in range(graphs[graph + CHANGED_COUNT]):
        _queue(graphs, graph, heap, locations, changed[i], edges[ranks + changed[i] - first])
    while graphs[graph + HEAP_COUNT] > 0:
        local = edges[order + _next(graphs, graph, heap)]
        at = (first + local) * LOCATION_WORDS
        locations[at + IS_QUEUED] = 0
        before, support = locations[at + FRONTIER], locations[at + SUPPORT]
        if locations[at + LEAST] < before:
            state[BROKEN_LOCATION] = first + local
            return BACKWARDS
        if support == OWN:
            supported = locations[at + LEAST] == before
        else:
            supported = _through(locations, first, edges, size, links, support) == before
        if supported:
            continue
        least, support = _least(locations, first, edges, size, links, local, before)
        locations[at + SUPPORT] = support
        if least == before:
            continue
        locations[at + FRONTIER] = locations[at + REACHED_FRONTIER] = least
        number = locations[at + OPERATOR]
        operator = number * OPERATOR_WORDS
        port = first + local - operators[operator + FIRST_INPUT]
        if 0 <= port < operators[operator + INPUTS]:
            policy = operators[operator + POLICY]
            if policy != NEVER and (policy != IF_TOKEN or operators[operator + HOLDING] > 0):
                wake(state, operators, lists, number)
        for i in range(edges[outs + local], edges[outs + local + 1]):
            after = edges[outs + size + 1 + i]
            _queue(graphs, graph, heap, locations, first + after, edges[ranks + after])
    return APPLIED


@kernel(int64(WORDS, int64))
def begin_along_edges(state, number):  # type: ignore[no-untyped-def]
    """Compute all frontiers of dataflow `number`, which were not all kept so far, from counts that are taken in."""
    locations = words_at(state[LOCATIONS_ADDRESS], state[LOCATION_CAPACITY] * LOCATION_WORDS)
    graphs = words_at(state[GRAPHS_ADDRESS], state[GRAPH_CAPACITY] * GRAPH_WORDS)
    graph = number * GRAPH_WORDS
    first, size, links = graphs[graph + FIRST_LOCATION], graphs[graph + LOCATIONS], graphs[graph + EDGES_LINKS]
    edges = words_at(graphs[graph + EDGES_ADDRESS], 4 * size + 2 + 3 * links)
    order = size + 1 + 2 * links + 2 * size + 1 + links
    for rank in range(size):
        local = edges[order + rank]
        at = (first + local) * LOCATION_WORDS
        least, support = _least(locations, first, edges, size, links, local, -1)
        if least < locations[at + REACHED_FRONTIER]:
            state[BROKEN_LOCATION] = first + local
            return BACKWARDS
        locations[at + FRONTIER] = locations[at + REACHED_FRONTIER] = least
        locations[at + SUPPORT] = support
    return APPLIED
