"""The tracker: live counts and what they imply, the frontier of every location that somebody is interested in.

A target's frontier is the least, over the locations with a positive count, of their least times and what the paths from
there make of them: a (min,+) product for integer times, an antichain in nested scopes. Only dataflows whose counts
changed are looked at; in them only the active locations (those with a positive count) and the eager targets: probes,
operators that are always notified, and operators with `if_token` while they hold one. Whoever else asks for a frontier
gets it computed then. So operators that have nothing to do cost nothing, however many there are.

Safety: a frontier never passes a time that a counted token or message could still bring there; it never moves back.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.engine.errors import BrokenInvariant
from tokenring.engine.graph import NOTIFY_CODES, Notify, Reachability
from tokenring.engine.progress import counts as table
from tokenring.engine.progress import nested_frontiers
from tokenring.engine.progress.along_edges import begin_along_edges
from tokenring.engine.progress.compiled_paths import CompiledPaths, has_edges
from tokenring.engine.progress.counts import GRAPH_WORDS, LOCATION_CAPACITY, LOCATION_WORDS
from tokenring.engine.progress.nested_counts import COORDINATES, apply_nested_change
from tokenring.engine.progress.propagation import become_eager, current_frontier, propagate
from tokenring.engine.progress.releasing import release_regions
from tokenring.engine.progress.table_entries import TableEntries
from tokenring.engine.progress.tables import GraphTables, Tables
from tokenring.engine.progress.waking import FIRST_INPUT, HOLDING, INPUTS, IS_LAZY, OPERATOR_WORDS, POLICY
from tokenring.engine.times import COMPLETE, Time, coordinates, from_coordinates
from tokenring.shm.kernels import address_of

_NOBODY: list[int] = []
_FEW_WORDS = 1 << 15  # of rows for the frontiers that are kept from the beginning; with more they go along the edges
_MANY_WORDS = 1 << 22  # likewise, of all rows that were asked for in dataflows of one shape


class Tracker:
    """Owner of one worker's tables. Locations, operators and dataflows are numbered in the order they are added; with
    numbers of dataflows that are gone, where `begin_graph` says so.
    """

    def __init__(self, capacity: int = 64) -> None:
        self.tables = Tables(capacity)
        self.paths = CompiledPaths(self.tables)
        self.entries = TableEntries(self.tables)
        self._state = self.tables.state  # neither is ever replaced
        self._state_view = self.tables.state_view

    # Building

    def add_operator(self, policy: Notify) -> int:
        """A new operator with no locations yet; returns its number."""
        number = self.tables.next_operator
        self.tables.require(number)
        at = number * OPERATOR_WORDS
        self.tables.operators[at + POLICY] = NOTIFY_CODES[policy]
        self.tables.operators[at + FIRST_INPUT] = self.tables.next_location
        self.tables.operators[at + IS_LAZY] = policy == Notify.IF_TOKEN
        self.tables.next_operator = number + 1
        self.tables.operators_used = max(self.tables.operators_used, number + 1)
        return number

    def add_location(self, operator: int, is_input: bool = False) -> int:
        """A new location that belongs to `operator` (whose inputs come first); returns its number."""
        number = self.tables.next_location
        self.tables.require(number)
        self.tables.locations[number * LOCATION_WORDS + table.OPERATOR] = operator
        self.tables.operators[operator * OPERATOR_WORDS + INPUTS] += is_input
        self.tables.next_location = number + 1
        self.tables.locations_used = max(self.tables.locations_used, number + 1)
        return number

    def add_graph(
        self, first: int, reachability: Reachability, depths: list[int] | None = None, all_done: int = -1
    ) -> int:
        """The locations from `first` on are one dataflow, with these paths; returns its number.

        depths: the number of coordinates of each location's times (default: integers). all_done: the operator to wake
        once every count is zero. The reachability numbers locations from 0.
        """
        number = self.tables.graph_numbers.take(1)
        graph = GraphTables(first, reachability, depths or [1] * (self.tables.next_location - first))
        self.tables.graphs_used[number] = graph
        if number + 1 >= len(self.tables.graphs) // GRAPH_WORDS:
            self.tables.resize_graphs(2 * number + 2)
        words = self.tables.graphs[number * GRAPH_WORDS : (number + 1) * GRAPH_WORDS]
        words[:] = 0
        words[table.FIRST_LOCATION], words[table.LOCATIONS] = first, graph.size
        words[table.ACTIVE_ADDRESS], words[table.EAGER_ADDRESS] = address_of(graph.active), address_of(graph.eager)
        words[table.CHANGED_ADDRESS], words[table.CHANGED_COUNT] = address_of(graph.changed), graph.size
        words[table.GRAPH_IS_NESTED] = graph.is_nested
        words[table.ALL_DONE] = all_done
        mine = self.tables.locations.reshape(-1, LOCATION_WORDS)[first : first + graph.size]
        mine[:, table.GRAPH] = number
        mine[:, table.IS_NESTED] = graph.is_nested
        if graph.is_nested:
            mine[:, [table.LEAST_CAPACITY, table.LEAST_COUNT, table.CHAIN_REGION]] = 0
        self.tables.link()
        owners = self.tables.operators.reshape(-1, OPERATOR_WORDS)[mine[:, table.OPERATOR]]
        port = np.arange(first, first + graph.size) - owners[:, FIRST_INPUT]
        always = (owners[:, POLICY] == NOTIFY_CODES[Notify.ALWAYS]) & (port >= 0) & (port < owners[:, INPUTS])
        kept = np.flatnonzero(always) + first
        if len(kept) * graph.size > _FEW_WORDS and has_edges(graph):
            mine[:, table.FRONTIER] = 0
            self._go_along_edges(number)
        else:
            for location in kept.tolist():
                self._be_interested(location, is_new=True)
        return number

    def remove_graph(self, number: int) -> None:
        """Forget a dataflow whose counts are all zero: what it kept in memory, but for its locations' words."""
        self._run(release_regions, number)
        del self.tables.graphs_used[number]
        words = self.tables.graphs[number * GRAPH_WORDS : (number + 1) * GRAPH_WORDS]
        first, size = int(words[table.FIRST_LOCATION]), int(words[table.LOCATIONS])
        words[table.ACTIVE_COUNT] = words[table.EAGER_COUNT] = 0
        mine = self.tables.locations.reshape(-1, LOCATION_WORDS)[first : first + size]
        mine[:, [table.REGION_CAPACITY, table.BEGIN, table.END, table.LEAST_CAPACITY, table.LEAST_COUNT]] = 0
        mine[:, [table.CHAIN_CAPACITY, table.CHAIN_COUNT]] = 0
        mine[:, table.FRONTIER] = COMPLETE
        mine[:, [table.ROW, table.IS_NESTED]] = 0

    def ending(self, number: int) -> int:
        """When the dataflow's last count became zero, in the order in which this happens on all workers alike."""
        return int(self.tables.graphs[number * GRAPH_WORDS + table.ENDING])

    @property
    def endings(self) -> int:
        """What `ending` said of the dataflow that was the last to end; or more."""
        return int(self._state[table.ENDINGS])

    # Paths

    def _go_along_edges(self, number: int) -> None:
        """Keep every frontier of a dataflow from now on: so many are asked for that rows of paths would be too many."""
        graph = self.tables.graphs_used[number]
        edges = graph.edges = graph.reachability.edges(graph.size)
        assert edges is not None
        graph.heap = np.zeros(graph.size, np.int64)
        words = self.tables.graphs[number * GRAPH_WORDS : (number + 1) * GRAPH_WORDS]
        words[table.EDGES_ADDRESS], words[table.EDGES_LINKS] = address_of(edges), edges[graph.size]
        words[table.HEAP_ADDRESS], words[table.EAGER_COUNT] = address_of(graph.heap), 0

    def _keeps_all(self, target: int) -> bool:
        """Whether the frontiers of the target's dataflow go along its edges; from now on, if rows are too many."""
        graph = self.tables.graph_of(target)
        if graph.edges is not None:
            return True
        if graph.is_nested or graph.reachability.row_words <= _MANY_WORDS or not has_edges(graph):
            return False
        number = int(self.tables.locations[graph.first * LOCATION_WORDS + table.GRAPH])
        self._go_along_edges(number)
        self._run(begin_along_edges, number)
        return True

    def _be_interested(self, target: int, is_new: bool = False) -> None:
        """Keep the target's frontier up to date from now on."""
        if not self._keeps_all(target):
            self.paths.compile_row(target)
            self._run(become_eager, target, is_new)

    def _run(self, kernel: Callable[..., int], *arguments: Any) -> int:
        """Call a kernel that may need room; raises BrokenInvariant if it finds a frontier that would move back."""
        while (status := kernel(self._state, *arguments)) == table.NEEDS_ROOM:
            self.tables.grow()
        if status == nested_frontiers.BACKWARDS:
            raise self.broken()
        return status

    # Changes

    def change(self, location: int, time: Any, delta: int) -> None:
        """Apply one change to the counts (at build time; batches from the ring are applied by the progress channel's
        kernel).
        """
        if self.tables.locations[location * LOCATION_WORDS + table.IS_NESTED]:
            words = np.array([*coordinates(time), 0, 0, 0][:COORDINATES], np.int64)
            self._run(apply_nested_change, location, words, 0, delta)
        else:
            self._run(table.apply_change, location, time, delta)

    def propagate(self) -> list[int]:
        """Bring frontiers up to date; the operators woken by it."""
        self._run(propagate)
        return self.woken()

    def woken(self) -> list[int]:
        """The operators woken since this was last asked."""
        state = self._state_view
        count = state[table.WOKEN_COUNT]
        if not count:
            return _NOBODY
        state[table.WOKEN_COUNT] = 0
        start = 2 * state[LOCATION_CAPACITY]
        return self.tables.list_view[start : start + count].tolist()

    def broken(self) -> BrokenInvariant:
        """The error for a frontier that would have moved back."""
        location = int(self._state[table.BROKEN_LOCATION])
        reached = self.tables.locations[location * LOCATION_WORDS + table.REACHED_FRONTIER]
        return BrokenInvariant(f"the frontier at location {location} would move back from {reached}")

    # Frontiers

    def frontier(self, target: int) -> Time:
        """A frontier as an integer (in a nested scope: its least epoch); COMPLETE if no time can arrive any more."""
        kept = self.tables.location_view[target * LOCATION_WORDS + table.FRONTIER]
        return kept if kept >= 0 else self._compute_frontier(target)

    def _compute_frontier(self, target: int) -> Time:
        """The frontier of a target that is not kept up to date."""
        if self.tables.locations[target * LOCATION_WORDS + table.ROW] or not self._keeps_all(target):
            self.paths.compile_row(target)
            self._run(current_frontier, target)
        return int(self.tables.locations[target * LOCATION_WORDS + table.REACHED_FRONTIER])

    def nested_frontier(self, target: int) -> list[Any]:
        """A frontier in a dataflow with nested scopes: its elements, times of the location's depth; empty if complete.
        """
        row = self.tables.locations[target * LOCATION_WORDS : (target + 1) * LOCATION_WORDS]
        if row[table.FRONTIER] < 0:
            self._compute_frontier(target)
        if not row[table.CHAIN_COUNT]:
            return []
        graph = self.tables.graph_of(target)
        depth = graph.depths[target - graph.first]
        chain, count = int(row[table.CHAIN_REGION]), int(row[table.CHAIN_COUNT])
        flat = self.tables.pool[chain : chain + count * COORDINATES].tolist()
        return [from_coordinates(tuple(flat[i : i + depth])) for i in range(0, len(flat), COORDINATES)]

    def frontier_elements(self, target: int) -> list[Any]:
        """A frontier as the list of its elements, in order, whatever the dataflow's times."""
        if self.tables.locations[target * LOCATION_WORDS + table.IS_NESTED]:
            return self.nested_frontier(target)
        frontier = self.frontier(target)
        return [] if frontier == COMPLETE else [frontier]

    @staticmethod
    def frontier_word(target: int) -> int:
        """Where a target's frontier stands in `location_view` (which is replaced when tables grow); negative where it
        is not kept up to date."""
        return target * LOCATION_WORDS + table.FRONTIER

    def set_holding(self, operator: int, tokens: int) -> None:
        """Say how many tokens an operator holds (for the policy `if_token`)."""
        at, view = operator * OPERATOR_WORDS, self.tables.operator_view
        view[at + HOLDING] = tokens
        if tokens and view[at + IS_LAZY]:
            view[at + IS_LAZY] = 0
            first = view[at + FIRST_INPUT]
            for location in range(first, first + view[at + INPUTS]):
                self._be_interested(location)

    @property
    def complete(self) -> bool:
        """Whether every count of every location is zero: nothing can happen any more."""
        return self._state_view[table.NONZERO] == 0
