"""The tables that count, in memory: how they come to be, and how they grow. Their words: engine/progress/layout.py."""

from typing import NamedTuple

import numpy as np

from tokenring.engine.graph import Reachability
from tokenring.engine.progress.along_edges import OWN
from tokenring.engine.progress.counts import FIRST_REGION
from tokenring.engine.progress.layout import COORDINATES, GraphRow, LocationRow, TrackedOperator, TrackerState
from tokenring.engine.progress.propagation import LAZY
from tokenring.engine.times import COMPLETE, Intervals, PathSummary
from tokenring.shm.kernels import address_of


class GraphTables:
    """What Python keeps of one dataflow: its reachability and the arrays that the tables point to."""

    def __init__(self, first: int, reachability: Reachability, depths: list[int]) -> None:
        self.first = first
        self.size = len(depths)
        self.depths = depths
        self.reachability = reachability
        self.is_nested = max(depths, default=1) > 1
        self.active = np.zeros(self.size, np.int64)
        self.eager = np.zeros(self.size, np.int64)
        self.changed = np.arange(first, first + 2 * self.size)  # all, in the beginning
        self.rows: dict[int, np.ndarray] = {}  # of nested scopes; those for integers are the reachability's
        self.edges: np.ndarray | None = None  # where frontiers go along the edges, which are these
        self.heap = np.zeros(0, np.int64)
        self.summaries = np.zeros(0, np.int64)
        self.summary_numbers: dict[tuple[PathSummary, ...], int] = {}


GONE = 0
"""The location of ports and probes whose dataflow is forgotten, where nothing comes any more."""


class Numbers(NamedTuple):
    """What the operators and locations of a dataflow are numbered with."""

    first_operator: int
    operators: int
    first_location: int
    locations: int


def _make_fresh(locations: np.ndarray) -> None:
    """Let records of zeros be locations that nothing is known of."""
    locations["least"] = COMPLETE
    locations["active_at"] = locations["eager_at"] = -1
    locations["frontier"] = LAZY
    locations["support"] = OWN


class Tables:
    """A worker's tables. `state` is the kernels' one handle on them; the views are Python's quick way in, and are
    replaced when tables grow.
    """

    def __init__(self, capacity: int = 64) -> None:
        self.state = TrackerState()
        self.locations_used = 0  # one more than the greatest number that was ever given to one
        self.operators_used = 0
        self.next_location = 0  # the number of what is added next
        self.next_operator = 0
        self._location_numbers = Intervals()
        self._operator_numbers = Intervals()
        self.graph_numbers = Intervals()
        self.graphs_used: dict[int, GraphTables] = {}
        self.locations = LocationRow.new_table(0)
        self.graphs = GraphRow.new_table(0)
        self.pool = np.zeros(2, np.int64)
        self.operators = TrackedOperator.new_table(0)
        self.lists = np.zeros(0, np.int64)
        self.scratch = np.zeros(0, np.int64)
        self._resize_locations(capacity)
        self.resize_graphs(1)
        self._resize_pool(capacity * FIRST_REGION)
        self.link()

    def begin_graph(self, operators: int, locations: int) -> Numbers:
        """Let the next operators and locations, so many of them, have numbers that nobody has, or has any more."""
        if not self._location_numbers.used:
            self._location_numbers.take(GONE + 1)
            self.locations["frontier"][GONE] = COMPLETE
        numbers = Numbers(
            self._operator_numbers.take(operators), operators, self._location_numbers.take(locations), locations
        )
        self.next_operator, self.next_location = numbers.first_operator, numbers.first_location
        end = min(numbers.first_operator + operators, self.operators_used)
        self.operators[numbers.first_operator : end] = 0
        end = min(numbers.first_location + locations, self.locations_used)
        again = self.locations[numbers.first_location : end]
        again[:] = 0
        _make_fresh(again)
        return numbers

    def reuse(self, numbers: Numbers, graph: int) -> None:
        """Let the numbers of a dataflow that every worker has forgotten be given to others."""
        self._operator_numbers.give_back(numbers.first_operator, numbers.operators)
        self._location_numbers.give_back(numbers.first_location, numbers.locations)
        self.graph_numbers.give_back(graph, 1)

    def _resize_locations(self, capacity: int) -> None:
        locations = LocationRow.new_table(capacity)
        locations[: len(self.locations)] = self.locations
        _make_fresh(locations[len(self.locations) :])
        operators = TrackedOperator.new_table(capacity)
        used = self.operators_used  # what was never written to stays without memory
        operators[:used] = self.operators[:used]
        lists = np.zeros(3 * capacity, np.int64)
        before = len(self.lists) // 3
        state = self.state
        for part, count in enumerate((state.dirty_count, state.dirty_graphs, state.woken_count)):
            listed = self.lists[part * before :][:count]
            lists[part * capacity : part * capacity + len(listed)] = listed
        self.locations, self.operators, self.lists = locations, operators, lists

    def resize_graphs(self, capacity: int) -> None:
        """Make room for so many dataflows; `link` says so to the kernels."""
        graphs = GraphRow.new_table(capacity)
        graphs[: len(self.graphs)] = self.graphs
        self.graphs = graphs

    def _resize_pool(self, entries: int) -> None:
        grown = np.zeros(2 * entries, np.int64)
        grown[: len(self.pool)] = self.pool
        self.pool = grown
        self.scratch = np.zeros((entries + 1) * COORDINATES, np.int64)

    def link(self) -> None:
        """Tell the kernels where the tables are now, and give Python its quick views of them."""
        state = self.state
        state.locations = address_of(self.locations)
        state.location_capacity = len(self.locations)
        state.pool = address_of(self.pool)
        state.pool_capacity = len(self.pool) // 2
        state.graphs = address_of(self.graphs)
        state.graph_capacity = len(self.graphs)
        state.operators = address_of(self.operators)
        state.operator_capacity = len(self.operators)
        state.lists = address_of(self.lists)
        state.scratch = address_of(self.scratch)
        state.scratch_capacity = len(self.scratch) // COORDINATES - 1
        self.location_view = self.locations.view(np.int64).data
        self.operator_view = self.operators.view(np.int64).data
        self.list_view = self.lists.data

    def graph_of(self, location: int) -> GraphTables:
        """The dataflow that a location belongs to."""
        return self.graphs_used[int(self.locations["graph"][location])]

    def grow(self) -> None:
        """Make room in the pool after a kernel asked for it."""
        self._resize_pool(len(self.pool))
        self.link()

    def require(self, number: int) -> None:
        """Make room for the location or operator of that number."""
        capacity = len(self.locations)
        if number >= capacity:
            self._resize_locations(max(capacity + capacity // 4, number + 16))
            self.link()
