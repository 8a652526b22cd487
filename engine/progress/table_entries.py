"""What the count tables say, for explanations, checks and tests."""

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

from tokenring.engine.progress import counts as table
from tokenring.engine.progress.counts import GRAPH_WORDS, LOCATION_WORDS
from tokenring.engine.progress.nested_counts import ENTRY_WORDS
from tokenring.engine.progress.tables import GraphTables, Tables
from tokenring.engine.times import Antichain, PathSummary, from_coordinates


class ReadableTables(Tables):
    """Tables that tell what is in them."""

    def _graph_of(self, location: int) -> GraphTables:
        return self._graphs_used[int(self._locations[location * LOCATION_WORDS + table.GRAPH])]

    def paths_to(self, target: int) -> Mapping[int, Antichain[PathSummary]]:
        """Every location with a path to `target`, itself included, with the least summaries of the ways."""
        graph = self._graph_of(target)
        return {graph.first + at: found for at, found in graph.reachability.paths_to(target - graph.first).items()}

    def feeding(self, target: int) -> int:
        """The one location that an input or a probe is fed by."""
        graph = self._graph_of(target)
        (origin,) = graph.reachability.origins(target - graph.first)
        return graph.first + origin

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
