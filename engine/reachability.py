"""The static closure of a dataflow graph: for every pair of locations, the least path summaries between them.

Built once, from the graph's edges and the operators' internal summaries; the tracker compiles what it needs from it.
Source: the progress-tracking chapter ("A Compiled Representation").
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from engine.antichain import Antichain
from engine.errors import GraphError
from engine.timestamp import IDENTITY, PathSummary

Link = tuple[int, int, PathSummary]
"""(from location, to location, summary): an edge of the graph (identity) or a path through an operator."""


def _no_later(left: PathSummary, right: PathSummary) -> bool:
    return left.less_equal(right)


def require_acyclic(links: Iterable[Link], names: Mapping[int, str]) -> None:
    """Raise GraphError naming the cycle if the links have one (contract A4: a cycle would have to advance time
    strictly).
    """
    following: dict[int, list[int]] = defaultdict(list)
    for origin, destination, _ in links:
        following[origin].append(destination)
    state: dict[int, int] = {}  # 1: on the current path, 2: done
    for root in list(following):
        if root in state:
            continue
        path: list[int] = []
        stack: list[tuple[int, int]] = [(root, 0)]
        while stack:
            location, position = stack.pop()
            if position == 0:
                state[location] = 1
                path.append(location)
            if position < len(following[location]):
                stack.append((location, position + 1))
                successor = following[location][position]
                if state.get(successor) == 1:
                    cycle = [*path[path.index(successor) :], successor]
                    raise GraphError(
                        "the graph has a cycle that does not advance time: " + " -> ".join(names[at] for at in cycle)
                    )
                if successor not in state:
                    stack.append((successor, 0))
            else:
                state[location] = 2
                path.pop()


class Reachability:
    """Least path summaries to each of the locations in `targets`, as antichains. Other destinations are not kept."""

    def __init__(self, links: Iterable[Link], targets: Iterable[int]) -> None:
        into: dict[int, list[tuple[int, PathSummary]]] = defaultdict(list)
        for origin, destination, summary in links:
            into[destination].append((origin, summary))
        self._to: dict[int, dict[int, Antichain[PathSummary]]] = {
            target: self._paths_to(target, into) for target in targets
        }

    @staticmethod
    def _paths_to(target: int, into: Mapping[int, list[tuple[int, PathSummary]]]) -> dict[int, Antichain[PathSummary]]:
        """Backwards from `target`: the antichain of summaries from each location, by a worklist."""
        found: dict[int, Antichain[PathSummary]] = {target: Antichain([IDENTITY], _no_later)}
        worklist = [(target, IDENTITY)]
        while worklist:
            location, rest = worklist.pop()
            if not any(summary == rest for summary in found[location]):
                continue  # a better path came by meanwhile
            for origin, summary in into.get(location, ()):
                path = summary.followed_by(rest)
                if path is None:
                    continue
                if found.setdefault(origin, Antichain((), _no_later)).insert(path):
                    worklist.append((origin, path))
        return found

    def summaries(self, origin: int, target: int) -> Antichain[PathSummary]:
        """The least summaries from `origin` to `target`; empty if there is no path."""
        return self._to[target].get(origin, Antichain((), _no_later))

    def targets(self) -> list[int]:
        """The destinations that are kept."""
        return list(self._to)

    def sources(self, target: int) -> dict[int, Antichain[PathSummary]]:
        """Every location with a path to `target`, itself included, with the summaries."""
        return self._to[target]
