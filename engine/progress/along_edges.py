"""Frontiers along the edges of a dataflow: each location keeps the least time that could reach it, from its own counts
and from what the locations before it keep, so that a change costs what it changes.

For dataflows without cycles and with integer times in which many frontiers are kept: rows of paths, as in
engine/progress/propagation.py, would be as many words as targets times locations. Locations are looked at in
topological order,
each at most once a call. Each knows its support, the link or the count that its time comes from; while that stands,
nothing else is looked at. A time can fall only where that of a count does (those before it have risen or stayed), so
looking at the counts finds every frontier that would move back.
"""

from collections.abc import Sequence

from tokenring.engine.progress.counts import APPLIED
from tokenring.engine.progress.layout import (
    GraphRow,
    LocationRow,
    TrackedOperator,
    TrackerState,
    changed_of,
    graphs_of,
    locations_of,
)
from tokenring.engine.progress.nested_frontiers import BACKWARDS
from tokenring.engine.progress.waking import IF_TOKEN, NEVER, wake
from tokenring.engine.times import COMPLETE, MAX_TIME
from tokenring.shm.kernels import Words, int64, kernel, record_at, words_at

OWN = -1
"""The support of a location whose time is the least of its own counts."""


@kernel
def _queue(graph: GraphRow, heap: Words, locations: Sequence[LocationRow], location: int, rank: int) -> None:
    """Let the location of that rank be looked at, once."""
    if locations[location].is_queued != 0:
        return
    locations[location].is_queued = 1
    at = graph.heap_count
    graph.heap_count = at + 1
    while at > 0 and heap[(at - 1) >> 1] > rank:
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = rank


@kernel
def _next(graph: GraphRow, heap: Words) -> int:
    """Take the least rank off the heap."""
    least, count = heap[0], graph.heap_count - 1
    graph.heap_count = count
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
def _through(locations: Sequence[LocationRow], first: int, edges: Words, size: int, links: int, link: int) -> int:
    """The least time that could come through a link."""
    time = locations[first + edges[size + 1 + link]].frontier
    delay = edges[size + 1 + links + link]
    return time + delay if time <= MAX_TIME - delay else COMPLETE


@kernel
def _least(
    locations: Sequence[LocationRow], first: int, edges: Words, size: int, links: int, local: int, bound: int
) -> tuple[int, int]:
    """The least time that could reach a location, and its support. No time is less than `bound`; where it is found the
    search ends, and the next begins there."""
    here = locations[first + local]
    least, support = here.least, OWN
    begin, end = edges[local], edges[local + 1]
    link = here.support
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
def propagate_along_edges(
    state: TrackerState, locations: Sequence[LocationRow], operators: Sequence[TrackedOperator], lists: Words,
    graph: GraphRow,
) -> int:  # fmt: skip
    """Bring all frontiers of a dataflow up to date, and wake whom this concerns: APPLIED or
    BACKWARDS."""
    first, size, links = graph.first_location, graph.locations, graph.edges_links
    edges = words_at(graph.edges_address, 4 * size + 2 + 3 * links)
    heap = words_at(graph.heap_address, size)
    changed = changed_of(graph)
    outs = size + 1 + 2 * links
    ranks, order = outs + size + 1 + links, outs + 2 * size + 1 + links
    for i in range(graph.changed_count):
        _queue(graph, heap, locations, changed[i], edges[ranks + changed[i] - first])
    while graph.heap_count > 0:
        local = edges[order + _next(graph, heap)]
        here = locations[first + local]
        here.is_queued = 0
        before, support = here.frontier, here.support
        if here.least < before:
            state.broken_location = first + local
            return BACKWARDS
        if support == OWN:
            supported = here.least == before
        else:
            supported = _through(locations, first, edges, size, links, support) == before
        if supported:
            continue
        least, support = _least(locations, first, edges, size, links, local, before)
        here.support = support
        if least == before:
            continue
        here.frontier = here.reached_frontier = least
        number = here.operator
        operator = operators[number]
        port = first + local - operator.first_input
        if 0 <= port < operator.inputs:
            policy = operator.policy
            if policy != NEVER and (policy != IF_TOKEN or operator.holding > 0):
                wake(state, operators, lists, number)
        for i in range(edges[outs + local], edges[outs + local + 1]):
            after = edges[outs + size + 1 + i]
            _queue(graph, heap, locations, first + after, edges[ranks + after])
    return APPLIED


@kernel(int64(int64, int64))
def begin_along_edges(address: int, number: int) -> int:
    """Compute all frontiers of dataflow `number`, which were not all kept so far, from counts that are taken in."""
    state = record_at(address, TrackerState)
    locations = locations_of(state)
    graph = graphs_of(state)[number]
    first, size, links = graph.first_location, graph.locations, graph.edges_links
    edges = words_at(graph.edges_address, 4 * size + 2 + 3 * links)
    order = size + 1 + 2 * links + 2 * size + 1 + links
    for rank in range(size):
        local = edges[order + rank]
        here = locations[first + local]
        least, support = _least(locations, first, edges, size, links, local, -1)
        if least < here.reached_frontier:
            state.broken_location = first + local
            return BACKWARDS
        here.frontier = here.reached_frontier = least
        here.support = support
    return APPLIED
