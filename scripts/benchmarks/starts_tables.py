"""What `benchmark starts` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, table


def render_starts(data: dict[str, Any]) -> list[str]:
    """One table, a row for each program and library."""
    rows = [
        [
            row["program"],
            row["library"],
            *(figure(row[name][of]) for name in ("wall_s", "processor_s") for of in ("median", "least", "greatest")),
        ]
        for row in data["rows"]
    ]
    header = ["process", "library of kernels", "wall s", "least", "greatest", "processor s", "least", "greatest"]
    return [
        f"Whole processes from call to exit, interleaved; medians of {data['parameters']['rounds']} rounds.",
        table(header, rows),
    ]
