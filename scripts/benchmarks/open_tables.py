"""What `benchmark open` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, rate_text, table


def render_open(data: dict[str, Any]) -> list[str]:
    """A row a query: how many runs held the rate, and their latencies beside the hiccups."""
    asked = data["parameters"]
    rows = [
        [
            row["query"].upper(),
            f"{row['held']} of {row['rounds']}",
            *(figure(row["latency_ms"][name]) for name in ("p50", "p99", "p999", "max")),
            *(figure(row["hiccup_ms"][name]) for name in ("p999", "max")),
        ]
        for row in data["rows"]
    ]
    return [
        f"{rate_text(asked['rate'])}, {asked['workers']} workers, runs of {asked['duration_s']:g} s; medians of runs "
        f"that held, of {asked['rounds']} rounds; latencies and hiccups in ms.",
        table(["query", "runs held", "p50", "p99", "p99.9", "max", "hiccup p99.9", "hiccup max"], rows),
    ]
