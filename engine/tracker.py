"""The tracker: live counts and what they imply, the frontier of every location that somebody is interested in.

A target's frontier is the least, over the locations with a positive count, of their least times and what the paths from
there make of them: a (min,+) product for integer times, an antichain in nested scopes. Only dataflows whose counts
changed are looked at; in them only the active locations (those with a positive count) and the eager targets: probes,
operators that are always notified, and operators with `if_token` while they hold one. Whoever else asks for a frontier
gets it computed then. So operators that have nothing to do cost nothing, however many there are.

Safety: a frontier never passes a time that a counted token or message could still bring there; it never moves back.
"""

from collections.abc import Callable, Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from engine import counts as table
from engine import nested_frontiers
from engine.antichain import Antichain
from engine.counts import (
    GRAPH_WORDS,
    LOCATION_CAPACITY,
    LOCATION_WORDS,
)
from engine.errors import BrokenInvariant
from engine.location import NOTIFY_CODES, Notify
from engine.nested_counts import COORDINATES, ENTRY_WORDS, apply_nested_change
from engine.nested_frontiers import COUNT_BITS, NO_PATH
from engine.propagation import (
    FIRST_INPUT,
    HOLDING,
    INPUTS,
    IS_LAZY,
    OPERATOR_WORDS,
    POLICY,
    become_eager,
    current_frontier,
    propagate,
)
from engine.reachability import Reachability
from engine.tables import GraphTables, Tables
from engine.timestamp import COMPLETE, PathSummary, Time, coordinates, from_coordinates
from shm.kernels import address_of

_NOBODY: list[int] = []


