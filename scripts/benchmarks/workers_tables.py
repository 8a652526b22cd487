"""What `benchmark workers` measured, as Markdown."""

from __future__ import annotations

from typing import Any

from tokenring.nexmark.bench.rendering import figure, table


def render_workers(data: dict[str, Any]) -> list[str]:
    """Three tables: kernels and the model made from them; groups of processes; segments."""
    asked = data["parameters"]
    sizes, at = asked["workers"], asked["at"]
    us = {(row["what"], row["workers"]): row["us"]["least"] for row in data["kernels"]}
    kernels = [
        [
            row["what"],
            *(figure(us[row["what"], size]) for size in sizes),
            f"{figure(row['fixed_us'])} + {row['each_us']:.3f} n" if row["each_us"] else figure(row["fixed_us"]),
            figure(row["at_us"]),
            figure(row["seen_us"]),
        ]
        for row in data["model"]
    ]
    groups = [
        [
            f"{row['workers']}{', more than cores' if row['oversubscribed'] else ''}",
            *(figure(row[name]["median"]) for name in ("wall_us", "cpu_us", "own_mb", "mapped_mb")),
        ]
        for row in data["groups"]
    ]
    segments = [
        [
            str(row["workers"]),
            f"{row['queue_bytes'] // 1024:,}",
            *(figure(row[name]) for name in ("segment_mb", "own_queues_mb")),
        ]
        for row in data["segments"]
    ]
    header = ["µs a call, of n workers", *map(str, sizes), "model", f"model at {at}", f"measured at {at}"]
    return [
        f"Groups of n workers in one process, who take turns, all with queues of {asked['queue_bytes'] // 1024} KiB; "
        f"medians of many calls, of which the least of {asked['rounds']} rounds, since a line through three points "
        "follows whatever disturbs one. The model is a line through the columns from 2 workers on, drawn out; the last "
        "column shows what it is worth:",
        table(header, kernels),
        "Groups of n processes, in each round of which everybody moves its time on and waits until all have, medians:",
        table(["workers", "µs a round", "CPU µs of a worker", "own MB", "shared MB it touched"], groups),
        "A group's segment, all of it allocated at the start, and the queues in it that one worker writes or reads:",
        table(["workers", "KiB a queue", "segment MB", "a worker's queues MB"], segments),
    ]
