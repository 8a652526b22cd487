"""What the count tables say, for explanations, checks and tests."""

from itertools import pairwise
from typing import Any

from tokenring.engine.progress import counts as table
from tokenring.engine.progress.counts import GRAPH_WORDS, LOCATION_WORDS
from tokenring.engine.progress.nested_counts import ENTRY_WORDS
from tokenring.engine.progress.tables import Tables
from tokenring.engine.times import from_coordinates


class TableEntries:
    """What is in a worker's tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def at(self, location: int) -> list[tuple[Any, int]]:
        """The nonzero (time, count) pairs at a location, in order."""
        tables = self._tables
        row = tables.locations[location * LOCATION_WORDS : (location + 1) * LOCATION_WORDS]
        width, scale = (ENTRY_WORDS, 1) if row[table.IS_NESTED] else (2, 2)
        if row[table.BEGIN] < 0:
            slots = tables.pool[2 * int(row[table.REGION]) :][: 2 * int(row[table.REGION_CAPACITY])].reshape(-1, 2)
            return sorted((time, count) for time, count in slots.tolist() if time >= 0 and count)
        begin, end = (
            int(row[table.REGION]) * scale + int(row[bound]) * width for bound in (table.BEGIN, table.END)
        )
        entries = tables.pool[begin:end].reshape(-1, width).tolist()
        if not row[table.IS_NESTED]:
            return [(time, count) for time, count in entries if count]
        graph = tables.graph_of(location)
        depth = graph.depths[location - graph.first]
        return [(from_coordinates(tuple(entry[:depth])), entry[-1]) for entry in entries if entry[-1]]

    def check(self) -> None:
        """Raise AssertionError unless windows are sorted, inside their regions, and the sums of what is not zero agree.
        """
        tables = self._tables
        nonzero = dict.fromkeys(tables.graphs_used, 0)
        for location in range(tables.locations_used):
            row = tables.locations[location * LOCATION_WORDS : (location + 1) * LOCATION_WORDS]
            has_many = row[table.BEGIN] < 0
            assert has_many or row[table.BEGIN] <= row[table.END] <= row[table.REGION_CAPACITY], location
            if row[table.BEGIN] == row[table.END]:
                continue
            entries = self.at(location)
            assert all(left[0] < right[0] for left, right in pairwise(entries)), location
            assert not has_many or len(entries) == row[table.LIVE], location
            nonzero[int(row[table.GRAPH])] += len(entries)
        for number, count in nonzero.items():
            assert count == tables.graphs[number * GRAPH_WORDS + table.GRAPH_NONZERO], number
        assert sum(nonzero.values()) == tables.state[table.NONZERO], (nonzero, int(tables.state[table.NONZERO]))
