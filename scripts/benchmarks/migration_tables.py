"""What `benchmark migration` and `bench migration` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from scripts.benchmarks.queries_tables import ranged
from tokenring.nexmark.bench.migration.tables import rendered
from tokenring.nexmark.bench.rendering import table


def render_migration(data: dict[str, Any]) -> list[str]:
    """Throughput of each query with bins and without."""
    asked = data["parameters"]
    rows = [
        [row["query"], *[ranged(row[name], 1e6) for name in ("without", "bins")], ranged(row["ratio"])]
        for row in data["rows"]
    ]
    said = f"{asked['workers']} workers, {asked['rounds']} rounds by turns, {asked['bins']} bins, none of which moves."
    return [said, table(["query", "M events/s without bins", "with bins", "ratio"], rows)]


def render_bench_migration(data: dict[str, Any]) -> list[str]:
    """Latency while half of the bins move, by plan, and the timelines."""
    asked = data["parameters"]
    said = (
        f"Open loop, {asked['rate']:,.0f} events a second; after {asked['seconds']:g} s half of the bins go to the "
        "next worker, and later back: figures of the first move. “Spike” is p99.9 of the second of the move, or of all "
        "of it if it is longer, over that of the second before."
    )
    return [said, *rendered(data["rows"]), "![bench-migration](benchmarks/bench-migration.svg)"]

