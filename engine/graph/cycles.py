"""Cycles of a dataflow graph: each must strictly advance time, or the graph is refused (docs/concurrency.md, A4)."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping

from tokenring.engine.errors import GraphError
from tokenring.engine.graph.reachability import Link


def require_advancing_cycles(links: Iterable[Link], name: Callable[[int], str]) -> None:
    """Raise GraphError naming a cycle that does not strictly advance time (docs/concurrency.md, A4), if there is one.

    A cycle must add something to a coordinate that it keeps. Then no time that comes back is less or equal to the one
    that set out, and none can come back twice, since all grow lexicographically; what could result in what is a partial
    order. A way around an outer loop may well set an inner counter back to 0. name: of a location.

    Coordinate by coordinate, links that add to it are left out: whatever cycle they are in advances. Where a cycle is
    left with a link that does not keep the coordinate, none of those that it does keep are advanced by it.
    """
    left, at = list(links), 0
    while left:
        following: dict[int, list[int]] = defaultdict(list)
        for origin, destination, _ in left:
            following[origin].append(destination)
        component_of = {each: number for number, found in enumerate(_cyclic_components(following)) for each in found}
        left = [link for link in left if link[0] in component_of and component_of[link[0]] == component_of.get(link[1])]
        if losing := [(origin, destination) for origin, destination, summary in left if len(summary.delays) <= at]:
            origin, destination = min(losing)
            cycle = " -> ".join(map(name, (origin, *_shortest_way(destination, origin, following))))
            raise GraphError(
                f"the graph has a cycle that does not advance time: {cycle}; lead it through the feedback of a "
                f"loop that it does not leave"
            )
        left = [link for link in left if not link[2].delays[at]]
        at += 1


def _shortest_way(start: int, end: int, following: Mapping[int, list[int]]) -> list[int]:
    """The locations from one to another, which can be reached from it."""
    before = {start: start}
    worklist = deque([start])
    while end not in before:
        location = worklist.popleft()
        for successor in following.get(location, ()):
            if successor not in before:
                before[successor] = location
                worklist.append(successor)
    way = [end]
    while way[-1] != start:
        way.append(before[way[-1]])
    return way[::-1]


def _cyclic_components(following: Mapping[int, list[int]]) -> list[set[int]]:
    """The strongly connected components that have an edge (Tarjan, with a stack of our own)."""
    index: dict[int, int] = {}
    low: dict[int, int] = {}
    on_path: set[int] = set()
    path: list[int] = []
    found: list[set[int]] = []
    for root in list(following):
        if root in index:
            continue
        work = [(root, 0)]
        while work:
            at, position = work.pop()
            if position == 0:
                index[at] = low[at] = len(index)
                path.append(at)
                on_path.add(at)
            successors = following.get(at, [])
            if position:
                low[at] = min(low[at], low[successors[position - 1]])
            descended = False
            while position < len(successors):
                successor = successors[position]
                position += 1
                if successor not in index:
                    work += [(at, position), (successor, 0)]
                    descended = True
                    break
                if successor in on_path:
                    low[at] = min(low[at], index[successor])
            if descended or low[at] != index[at]:
                continue
            component: set[int] = set()
            while not component or at not in component:
                component.add(path.pop())
            on_path -= component
            if len(component) > 1 or at in successors:
                found.append(component)
    return found
