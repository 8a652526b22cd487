"""What is under way to some inputs of a dataflow, on all workers: messages that were sent and are not taken yet."""

from collections.abc import Callable, Mapping, Sequence

import numpy as np

from tokenring.engine.errors import GraphError
from tokenring.engine.graph import Graph, Location
from tokenring.engine.native import World, messages_under_way, print_of
from tokenring.shm.kernels import WORDS, Words, int64, kernel


@kernel(int64(int64, WORDS))
def _messages(world: int, locations: Words) -> int:
    """`messages_under_way` for callers in Python."""
    return messages_under_way(world, locations)


@kernel(int64(int64, WORDS))
def _print_of(world: int, locations: Words) -> int:
    """`print_of` for callers in Python."""
    return print_of(world, locations)


class UnderWay:
    """Looks at the counts of some ports. Usable once the dataflow is built, by its own operators while they run: places
    of a dataflow that has ended are given to others.
    """

    __slots__ = ("_find", "_world", "locations")

    def __init__(self, find: Callable[[Graph], Sequence[Location]]) -> None:
        """find: says which ports, once the graph is whole."""
        self._find = find
        self._world: World | None = None
        self.locations = np.zeros(0, np.int64)
        """Their numbers, int64 of shape (ports,), for kernels."""

    def attach(self, world: World, graph: Graph, numbers: Mapping[Location, int], first: int) -> None:
        """Bind to a running dataflow, whose ports have these numbers behind `first` (done by the engine)."""
        self.locations = np.array([first + numbers[port] for port in self._find(graph)], np.int64)
        self._world = world

    @property
    def world(self) -> int:
        """The address of what kernels work on."""
        if self._world is None:
            raise GraphError("what is under way is known once the dataflow is built")
        return self._world.address

    @property
    def messages(self) -> int:
        """How many messages are under way, as far as this worker knows; very many if it cannot know."""
        return int(_messages(self.world, self.locations))

    @property
    def print(self) -> int:
        """A number that changes, but for rare accidents, when what is under way does."""
        return int(_print_of(self.world, self.locations))
