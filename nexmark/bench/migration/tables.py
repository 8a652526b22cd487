"""The figures of moving state as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, machine_text, table
from tokenring.nexmark.bench.sweeps import Row

_NAMED = ["workload", "keys", "bins", "workers", "plan"]
_FIGURES = [
    *("s to move", "rows moved", "MB moved", "p99.9 before ms", "p99.9 moving ms", "spike", "max moving ms"),
    *("s above twice before", "MB before", "MB moving", "hiccup p99.9 ms"),
]


def render(data: dict[str, Any]) -> str:
    """The whole JSON object of `tokenring bench migration`."""
    parts = [machine_text(data["machine"])]
    if not data["complete"]:
        parts.append("**Incomplete: interrupted before all was measured.**")
    return "\n\n".join([*parts, *rendered(data["rows"])])


def rendered(rows: list[Row]) -> list[str]:
    """The table of moves away, half of the bins at once or in steps, and what failed."""
    failed = [f"- {row['workload']}, {row['plan']}: {row['error']}" for row in rows if row["error"]]
    done = [_cells(row) for row in rows if not row["error"]]
    return [table([*_NAMED, *_FIGURES], done), *(["\n".join(failed)] if failed else [])]


def _cells(row: Row) -> list[str]:
    """Of the move away; rows and bytes of both moves, halved."""
    away = row["away"]
    keys = "" if row["keys_log2"] is None else f"2^{row['keys_log2']}"
    return [
        *(row["workload"], keys, f"2^{row['bins_log2']}", str(row["workers"]), row["plan"]),
        figure(away["seconds"]) if row["rows_moved"] else "",
        f"{row['rows_moved'] // 2:,}",
        figure(row["bytes_moved"] / 2e6),
        *[figure(away[name]) for name in ("before_p999_ms", "during_p999_ms", "spike", "during_max_ms", "above_s")],
        *[figure(row[name]) for name in ("memory_before_mb", "memory_moving_mb", "hiccup_p999_ms")],
    ]
