"""`tokenring bench collections`: views that are kept up to date, under load and under changes."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from tokenring.nexmark.bench.sweeps import ExperimentCommand, Number
from tokenring.nexmark.commands import MAX_WORKERS
from tokenring.tools.system import at_work, json_option

if TYPE_CHECKING:
    from tokenring.nexmark.bench.sweeps import Row

NAMES = (
    "arrange, one epoch", "arrange", "count", "min", "join", "bfs", "components", "strong", "page rank", "import",
    "interactive",
)  # fmt: skip
"""Of workloads."""
_QUICK = {"scale": 0.01, "seconds": 0.2}
_WHOLE = {"scale": 1.0, "seconds": 3.0}


@click.command(
    cls=ExperimentCommand,
    short_help="Views kept up to date: changes a second and latency, by the size of epochs.",
    epilog=f"Workloads: {'; '.join(NAMES)}.",
)
@click.option(
    "--workload", "workloads", multiple=True, type=click.Choice(NAMES), metavar="NAME...", help="[default: all]"
)
@click.option(
    "--workers", multiple=True, type=click.IntRange(1, MAX_WORKERS), metavar="N...",
    help="Worker processes.  [default: 1, and one per usable core within a cgroup's quota]",
)  # fmt: skip
@click.option(
    "--scale", type=Number(0, 100, min_open=True), metavar="X", help="Times the records of each workload.  [default: 1]"
)
@click.option(
    "--seconds", type=Number(0, 3600, min_open=True), metavar="S", help="Of each size of epochs.  [default: 3]"
)
@click.option("--quick", is_flag=True, help="Small and short: to see that all works.")
@json_option("the figures")
def collections(
    workloads: tuple[str, ...],
    workers: tuple[int, ...],
    scale: float | None,
    seconds: float | None,
    quick: bool,
    json_file: Path | None,
) -> int:
    """Load records, then change them: each epoch is sent when the one before it is done (a closed loop).

    Rows: {workload, workers, epoch_rows, changes_per_second, p50_ms, p99_ms, load_s, rss_mb}, one for each size of
    epochs. Sizes are those of --scale 1: arrange, 10 M records; count, min and each side of join, 1 M; bfs and
    components, 1 M nodes and 5 M edges; strong, 100 k and 200 k; page rank, 10 k and 50 k. Keys and values are uniform
    at random. A change adds a record or takes the oldest one away; of a graph, an epoch replaces an edge. import: 10 M
    records that are arranged, looked up, and asked by dataflows that are declared later; interactive: 2,000 questions
    a second about a graph of 1 M nodes and 5 M edges, an open loop, over shared indexes and over each question's own.
    """
    from tokenring.engine.worker import default_workers

    chosen = _QUICK if quick else _WHOLE
    parameters: dict[str, Any] = {
        "workload": workloads or NAMES,
        "workers": workers or tuple(sorted({1, default_workers()})),
        "scale": scale or chosen["scale"],
        "seconds": seconds or chosen["seconds"],
    }
    rows: list[Row] = []
    asked = [(name, number) for name in parameters["workload"] for number in parameters["workers"]]
    with at_work():
        done = 0
        try:
            for done, (name, number) in enumerate(asked, 1):
                click.echo(f"bench collections: {done} of {len(asked)}: {name}, workers {number}", err=True)
                rows += measure(name, number, parameters["scale"], parameters["seconds"])
        finally:
            if rows:
                _publish(rows, done == len(asked), parameters, json_file)
    return 1 if any(row["error"] for row in rows) else 0


def measure(name: str, workers: int, scale: float, seconds: float) -> list[Row]:
    """One workload's rows; whatever it ends by, those of others are worth keeping."""
    from tokenring.nexmark.bench import collections as benches

    try:
        if name == benches.IMPORT:
            rows = benches.measured_imports(workers, scale)
        elif name == benches.INTERACTIVE:
            rows = benches.measured_interactive(workers, scale, seconds)
        else:
            rows = benches.measured(benches.sized(benches.WORKLOADS[name], scale), workers, seconds)
        return [row | {"error": None} for row in rows]
    except Exception as error:
        return [{"workload": name, "workers": workers, "error": f"{type(error).__name__}: {error}"}]


def _publish(rows: list[Row], complete: bool, parameters: dict[str, Any], json_file: Path | None) -> None:
    from tokenring.nexmark.bench.collections import render
    from tokenring.nexmark.bench.rendering import say

    say("bench-collections", rows, complete, parameters, json_file, render)
