"""What `benchmark scale` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, rate_text, table


def render_scale(data: dict[str, Any]) -> list[str]:
    """The two tables: times and memory by query and size; what follows for the size of one machine."""
    rows = [
        [
            row["query"].upper(),
            f"{row['events']:,}",
            *(figure(row[f"tokenring_{name}"]) for name in ("seconds", "wall_seconds", "mb")),
            *(figure(row[f"spark_{name}"]) for name in ("seconds", "wall_seconds", "mb")),
            figure(row["spark_seconds"] / row["tokenring_seconds"]),
        ]
        for row in data["rows"]
    ]
    limits = [
        [
            row["query"].upper(),
            figure(row["read_bytes_per_event"]),
            figure(row["state_bytes_per_event"]),
            *(events_text(row[name]) for name in ("events_of_both", "events_of_state")),
        ]
        for row in data["limits"]
    ]
    header = ["query", "events", "TokenRing s", "with start", "MB", "Spark s", "with start", "MB", "Spark / TokenRing"]
    return [
        f"{data['rows'][0]['workers']} workers, Spark {data['parameters']['master']}; seconds without and with the "
        "start of processes; MB that are the processes' own.",
        table(header, rows),
        f"What fills this machine's {data['memory_mb'] / 1e3:.0f} GB, drawn out from the growth between the least and "
        "the greatest size:",
        table(
            ["query", "bytes read an event", "bytes of state an event", "events, both", "events, state alone"],
            limits,
        ),
    ]


def events_text(events: float | None) -> str:
    """A number of events to two digits, or that none is known to be too many."""
    return "any number" if events is None else rate_text(float(f"{events:.2g}")).removesuffix("/s")