class Tracker(Tables):
    """Owner of one worker's tables. Locations, operators and dataflows are numbered from 0 in the order they are added.
    """

    # Building

    def add_operator(self, policy: Notify) -> int:
        """A new operator with no locations yet; returns its number."""
        number = self.operators_used
        self._require(number)
        at = number * OPERATOR_WORDS
        self._operators[at + POLICY] = NOTIFY_CODES[policy]
        self._operators[at + FIRST_INPUT] = self.locations_used
        self._operators[at + IS_LAZY] = policy == Notify.IF_TOKEN
        self.operators_used += 1
        return number

    def add_location(self, operator: int, is_input: bool = False) -> int:
        """A new location that belongs to `operator` (whose inputs come first); returns its number."""
        number = self.locations_used
        self._require(number)
        self._locations[number * LOCATION_WORDS + table.OPERATOR] = operator
        self._locations[number * LOCATION_WORDS + table.GRAPH] = self._graph_count
        self._operators[operator * OPERATOR_WORDS + INPUTS] += is_input
        self.locations_used += 1
        return number

    def add_graph(
        self, first: int, reachability: Reachability, depths: list[int] | None = None, all_done: int = -1
    ) -> int:
        """The locations from `first` on are one dataflow, with these paths; returns its number.

        depths: the number of coordinates of each location's times (default: integers). all_done: the operator to wake
        once every count is zero.
        """
        number = self._graph_count
        graph = GraphTables(first, reachability, depths or [1] * (self.locations_used - first))
        self._graphs_used[number] = graph
        self._graph_count += 1
        if self._graph_count >= len(self._graphs) // GRAPH_WORDS:
            self._resize_graphs(2 * self._graph_count)
        words = self._graphs[number * GRAPH_WORDS : (number + 1) * GRAPH_WORDS]
        words[table.FIRST_LOCATION], words[table.LOCATIONS] = first, graph.size
        words[table.ACTIVE_ADDRESS], words[table.EAGER_ADDRESS] = address_of(graph.active), address_of(graph.eager)
        words[table.CHANGED_ADDRESS], words[table.CHANGED_COUNT] = address_of(graph.changed), graph.size
        words[table.GRAPH_IS_NESTED] = graph.is_nested
        words[table.ALL_DONE] = all_done
        mine = self._locations.reshape(-1, LOCATION_WORDS)[first : first + graph.size]
        mine[:, table.GRAPH] = number
        mine[:, table.IS_NESTED] = graph.is_nested
        self._link()
        operators = self._operators.reshape(-1, OPERATOR_WORDS)
        for location, operator in enumerate(mine[:, table.OPERATOR].tolist(), first):
            policy, first_input, inputs = operators[operator, [POLICY, FIRST_INPUT, INPUTS]].tolist()
            if policy == NOTIFY_CODES[Notify.ALWAYS] and first_input <= location < first_input + inputs:
                self._be_interested(location, is_new=True)
        return number

    def remove_graph(self, number: int) -> None:
        """Forget a dataflow whose counts are all zero: what it kept in memory, but for its locations' words."""
        del self._graphs_used[number]
        words = self._graphs[number * GRAPH_WORDS : (number + 1) * GRAPH_WORDS]
        first, size = int(words[table.FIRST_LOCATION]), int(words[table.LOCATIONS])
        words[table.ACTIVE_COUNT] = words[table.EAGER_COUNT] = 0
        mine = self._locations.reshape(-1, LOCATION_WORDS)[first : first + size]
        mine[:, [table.REGION_CAPACITY, table.BEGIN, table.END, table.LEAST_CAPACITY, table.LEAST_COUNT]] = 0
        mine[:, table.FRONTIER] = COMPLETE
        mine[:, [table.ROW, table.IS_NESTED]] = 0

    # Paths

    def _graph_of(self, location: int) -> GraphTables:
        return self._graphs_used[int(self._locations[location * LOCATION_WORDS + table.GRAPH])]

    def _compile_row(self, target: int) -> None:
        """Write down the paths from every location of the dataflow to `target`, once."""
        if self._locations[target * LOCATION_WORDS + table.ROW]:
            return
        graph = self._graph_of(target)
        if graph.is_nested:
            row = np.full(graph.size, NO_PATH, np.int64)
            for origin, summaries in graph.reachability.paths_to(target).items():
                row[origin - graph.first] = self._summaries_number(graph, tuple(summaries))
        else:
            row = np.full(graph.size, COMPLETE, np.int64)
            for origin, delay in graph.reachability.delays_to(target).items():
                row[origin - graph.first] = delay
        graph.rows[target] = row
        self._locations[target * LOCATION_WORDS + table.ROW] = address_of(row)

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
        self._compile_row(target)
        self._run(current_frontier, target)
        return int(self._locations[target * LOCATION_WORDS + table.REACHED_FRONTIER])

    def nested_frontier(self, target: int) -> list[Any]:
        """A frontier in a dataflow with nested scopes: its elements, times of the location's depth; empty if complete.
        """
        row = self._locations[target * LOCATION_WORDS : (target + 1) * LOCATION_WORDS]
        if row[table.FRONTIER] < 0:
            self._compute_frontier(target)
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

    # Looking in

    def paths_to(self, target: int) -> Mapping[int, Antichain[PathSummary]]:
        """Every location with a path to `target`, itself included, with the least summaries of the ways."""
        return self._graph_of(target).reachability.paths_to(target)

    def feeding(self, target: int) -> int:
        """The one location that an input or a probe is fed by."""
        (origin,) = self._graph_of(target).reachability.origins(target)
        return origin

    def entries(self, location: int) -> list[tuple[Any, int]]:
        """The nonzero (time, count) pairs at a location, in order."""
        row = self._locations[location * LOCATION_WORDS : (location + 1) * LOCATION_WORDS]
        width, scale = (ENTRY_WORDS, 1) if row[table.IS_NESTED] else (2, 2)
        if row[table.BEGIN] < 0:
            slots = self._pool[2 * int(row[table.REGION]) :][: 2 * int(row[table.REGION_CAPACITY])].reshape(-1, 2)
            return sorted((time, count) for time, count in slots.tolist() if time >= 0 and count)
        begin, end = (
            int(row[table.REGION]) * scale + int(row[bound]) * width for bound in (table.BEGIN, table.END)
        )
        entries = self._pool[begin:end].reshape(-1, width).tolist()
        if not row[table.IS_NESTED]:
            return [(time, count) for time, count in entries if count]
        graph = self._graph_of(location)
        depth = graph.depths[location - graph.first]
        return [(from_coordinates(tuple(entry[:depth])), entry[-1]) for entry in entries if entry[-1]]

    def check(self) -> None:
        """Raise AssertionError unless windows are sorted, inside their regions, and the sums of what is not zero agree.
        """
        nonzero = dict.fromkeys(self._graphs_used, 0)
        for location in range(self.locations_used):
            row = self._locations[location * LOCATION_WORDS : (location + 1) * LOCATION_WORDS]
            has_many = row[table.BEGIN] < 0
            assert has_many or row[table.BEGIN] <= row[table.END] <= row[table.REGION_CAPACITY], location
            if row[table.BEGIN] == row[table.END]:
                continue
            entries = self.entries(location)
            assert all(left[0] < right[0] for left, right in pairwise(entries)), location
            assert not has_many or len(entries) == row[table.LIVE], location
            nonzero[int(row[table.GRAPH])] += len(entries)
        for number, count in nonzero.items():
            assert count == self._graphs[number * GRAPH_WORDS + table.GRAPH_NONZERO], number
        assert sum(nonzero.values()) == self.state[table.NONZERO], (nonzero, int(self.state[table.NONZERO]))
