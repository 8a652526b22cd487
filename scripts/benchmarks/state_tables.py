"""What `benchmark state` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, table


def render_state(data: dict[str, Any]) -> list[str]:
    """Bytes an event for each query, the long runs, and the keys that never come again."""
    asked, before = data["parameters"], data["parameters"]["commit"]
    fewer, more = asked["events"]
    rows = [
        [
            row["query"],
            figure(row["bytes"]["median"]),
            *([] if before is None else [figure(row["bytes_before"]["median"])]),
            figure(row["mb"]["median"]),
        ]
        for row in data["rows"]
    ]
    columns = ["query", "bytes of state an event", *([] if before is None else [f"at {before}"])]
    parts = [
        f"What the workers' own memory grows by from {fewer:,} to {more:,} events, a closed loop, {asked['workers']} "
        f"worker(s); medians of {asked['rounds']} rounds. Below some 2 bytes is what does not belong to events.",
        table([*columns, f"MB in all after {more:,}"], rows),
    ]
    if data["long"]:
        parts.append(f"{asked['long_events']:,} events, beside what the table foretells:")
        parts.append(
            table(
                ["query", "MB", "foretold", "ratio"],
                [[r["query"], figure(r["mb"]), figure(r["expected_mb"]), figure(r["ratio"])] for r in data["long"]],
            )
        )
    keys = data["keys"]
    if keys is not None:
        parts.append(
            f"Keys that never come again, counted under tumbling windows for {keys['seconds']:.0f} s "
            f"({keys['windows']:,} windows): {figure(keys['warm_mb'])} MB when warm, {figure(keys['end_mb'])} MB at "
            f"the end, {keys['grown']:+.2%}."
        )
    return parts
