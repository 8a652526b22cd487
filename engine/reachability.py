"""The static closure of a dataflow graph: the least path summaries between locations, found when they are asked for.

Made from the graph's edges and the operators' internal summaries; the tracker compiles what it needs from it.
Source: the progress-tracking chapter ("A Compiled Representation").
"""

from collections import defaultdict, deque
from collections.abc import Iterable, Mapping

from engine.antichain import Antichain
from engine.errors import GraphError
from engine.timestamp import MAX_TIME, PathSummary, identity

Link = tuple[int, int, PathSummary]
"""(from location, to location, summary): an edge of the graph (identity) or a path through an operator."""


def _no_later(left: PathSummary, right: PathSummary) -> bool:
    return left.less_equal(right)


def require_advancing_cycles(links: Iterable[Link], names: Mapping[int, str], depths: Mapping[int, int]) -> None:
    """Raise GraphError naming a cycle that does not strictly advance time (SAFETY.md, A4), if the links have one.

    A cycle must add something to a coordinate that it keeps. Then no time that comes back is less or equal to the one
    that set out, and none can come back twice, since all grow lexicographically; what could result in what is a partial
    order. A way around an outer loop may well set an inner counter back to 0. names and depths (numbers of
    coordinates): by location.
    """
    following: dict[int, list[tuple[int, PathSummary]]] = defaultdict(list)
    for origin, destination, summary in links:
        following[origin].append((destination, summary))
    for component in _cyclic_components(following):
        for start in component:
            _check_cycles_through(start, component, following, names, depths[start])


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
    names: Mapping[int, str],
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
            if path is None or not found.setdefault(successor, Antichain((), _no_later)).insert(path):
                continue
            if successor == start and not any(path.delays):
                cycle = " -> ".join(names[location] for location in (*way, start))
                raise GraphError(
                    f"the graph has a cycle that does not advance time: {cycle}; lead it through the feedback of a "
                    f"loop that it does not leave"
                )
            worklist.append((successor, path, (*way, successor)))


class Reachability:
    """Least path summaries between locations, each destination's found when it is first asked for."""

    def __init__(self, links: Iterable[Link], depths: Mapping[int, int] | None = None) -> None:
        """depths: the number of coordinates of a location's times, where that is not one."""
        self._into: dict[int, list[tuple[int, PathSummary]]] = defaultdict(list)
        for origin, destination, summary in links:
            self._into[destination].append((origin, summary))
        self._depths = depths or {}
        self._found: dict[int, dict[int, Antichain[PathSummary]]] = {}

    def origins(self, target: int) -> list[int]:
        """The locations with a link to `target`."""
        return [origin for origin, _ in self._into.get(target, ())]

    def paths_to(self, target: int) -> dict[int, Antichain[PathSummary]]:
        """Every location with a path to `target`, itself included, with the antichain of least summaries."""
        if target not in self._found:
            self._found[target] = self._search(target)
        return self._found[target]

    def _search(self, target: int) -> dict[int, Antichain[PathSummary]]:
        """Backwards from `target`, by a worklist."""
        nothing = identity(self._depths.get(target, 1))
        found: dict[int, Antichain[PathSummary]] = {target: Antichain([nothing], _no_later)}
        worklist = deque([(target, nothing)])
        while worklist:
            location, rest = worklist.popleft()
            if not any(summary == rest for summary in found[location]):
                continue  # a better path came by meanwhile
            for origin, summary in self._into.get(location, ()):
                path = summary.followed_by(rest)
                if path is None:
                    continue
                if found.setdefault(origin, Antichain((), _no_later)).insert(path):
                    worklist.append((origin, path))
        return found

    def delays_to(self, target: int) -> dict[int, int]:
        """Every location with a path to `target`, itself included, with the least delay: for integer times alone."""
        found = {target: 0}
        worklist = deque([target])
        while worklist:
            location = worklist.popleft()
            rest = found[location]
            for origin, summary in self._into.get(location, ()):
                delay = summary.delays[0] + rest
                if delay <= MAX_TIME and delay < found.get(origin, MAX_TIME + 1):
                    found[origin] = delay
                    worklist.append(origin)
        return found

    def summaries(self, origin: int, target: int) -> Antichain[PathSummary]:
        """The least summaries from `origin` to `target`; empty if there is no path."""
        return self.paths_to(target).get(origin, Antichain((), _no_later))
