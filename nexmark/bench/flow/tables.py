"""The figures of bounded regions as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, machine_text, table
from tokenring.nexmark.bench.sweeps import Row


def render(data: dict[str, Any]) -> str:
    """The whole JSON object of `tokenring bench flow`."""
    return "\n\n".join([machine_text(data["machine"]), *rendered(data["rows"])])


def rendered(rows: list[Row]) -> list[str]:
    """A table of what multiplies, one of what does not."""
    multiplied = [
        [str(row["workers"]), row["bound"], f"{row['rows_made']:,}",
         *[figure(row[name]) for name in ("peak_mb", "seconds")], figure(row["rows_per_s"], 1e6)]
        for row in rows if row["case"] == "multiplied"
    ]  # fmt: skip
    overhead = [
        [row["case"], str(row["workers"]), *[figure(row[name]) for name in ("without_s", "with_s", "ratio")]]
        for row in rows if row["case"] != "multiplied"
    ]  # fmt: skip
    return [
        table(["workers", "bound", "rows made", "peak MB above the start", "s", "M rows/s"], multiplied),
        table(["dataflow", "workers", "s without", "s with", "with / without"], overhead),
    ]
