"""What `benchmark queries` measured, as Markdown."""

from __future__ import annotations

import statistics
from typing import Any

from tokenring.nexmark.bench.rendering import figure, table

_OTHERS = {"duckdb": "DuckDB", "polars": "Polars"}


def ranged(values: dict[str, float], unit: float = 1.0) -> str:
    """Median (least to greatest)."""
    return f"{figure(values['median'], unit)} ({figure(values['least'], unit)} – {figure(values['greatest'], unit)})"


def render_queries(data: dict[str, Any]) -> list[str]:
    """Throughput beside the others', and what a second worker gains, where one alone was measured too."""
    rows, asked = data["rows"], data["parameters"]
    others = [system for system in _OTHERS if f"over_{system}" in rows[0]]
    shown = [
        [
            row["query"].upper(),
            str(row["workers"]),
            ranged(row["events_per_second"], 1e6),
            *(figure(row[f"{system}_events_per_second"]["median"], 1e6) for system in others),
            *(ranged(row[f"over_{system}"]) for system in others),
        ]
        for row in rows
    ]
    for workers in sorted({row["workers"] for row in rows}):
        medians = [
            figure(statistics.median(row[f"over_{system}"]["median"] for row in rows if row["workers"] == workers))
            for system in others
        ]
        shown.append(["median of all", str(workers), "", *("" for _ in others), *medians])
    names = [_OTHERS[system] for system in others]
    parts = [
        f"{asked['events']:,} events; median (least – greatest) of {asked['rounds']} rounds; M events/s; ratios are "
        "paired round by round.",
        table(["query", "workers or threads", "TokenRing", *names, *(f"over {name}" for name in names)], shown),
    ]
    gains = [
        [row["query"].upper(), str(row["workers"])]
        + [ranged(row[f"{system}_over_one"]) for system in ("tokenring", *others)]
        for row in rows
        if "tokenring_over_one" in row
    ]
    if gains:
        parts += [
            "As many workers or threads as cores, over one:",
            table(["query", "workers or threads", "TokenRing", *names], gains),
        ]
    return parts
