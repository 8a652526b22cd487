"""The paths of dataflows in the kernels' terms: a row of delays, or of summaries, for each target that is asked for."""

from collections.abc import Mapping

import numpy as np

from tokenring.engine.progress.layout import COORDINATES
from tokenring.engine.progress.nested_frontiers import COUNT_BITS, NO_PATH, SUMMARY_WORDS
from tokenring.engine.progress.tables import GraphTables, Tables
from tokenring.engine.times import Antichain, PathSummary
from tokenring.shm.kernels import address_of


def has_edges(graph: GraphTables) -> bool:
    """Whether the dataflow's frontiers can go along its edges: integer times, and no cycle."""
    return not graph.is_nested and graph.reachability.edges(graph.size) is not None


class CompiledPaths:
    """The paths to the locations of a worker's tables."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def to(self, target: int) -> Mapping[int, Antichain[PathSummary]]:
        """Every location with a path to `target`, itself included, with the least summaries of the ways."""
        graph = self._tables.graph_of(target)
        return {graph.first + at: found for at, found in graph.reachability.paths_to(target - graph.first).items()}

    def feeding(self, target: int) -> int:
        """The one location that an input or a probe is fed by."""
        graph = self._tables.graph_of(target)
        (origin,) = graph.reachability.origins(target - graph.first)
        return graph.first + origin

    def compile_row(self, target: int) -> None:
        """Write down the paths from every location of the dataflow to `target`, once."""
        rows = self._tables.locations["row"]
        if rows[target]:
            return
        graph = self._tables.graph_of(target)
        if graph.is_nested:
            row = np.full(graph.size, NO_PATH, np.int64)
            for origin, summaries in graph.reachability.paths_to(target - graph.first).items():
                row[origin] = self._summaries_number(graph, tuple(summaries))
            graph.rows[target] = row
        else:
            row = graph.reachability.row(target - graph.first, graph.size)
        rows[target] = address_of(row)

    def _summaries_number(self, graph: GraphTables, summaries: tuple[PathSummary, ...]) -> int:
        number = graph.summary_numbers.get(summaries)
        if number is None:
            begin = len(graph.summaries) // SUMMARY_WORDS
            number = graph.summary_numbers[summaries] = begin << COUNT_BITS | len(summaries)
            compiled = [
                [len(summary.delays), *summary.delays, *summary.then, *[0] * COORDINATES][:SUMMARY_WORDS]
                for summary in summaries
            ]
            graph.summaries = np.concatenate([graph.summaries, np.array(compiled, np.int64).ravel()])
            words = self._tables.graphs[self._tables.locations["graph"][graph.first]]
            words["summaries_address"] = address_of(graph.summaries)
            words["summaries_count"] = len(graph.summaries) // SUMMARY_WORDS
        return number
