"""What the count tables say, for explanations, checks and tests."""

from itertools import pairwise
from typing import Any

import numpy as np

from tokenring.engine.progress.layout import ENTRY_WORDS
from tokenring.engine.progress.tables import Tables
from tokenring.engine.times import from_coordinates


class TableEntries:
    """What is in a worker's tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def at(self, location: int) -> list[tuple[Any, int]]:
        """The nonzero (time, count) pairs at a location, in order."""
        tables = self._tables
        row = tables.locations[location]
        width, scale = (ENTRY_WORDS, 1) if row["is_nested"] else (2, 2)
        if row["begin"] < 0:
            slots = tables.pool[2 * int(row["region"]) :][: 2 * int(row["capacity"])].reshape(-1, 2)
            return sorted((time, count) for time, count in slots.tolist() if time >= 0 and count)
        begin, end = (
            int(row["region"]) * scale + int(row[bound]) * width for bound in ("begin", "end")
        )
        entries = tables.pool[begin:end].reshape(-1, width).tolist()
        if not row["is_nested"]:
            return [(time, count) for time, count in entries if count]
        graph = tables.graph_of(location)
        depth = graph.depths[location - graph.first]
        return [(from_coordinates(tuple(entry[:depth])), entry[-1]) for entry in entries if entry[-1]]

    def check(self) -> dict[int, list[tuple[Any, int]]]:
        """Raise AssertionError unless windows are sorted, inside their regions, and the sums of what is not zero agree.
        Returns the pairs of all locations that have some.
        """
        tables = self._tables
        rows = tables.locations[: tables.locations_used]
        is_window = (rows["begin"] <= rows["end"]) & (rows["end"] <= rows["capacity"])
        assert (is_window | (rows["begin"] < 0)).all(), np.flatnonzero(~is_window)
        nonzero = dict.fromkeys(tables.graphs_used, 0)
        found = {location: self.at(location) for location in np.flatnonzero(rows["begin"] != rows["end"]).tolist()}
        for location, entries in found.items():
            row = rows[location]
            has_many = row["begin"] < 0
            assert all(left[0] < right[0] for left, right in pairwise(entries)), location
            assert not has_many or len(entries) == row["live"], location
            nonzero[int(row["graph"])] += len(entries)
        for number, count in nonzero.items():
            assert count == tables.graphs["nonzero"][number], number
        assert sum(nonzero.values()) == tables.state.nonzero, (nonzero, tables.state.nonzero)
        return found
