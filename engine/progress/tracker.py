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
from tokenring.engine.progress.counts import GRAPH_WORDS, LOCATION_CAPACITY, LOCATION_WORDS
from tokenring.engine.progress.nested_counts import COORDINATES, apply_nested_change
from tokenring.engine.progress.nested_frontiers import COUNT_BITS, NO_PATH
from tokenring.engine.progress.propagation import become_eager, current_frontier, propagate
from tokenring.engine.progress.releasing import release_regions
from tokenring.engine.progress.table_entries import ReadableTables
from tokenring.engine.progress.tables import GraphTables
from tokenring.engine.progress.waking import FIRST_INPUT, HOLDING, INPUTS, IS_LAZY, OPERATOR_WORDS, POLICY
from tokenring.engine.times import COMPLETE, PathSummary, Time, coordinates, from_coordinates
from tokenring.shm.kernels import address_of

_NOBODY: list[int] = []
_FEW_WORDS = 1 << 15  # of rows for the frontiers that are kept from the beginning; with more they go along the edges
_MANY_WORDS = 1 << 22  # likewise, of all rows that were asked for in dataflows of one shape


class Tracker(ReadableTables):
    """Owner of one worker's tables. Locations, operators and dataflows are numbered in the order they are added; with
    numbers of dataflows that are gone, where `begin_graph` says so.
    """

    # Building

    def add_operator(self, policy: Notify) -> int:
        """A new operator with no locations yet; returns its number."""
        number = self._next_operator
        self._require(number)
        at = number * OPERATOR_WORDS
        self._operators[at + POLICY] = NOTIFY_CODES[policy]
        self._operators[at + FIRST_INPUT] = self._next_location
        self._operators[at + IS_LAZY] = policy == Notify.IF_TOKEN
        self._next_operator = number + 1
        self.operators_used = max(self.operators_used, number + 1)
        return number

    def add_location(self, operator: int, is_input: bool = False) -> int:
        """A new location that belongs to `operator` (whose inputs come first); returns its number."""
        number = self._next_location
        self._require(number)
        self._locations[number * LOCATION_WORDS + table.OPERATOR] = operator
        self._operators[operator * OPERATOR_WORDS + INPUTS] += is_input
        self._next_location = number + 1
        self.locations_used = max(self.locations_used, number + 1)
        return number

    def add_graph(
        self, first: int, reachability: Reachability, depths: list[int] | None = None, all_done: int = -1
    ) -> int:
        """The locations from `first` on are one dataflow, with these paths; returns its number.

        depths: the number of coordinates of each location's times (default: integers). all_done: the operator to wake
        once every count is zero. The reachability numbers locations from 0.
        """
        number = self._graph_numbers.take(1)
        graph = GraphTables(first, reachability, depths or [1] * (self._next_location - first))
        self._graphs_used[number] = graph
        if number + 1 >= len(self._graphs) // GRAPH_WORDS:
            self._resize_graphs(2 * number + 2)
        words = self._graphs[number * GRAPH_WORDS : (number + 1) * GRAPH_WORDS]
        words[:] = 0
        words[table.FIRST_LOCATION], words[table.LOCATIONS] = first, graph.size
        words[table.ACTIVE_ADDRESS], words[table.EAGER_ADDRESS] = address_of(graph.active), address_of(graph.eager)
        words[table.CHANGED_ADDRESS], words[table.CHANGED_COUNT] = address_of(graph.changed), graph.size
        words[table.GRAPH_IS_NESTED] = graph.is_nested
        words[table.ALL_DONE] = all_done
        mine = self._locations.reshape(-1, LOCATION_WORDS)[first : first + graph.size]
        mine[:, table.GRAPH] = number
        mine[:, table.IS_NESTED] = graph.is_nested
        if graph.is_nested:
            mine[:, [table.LEAST_CAPACITY, table.LEAST_COUNT, table.CHAIN_REGION]] = 0
        self._link()
        owners = self._operators.reshape(-1, OPERATOR_WORDS)[mine[:, table.OPERATOR]]
        port = np.arange(first, first + graph.size) - owners[:, FIRST_INPUT]
        always = (owners[:, POLICY] == NOTIFY_CODES[Notify.ALWAYS]) & (port >= 0) & (port < owners[:, INPUTS])
        kept = np.flatnonzero(always) + first
        if len(kept) * graph.size > _FEW_WORDS and self._has_edges(graph):
            mine[:, table.FRONTIER] = 0
            self._go_along_edges(number)
        else:
            for location in kept.tolist():
                self._be_interested(location, is_new=True)
        return number

    def remove_graph(self, number: int) -> None:
        """Forget a dataflow whose counts are all zero: what it kept in memory, but for its locations' words."""
        self._run(release_regions, number)
        del self._graphs_used[number]
        words = self._graphs[number * GRAPH_WORDS : (number + 1) * GRAPH_WORDS]
        first, size = int(words[table.FIRST_LOCATION]), int(words[table.LOCATIONS])
        words[table.ACTIVE_COUNT] = words[table.EAGER_COUNT] = 0
        mine = self._locations.reshape(-1, LOCATION_WORDS)[first : first + size]
        mine[:, [table.REGION_CAPACITY, table.BEGIN, table.END, table.LEAST_CAPACITY, table.LEAST_COUNT]] = 0
        mine[:, [table.CHAIN_CAPACITY, table.CHAIN_COUNT]] = 0
        mine[:, table.FRONTIER] = COMPLETE
        mine[:, [table.ROW, table.IS_NESTED]] = 0

    def ending(self, number: int) -> int:
        """When the dataflow's last count became zero, in the order in which this happens on all workers alike."""
        return int(self._graphs[number * GRAPH_WORDS + table.ENDING])

    @property
    def endings(self) -> int:
        """What `ending` said of the dataflow that was the last to end; or more."""
        return int(self.state[table.ENDINGS])

    # Paths

    def _compile_row(self, target: int) -> None:
        """Write down the paths from every location of the dataflow to `target`, once."""
        if self._locations[target * LOCATION_WORDS + table.ROW]:
            return
        graph = self._graph_of(target)
        if graph.is_nested:
            row = np.full(graph.size, NO_PATH, np.int64)
            for origin, summaries in graph.reachability.paths_to(target - graph.first).items():
                row[origin] = self._summaries_number(graph, tuple(summaries))
            graph.rows[target] = row
        else:
            row = graph.reachability.row(target - graph.first, graph.size)
        self._locations[target * LOCATION_WORDS + table.ROW] = address_of(row)

    def _has_edges(self, graph: GraphTables) -> bool:
        """Whether the dataflow's frontiers can go along its edges: integer times, and no cycle."""
        return not graph.is_nested and graph.reachability.edges(graph.size) is not None

    def _go_along_edges(self, number: int) -> None:
        """Keep every frontier of a dataflow from now on: so many are asked for that rows of paths would be too many."""
        graph = self._graphs_used[number]
        edges = graph.edges = graph.reachability.edges(graph.size)
        assert edges is not None
        graph.heap = np.zeros(graph.size, np.int64)
        words = self._graphs[number * GRAPH_WORDS : (number + 1) * GRAPH_WORDS]
        words[table.EDGES_ADDRESS], words[table.EDGES_LINKS] = address_of(edges), edges[graph.size]
        words[table.HEAP_ADDRESS], words[table.EAGER_COUNT] = address_of(graph.heap), 0

    def _keeps_all(self, target: int) -> bool:
        """Whether the frontiers of the target's dataflow go along its edges; from now on, if rows are too many."""
        graph = self._graph_of(target)
        if graph.edges is not None:
            return True
        if graph.is_nested or graph.reachability.row_words <= _MANY_WORDS or not self._has_edges(graph):
            return False
        number = int(self._locations[graph.first * LOCATION_WORDS + table.GRAPH])
        self._go_along_edges(number)
        self._run(begin_along_edges, number)
        return True

    def _summaries_number(self, graph: GraphTables, summaries: tuple[PathSummary, ...]) -> int:
        number = graph.summary_numbers.get(summaries)
        if number is None:
            begin = len(graph.summaries) // nested_frontiers.SUMMARY_WORDS
            number = graph.summary_numbers[summaries] = begin << COUNT_BITS | len(summaries)
            words = [
                [len(summary.delays), *(summary.delays + summary.then), 0, 0, 0, 0][: nested_frontiers.SUMMARY_WORDS]
                for summary in summaries
            ]
            graph.summaries = np.concatenate([graph.summaries, np.array(words, np.int64).ravel()])
            at = int(self._locations[graph.first * LOCATION_WORDS + table.GRAPH]) * GRAPH_WORDS
            self._graphs[at + table.SUMMARIES_ADDRESS] = address_of(graph.summaries)
            self._graphs[at + table.SUMMARIES_COUNT] = len(graph.summaries) // nested_frontiers.SUMMARY_WORDS
        return number

    def _be_interested(self, target: int, is_new: bool = False) -> None:
        """Keep the target's frontier up to date from now on."""
        if not self._keeps_all(target):
            self._compile_row(target)
            self._run(become_eager, target, is_new)

    def _run(self, kernel: Callable[..., int], *arguments: Any) -> int:
        """Call a kernel that may need room; raises BrokenInvariant if it finds a frontier that would move back."""
        while (status := kernel(self.state, *arguments)) == table.NEEDS_ROOM:
            self.grow()
        if status == nested_frontiers.BACKWARDS:
            raise self.broken()
        return status

    # Changes

    def change(self, location: int, time: Any, delta: int) -> None:
        """Apply one change to the counts (at build time; batches from the ring are applied by the progress channel's
        kernel).
        """
        if self._locations[location * LOCATION_WORDS + table.IS_NESTED]:
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
        state = self.state_view
        count = state[table.WOKEN_COUNT]
        if not count:
            return _NOBODY
        state[table.WOKEN_COUNT] = 0
        start = 2 * state[LOCATION_CAPACITY]
        return self.list_view[start : start + count].tolist()

    def broken(self) -> BrokenInvariant:
        """The error for a frontier that would have moved back."""
        location = int(self.state[table.BROKEN_LOCATION])
        reached = self._locations[location * LOCATION_WORDS + table.REACHED_FRONTIER]
        return BrokenInvariant(f"the frontier at location {location} would move back from {reached}")

    # Frontiers

    def frontier(self, target: int) -> Time:
        """A frontier as an integer (in a nested scope: its least epoch); COMPLETE if no time can arrive any more."""
        kept = self.location_view[target * LOCATION_WORDS + table.FRONTIER]
        return kept if kept >= 0 else self._compute_frontier(target)

    def _compute_frontier(self, target: int) -> Time:
        """The frontier of a target that is not kept up to date."""
        if self._locations[target * LOCATION_WORDS + table.ROW] or not self._keeps_all(target):
            self._compile_row(target)
            self._run(current_frontier, target)
        return int(self._locations[target * LOCATION_WORDS + table.REACHED_FRONTIER])

    def nested_frontier(self, target: int) -> list[Any]:
        """A frontier in a dataflow with nested scopes: its elements, times of the location's depth; empty if complete.
        """
        row = self._locations[target * LOCATION_WORDS : (target + 1) * LOCATION_WORDS]
        if row[table.FRONTIER] < 0:
            self._compute_frontier(target)
        if not row[table.CHAIN_COUNT]:
            return []
        graph = self._graph_of(target)
        depth = graph.depths[target - graph.first]
        chain, count = int(row[table.CHAIN_REGION]), int(row[table.CHAIN_COUNT])
        flat = self._pool[chain : chain + count * COORDINATES].tolist()
        return [from_coordinates(tuple(flat[i : i + depth])) for i in range(0, len(flat), COORDINATES)]

    def frontier_elements(self, target: int) -> list[Any]:
        """A frontier as the list of its elements, in order, whatever the dataflow's times."""
        if self._locations[target * LOCATION_WORDS + table.IS_NESTED]:
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
        at = operator * OPERATOR_WORDS
        self.operator_view[at + HOLDING] = tokens
        if tokens and self.operator_view[at + IS_LAZY]:
            self.operator_view[at + IS_LAZY] = 0
            first = self.operator_view[at + FIRST_INPUT]
            for location in range(first, first + self.operator_view[at + INPUTS]):
                self._be_interested(location)

    @property
    def complete(self) -> bool:
        """Whether every count of every location is zero: nothing can happen any more."""
        return self.state_view[table.NONZERO] == 0
