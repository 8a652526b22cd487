"""The figures of collections as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, machine_text, table
from tokenring.nexmark.bench.sweeps import Row

_COLUMNS = ("changes/s", "p50 µs", "p99 µs", "s to load", "MB, all processes", "MB of state", "hiccup p99.9 µs")


def render(data: dict[str, Any]) -> str:
    """The whole JSON object of `tokenring bench collections`."""
    parts = [machine_text(data["machine"])]
    if not data["complete"]:
        parts.append("**Incomplete: interrupted before all was measured.**")
    parts.append(table(["workload", "workers", "rows an epoch", *_COLUMNS], [cells(row) for row in data["rows"]]))
    failed = [f"- {row['workload']}, workers {row['workers']}: {row['error']}" for row in data["rows"] if row["error"]]
    return "\n\n".join([*parts, *(["\n".join(failed)] if failed else [])])


def cells(row: Row) -> list[str]:
    """A row of the table."""
    named = [row["workload"], str(row["workers"])]
    if row["error"]:
        return [*named, "failed", *[""] * len(_COLUMNS)]
    return [
        *named,
        f"{row['epoch_rows']:,}",
        f"{row['changes_per_second']:,.0f}",
        *[figure(row[name], 1e-3) for name in ("p50_ms", "p99_ms")],
        *[figure(row.get(name)) for name in ("load_s", "rss_mb", "state_mb")],
        figure(row.get("hiccup_p999_ms"), 1e-3),
    ]
