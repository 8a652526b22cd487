"""The static closure of a dataflow graph: the least path summaries between locations, found when they are asked for.

Made from the graph's edges and the operators' internal summaries; the tracker compiles what it needs from it.

Source: the progress-tracking chapter ("A Compiled Representation").
"""

from collections import defaultdict, deque
from collections.abc import Iterable
from weakref import WeakValueDictionary

import numpy as np

from tokenring.engine.graph.edges import compile_edges, fill_row
from tokenring.engine.times import COMPLETE, IDENTITY, MAX_TIME, Antichain, PathSummary, identity

Link = tuple[int, int, PathSummary]
"""(from location, to location, summary): an edge of the graph (identity) or a path through an operator."""


def no_later(left: PathSummary, right: PathSummary) -> bool:
    """The order of summaries."""
    return left.less_equal(right)


class Reachability:
    """Least path summaries between the locations of a dataflow, which are numbered from 0; each destination's are found
    when it is first asked for.
    """

    def __init__(self, links: Iterable[Link], depths: Iterable[int] = ()) -> None:
        """depths: the number of coordinates of each location's times (default: one)."""
        self._one_of: dict[PathSummary, PathSummary] = {}
        self._joined: dict[tuple[int, int], PathSummary | None] = {}
        self.links = [(origin, destination, self._known(summary)) for origin, destination, summary in links]
        self.depths = list(depths)
        self._into: dict[int, list[tuple[int, PathSummary]]] = {}
        self._found: dict[int, dict[int, Antichain[PathSummary]]] = {}
        self._rows: dict[int, np.ndarray] = {}
        self.row_words = 0
        """How many words the rows take that were asked for so far."""
        self._edges: dict[int, np.ndarray | None] = {}

    def _known(self, summary: PathSummary) -> PathSummary:
        """The one object for all summaries that are equal to this: few occur, and in as many paths as there are pairs
        of locations."""
        return self._one_of.setdefault(summary, summary)

    def _followed_by(self, summary: PathSummary, rest: PathSummary) -> PathSummary | None:
        """As their own method, of known ones."""
        pair = id(summary), id(rest)
        if pair not in self._joined:
            path = summary.followed_by(rest)
            self._joined[pair] = None if path is None else self._known(path)
        return self._joined[pair]

    def _links_into(self, location: int) -> list[tuple[int, PathSummary]]:
        if not self._into:
            self._into = defaultdict(list)
            for origin, destination, summary in self.links:
                self._into[destination].append((origin, summary))
        return self._into.get(location, [])

    def origins(self, target: int) -> list[int]:
        """The locations with a link to `target`."""
        return [origin for origin, _ in self._links_into(target)]

    def paths_to(self, target: int) -> dict[int, Antichain[PathSummary]]:
        """Every location with a path to `target`, itself included, with the antichain of least summaries."""
        if target not in self._found:
            self._found[target] = self._search(target)
        return self._found[target]

    def _search(self, target: int) -> dict[int, Antichain[PathSummary]]:
        """Backwards from `target`, by a worklist."""
        nothing = self._known(identity(self.depths[target] if self.depths else 1))
        found: dict[int, Antichain[PathSummary]] = {target: Antichain([nothing], no_later)}
        worklist = deque([(target, nothing)])
        tried: set[tuple[int, int]] = set()
        while worklist:
            location, rest = worklist.popleft()
            if not any(summary is rest for summary in found[location]):
                continue  # a better path came by meanwhile
            for origin, summary in self._links_into(location):
                path = self._followed_by(summary, rest)
                if path is None or (origin, id(path)) in tried:
                    continue
                tried.add((origin, id(path)))
                if found.setdefault(origin, Antichain((), no_later)).insert(path):
                    worklist.append((origin, path))
        return found

    def summaries(self, origin: int, target: int) -> Antichain[PathSummary]:
        """The least summaries from `origin` to `target`; empty if there is no path."""
        return self.paths_to(target).get(origin, Antichain((), no_later))

    # For integer times alone

    def edges(self, size: int) -> np.ndarray | None:
        """The graph of `size` locations in the kernels' terms (engine/graph/edges.py); None if it has a cycle."""
        if size not in self._edges:
            self._edges[size] = compile_edges(self.links, size)
        return self._edges[size]

    def row(self, target: int, size: int) -> np.ndarray:
        """The least delays from each of the `size` locations to `target`, COMPLETE where there is no path. int64."""
        if target not in self._rows:
            row = np.full(size, COMPLETE, np.int64)
            edges = self.edges(size)
            if edges is not None:
                fill_row(edges, row, target)
            else:
                for origin, delay in self._delays_to(target).items():
                    row[origin] = delay
            self._rows[target] = row
            self.row_words += size
        return self._rows[target]

    def _delays_to(self, target: int) -> dict[int, int]:
        """Every location with a path to `target`, itself included, with the least delay; around cycles too."""
        found = {target: 0}
        worklist = deque([target])
        while worklist:
            location = worklist.popleft()
            rest = found[location]
            for origin, summary in self._links_into(location):
                delay = summary.delays[0] + rest
                if delay <= MAX_TIME and delay < found.get(origin, MAX_TIME + 1):
                    found[origin] = delay
                    worklist.append(origin)
        return found


_SHARED: WeakValueDictionary[object, Reachability] = WeakValueDictionary()


def shared(links: list[Link], depths: list[int]) -> Reachability:
    """The one Reachability of all dataflows of this process with these links and depths: there may be thousands."""
    ends = np.array([(origin, target) for origin, target, _ in links], np.int64)
    others = tuple([(at, summary) for at, (_, _, summary) in enumerate(links) if summary is not IDENTITY])
    key = (ends.tobytes(), others, bytes(depths))
    found = _SHARED.get(key)
    if found is None:
        found = _SHARED[key] = Reachability(links, depths)
    return found
