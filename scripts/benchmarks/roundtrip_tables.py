"""What `benchmark roundtrip` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, table


def render_roundtrip(data: dict[str, Any]) -> list[str]:
    """One table, a row for each way and length of spinning."""
    asked = data["parameters"]
    rows = [
        [
            f"every {row['pause_us']} µs{', beside busy processes' if row['crowded'] else ''}"
            if row["pause_us"]
            else "one after the other",
            str(row["spin_us"]),
            *(figure(row[name]["median"]) for name in ("p50_us", "p99_us")),
            figure(100 * row["core_share"]["median"]),
            figure(100 * row["left_share"]["median"]) if row["crowded"] else "–",
        ]
        for row in sorted(data["rows"], key=lambda row: (row["pause_us"], row["crowded"], row["spin_us"]))
    ]
    header = ["round trips", "spin µs", "p50 µs", "p99 µs", "% of its core the other worker used", "% left to the busy"]
    return [
        f"A row from worker 0 to worker 1, and back the progress that says so; {asked['trips']:,} trips a run, "
        f"a tenth of them beside busy processes; medians of {asked['rounds']} rounds.",
        table(header, rows),
    ]
