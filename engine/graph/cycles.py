"""Cycles of a dataflow graph: each must strictly advance time, or the graph is refused (docs/concurrency.md, A4)."""

from collections import defaultdict, deque
from collections.abc import Callable, Iterable, Mapping

from tokenring.engine.errors import GraphError
from tokenring.engine.graph.reachability import Link, no_later
from tokenring.engine.times import Antichain, PathSummary, identity


def require_advancing_cycles(links: Iterable[Link], name: Callable[[int], str], depths: Mapping[int, int]) -> None:
    """Raise GraphError naming a cycle that does not strictly advance time (docs/concurrency.md, A4), if there is one.

    A cycle must add something to a coordinate that it keeps. Then no time that comes back is less or equal to the one
    that set out, and none can come back twice, since all grow lexicographically; what could result in what is a partial
    order. A way around an outer loop may well set an inner counter back to 0. name and depths (numbers of
    coordinates): by location.
    """
    following: dict[int, list[tuple[int, PathSummary]]] = defaultdict(list)
    for origin, destination, summary in links:
        following[origin].append((destination, summary))
    for component in _cyclic_components(following):
        for start in component:
            _check_cycles_through(start, component, following, name, depths[start])


def _cyclic_components(following: Mapping[int, list[tuple[int, PathSummary]]]) -> list[set[int]]:
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
                low[at] = min(low[at], low[successors[position - 1][0]])
            descended = False
            while position < len(successors):
                successor = successors[position][0]
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
            if len(component) > 1 or any(successor == at for successor, _ in successors):
                found.append(component)
    return found


def _check_cycles_through(
    start: int,
    component: set[int],
    following: Mapping[int, list[tuple[int, PathSummary]]],
    name: Callable[[int], str],
    depth: int,
) -> None:
    """Raise if some way from `start` back to it could bring a time back that is less or equal."""
    nothing = identity(depth)
    found: dict[int, Antichain[PathSummary]] = {}
    worklist: deque[tuple[int, PathSummary, tuple[int, ...]]] = deque([(start, nothing, (start,))])
    while worklist:
        at, so_far, way = worklist.popleft()
        for successor, summary in following.get(at, ()):
            path = so_far.followed_by(summary) if successor in component else None
            if path is None or not found.setdefault(successor, Antichain((), no_later)).insert(path):
                continue
            if successor == start and not any(path.delays):
                cycle = " -> ".join(name(location) for location in (*way, start))
                raise GraphError(
                    f"the graph has a cycle that does not advance time: {cycle}; lead it through the feedback of a "
                    f"loop that it does not leave"
                )
            worklist.append((successor, path, (*way, successor)))
