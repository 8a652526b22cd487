"""What `benchmark road` measured, as Markdown."""

from __future__ import annotations

import statistics
from typing import Any

from scripts.benchmarks.queries_tables import ranged
from tokenring.nexmark.bench.rendering import figure, table

_SYSTEMS = ("tokenring", "duckdb", "polars")
_MEASURES = {"running_s": "running", "whole_s": "whole"}


def render_road(data: dict[str, Any]) -> list[str]:
    """Seconds of each query beside the others', and the ratios to the better one, their medians and the least."""
    rows, asked = data["rows"], data["parameters"]
    shown = [
        [row["query"].upper(), str(row["workers"]), f"{row['rows']:,}"]
        + [cell for measure in _MEASURES for cell in _cells(row[measure])]
        for row in rows
    ]
    for workers in sorted({row["workers"] for row in rows}):
        for called, of_all in (("median of all", statistics.median), ("least", min)):
            ratios = [
                figure(of_all(row[measure]["over_better"]["median"] for row in rows if row["workers"] == workers))
                for measure in _MEASURES
            ]
            shown.append([called, str(workers), "", "", "", "", ratios[0], "", "", "", ratios[1]])
    header = ["query", "workers or threads", "rows"]
    for named in _MEASURES.values():
        header += [f"{named} s: TokenRing", "DuckDB", "Polars", "over the better"]
    return [
        f"{asked['events']:,} events; seconds, medians of {asked['rounds']} rounds; ratios, median (least – greatest), "
        "are paired round by round, and more than 1 is where TokenRing takes less time; all answers equal.",
        table(header, shown),
    ]


def _cells(measured: dict[str, Any]) -> list[str]:
    return [*(figure(measured[system]["median"]) for system in _SYSTEMS), ranged(measured["over_better"])]
