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
from tokenring.engine.progress.along_edges import begin_along_edges
from tokenring.engine.progress.counts import NEEDS_ROOM, apply_change
from tokenring.engine.progress.layout import COORDINATES, LocationRow, TrackedOperator
from tokenring.engine.progress.nested_counts import apply_nested_change
from tokenring.engine.progress.nested_frontiers import BACKWARDS
from tokenring.engine.progress.path_rows import CompiledPaths, has_edges
from tokenring.engine.progress.pool import release_regions
from tokenring.engine.progress.propagation import become_eager, current_frontier, propagate
from tokenring.engine.progress.table_entries import TableEntries
from tokenring.engine.progress.tables import GraphTables, Tables
from tokenring.engine.times import COMPLETE, Time, coordinates
from tokenring.shm.kernels import address_of

# What Python reads and writes at every step goes by the word: that is the quicker way.
_LOCATION_WORDS, _FRONTIER = LocationRow.size, LocationRow.place_of("frontier")
_CHAIN_REGION, _CHAIN_COUNT = LocationRow.place_of("chain_region"), LocationRow.place_of("chain_count")
_OPERATOR_WORDS = TrackedOperator.size
_HOLDING, _IS_LAZY = TrackedOperator.place_of("holding"), TrackedOperator.place_of("is_lazy")

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
        self._state, self._address = self.tables.state, self.tables.state.address  # which is never replaced

    # Building

    def add_operator(self, policy: Notify) -> int:
        """A new operator with no locations yet; returns its number."""
        number = self.tables.next_operator
        self.tables.require(number)
        words = self.tables.operators[number]
        words["policy"] = NOTIFY_CODES[policy]
        words["first_input"] = self.tables.next_location
        words["is_lazy"] = policy == Notify.IF_TOKEN
        self.tables.next_operator = number + 1
        self.tables.operators_used = max(self.tables.operators_used, number + 1)
        return number

    def add_location(self, operator: int, is_input: bool = False) -> int:
        """A new location that belongs to `operator` (whose inputs come first); returns its number."""
        number = self.tables.next_location
        self.tables.require(number)
        self.tables.locations["operator"][number] = operator
        self.tables.operators["inputs"][operator] += is_input
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
        if number + 1 >= len(self.tables.graphs):
            self.tables.resize_graphs(2 * number + 2)
        self.tables.graphs[number] = 0
        words = self.tables.graphs[number]
        words["first_location"], words["locations"] = first, graph.size
        words["active_address"], words["eager_address"] = address_of(graph.active), address_of(graph.eager)
        words["changed_address"], words["changed_count"] = address_of(graph.changed), graph.size
        words["is_nested"] = graph.is_nested
        words["all_done"] = all_done
        mine = self.tables.locations[first : first + graph.size]
        mine["graph"] = number
        mine["is_nested"] = graph.is_nested
        if graph.is_nested:
            mine["least_capacity"] = mine["least_count"] = mine["chain_region"] = 0
        self.tables.link()
        owners = self.tables.operators[mine["operator"]]
        port = np.arange(first, first + graph.size) - owners["first_input"]
        always = (owners["policy"] == NOTIFY_CODES[Notify.ALWAYS]) & (port >= 0) & (port < owners["inputs"])
        kept = np.flatnonzero(always) + first
        if len(kept) * graph.size > _FEW_WORDS and has_edges(graph):
            self._go_along_edges(number, is_new=True)
        else:
            for location in kept.tolist():
                self._be_interested(location, is_new=True)
        return number

    def remove_graph(self, number: int) -> None:
        """Forget a dataflow whose counts are all zero: what it kept in memory, but for its locations' words."""
        release_regions(self._address, number)
        del self.tables.graphs_used[number]
        words = self.tables.graphs[number]
        first, size = int(words["first_location"]), int(words["locations"])
        words["active_count"] = words["eager_count"] = 0
        mine = self.tables.locations[first : first + size]
        for name in ("capacity", "begin", "end", "least_capacity", "least_count", "chain_capacity", "chain_count"):
            mine[name] = 0
        mine["frontier"] = COMPLETE
        mine["row"] = mine["is_nested"] = 0

    def ending(self, number: int) -> int:
        """When the dataflow's last count became zero, in the order in which this happens on all workers alike."""
        return int(self.tables.graphs["ending"][number])

    @property
    def endings(self) -> int:
        """What `ending` said of the dataflow that was the last to end; or more."""
        return self._state.endings

    # Paths

    def _go_along_edges(self, number: int, is_new: bool) -> None:
        """Keep every frontier of a dataflow from now on: so many are asked for that rows of paths would be too many.
        is_new: it has no counts yet. All are 0 then; the first `propagate` looks at each location."""
        graph = self.tables.graphs_used[number]
        edges = graph.edges = graph.reachability.edges(graph.size)
        assert edges is not None
        graph.heap = np.zeros(graph.size, np.int64)
        words = self.tables.graphs[number]
        words["edges_address"], words["edges_links"] = address_of(edges), edges[graph.size]
        words["heap_address"], words["eager_count"] = address_of(graph.heap), 0
        if is_new:
            self.tables.locations["frontier"][graph.first : graph.first + graph.size] = 0
        else:
            self._run(begin_along_edges, number)

    def _keeps_all(self, target: int, is_new: bool) -> bool:
        """Whether the frontiers of the target's dataflow go along its edges; from now on, if rows are too many."""
        graph = self.tables.graph_of(target)
        if graph.edges is not None:
            return True
        if graph.is_nested or graph.reachability.row_words <= _MANY_WORDS or not has_edges(graph):
            return False
        number = int(self.tables.locations["graph"][graph.first])
        self._go_along_edges(number, is_new)
        return True

    def _be_interested(self, target: int, is_new: bool = False) -> None:
        """Keep the target's frontier up to date from now on."""
        if not self._keeps_all(target, is_new):
            self.paths.compile_row(target)
            self._run(become_eager, target, is_new)

    def _run(self, kernel: Callable[..., int], *arguments: Any) -> int:
        """Call a kernel that may need room; raises BrokenInvariant if it finds a frontier that would move back."""
        while (status := kernel(self._address, *arguments)) == NEEDS_ROOM:
            self.tables.grow()
        if status == BACKWARDS:
            raise self.broken()
        return status

    # Changes

    def change(self, location: int, time: Any, delta: int) -> None:
        """Apply one change to the counts (at build time; batches from the ring are applied by the progress channel's
        kernel).
        """
        if self.tables.locations["is_nested"][location]:
            words = np.zeros(COORDINATES, np.int64)
            words[: len(coordinates(time))] = coordinates(time)
            self._run(apply_nested_change, location, words, 0, delta)
        else:
            self._run(apply_change, location, time, delta)

    def propagate(self) -> list[int]:
        """Bring frontiers up to date; the operators woken by it."""
        self._run(propagate)
        return self.woken()

    def woken(self) -> list[int]:
        """The operators woken since this was last asked."""
        state = self._state
        count = state.woken_count
        if not count:
            return _NOBODY
        state.woken_count = 0
        start = 2 * state.location_capacity
        return self.tables.list_view[start : start + count].tolist()

    def broken(self) -> BrokenInvariant:
        """The error for a frontier that would have moved back."""
        location = self._state.broken_location
        reached = self.tables.locations["reached_frontier"][location]
        return BrokenInvariant(f"the frontier at location {location} would move back from {reached}")

    # Frontiers

    def frontier(self, target: int) -> Time:
        """A frontier as an integer (in a nested scope: its least epoch); COMPLETE if no time can arrive any more."""
        kept = self.tables.location_view[target * _LOCATION_WORDS + _FRONTIER]
        return kept if kept >= 0 else self._compute_frontier(target)

    def _compute_frontier(self, target: int) -> Time:
        """The frontier of a target that is not kept up to date."""
        if self.tables.locations["row"][target] or not self._keeps_all(target, is_new=False):
            self.paths.compile_row(target)
            self._run(current_frontier, target)
        return int(self.tables.locations["reached_frontier"][target])

    def prepare_frontier(self, target: int) -> None:
        """Let kernels find out a frontier of a dataflow without counts yet, which is not kept up to date."""
        if not self._keeps_all(target, is_new=True):
            self.paths.compile_row(target)

    def nested_frontier(self, target: int) -> list[Any]:
        """A frontier in a dataflow with nested scopes: its elements, times of the location's depth; empty if complete.
        """
        tables, at = self.tables, target * _LOCATION_WORDS
        if tables.location_view[at + _FRONTIER] < 0:
            self._compute_frontier(target)
        count = tables.location_view[at + _CHAIN_COUNT]
        if not count:
            return []
        graph = tables.graph_of(target)
        depth = graph.depths[target - graph.first]
        chain = tables.location_view[at + _CHAIN_REGION]
        flat = tables.pool[chain : chain + count * COORDINATES].tolist()
        if depth == 1:
            return flat[::COORDINATES]
        return [tuple(flat[i : i + depth]) for i in range(0, len(flat), COORDINATES)]

    def frontier_elements(self, target: int) -> list[Any]:
        """A frontier as the list of its elements, in order, whatever the dataflow's times."""
        if self.tables.locations["is_nested"][target]:
            return self.nested_frontier(target)
        frontier = self.frontier(target)
        return [] if frontier == COMPLETE else [frontier]

    @staticmethod
    def frontier_word(target: int) -> int:
        """Where a target's frontier stands in `location_view` (which is replaced when tables grow); negative where it
        is not kept up to date."""
        return target * _LOCATION_WORDS + _FRONTIER

    def set_holding(self, operator: int, tokens: int) -> None:
        """Say how many tokens an operator holds (for the policy `if_token`)."""
        at, view = operator * _OPERATOR_WORDS, self.tables.operator_view
        view[at + _HOLDING] = tokens
        if tokens and view[at + _IS_LAZY]:
            view[at + _IS_LAZY] = 0
            words = self.tables.operators[operator]
            first = int(words["first_input"])
            for location in range(first, first + int(words["inputs"])):
                self._be_interested(location)

    @property
    def complete(self) -> bool:
        """Whether every count of every location is zero: nothing can happen any more."""
        return self._state.nonzero == 0
