"""`benchmark open`: every NEXMark query in an open loop at one rate, a hiccup meter beside each run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

import click

from scripts.benchmarks.latency import HICCUPS, LATENCIES, hiccups_of, holds
from scripts.benchmarks.measure import (
    events_option,
    input_option,
    json_option,
    median_of,
    queries_option,
    rounds_option,
    take_turns,
    write_json,
)
from scripts.benchmarks.render import render
from tokenring.nexmark.bench.experiments import require_events
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.measure.verdict import LONGEST, until_decided
from tokenring.nexmark.run.runner import Plan, run_query
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.system.files import require_writable


@click.command(cls=ListCommand)
@input_option
@click.option("--rate", type=click.FloatRange(0, 1e12, min_open=True), default=4e6, show_default=True)
@click.option(
    "--duration",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=2.5,
    show_default=True,
    help="Seconds of each run.",
)
@click.option("--workers", type=click.IntRange(1, 512), default=2, show_default=True, help="Worker processes.")
@rounds_option
@events_option
@json_option
@queries_option
def command(
    input_folder: Path,
    rate: float,
    duration: float,
    workers: int,
    rounds: int,
    events: int | None,
    json_file: Path,
    queries: tuple[str, ...],
) -> None:
    """Latency of all queries at one rate: each event due at its instant, whatever the engine does.

    The first second of a run is not measured (of a run shorter than two seconds, the first half). A run that is too
    short to tell whether it holds the rate is made again for longer, as in `latency`.
    """
    require_writable(json_file)
    staged = StagedEvents.open(input_folder)
    available = staged.events if events is None else min(events, staged.events)
    require_events(input_folder, available, rate, duration)

    def run(query: str, seconds: float) -> dict[str, Any]:
        return run_query(Plan(query, str(input_folder), workers, rate=rate, duration_s=seconds, events=available))

    def measure(query: str) -> dict[str, Any]:
        return until_decided(partial(run, query), duration, min(LONGEST * duration, available / rate))

    outcomes = take_turns("open", queries, rounds, measure, warm_up=False)
    parameters = {"events": available, "rounds": rounds, "duration_s": duration, "rate": rate, "workers": workers}
    rows = [summarise(query, runs) for query, runs in zip(queries, outcomes, strict=True)]
    click.echo(render(write_json(json_file, "open", parameters, {"rows": rows})))


def summarise(query: str, runs: list[dict[str, Any]]) -> dict[str, Any]:
    """Medians of the runs that held."""
    held = [run for run in runs if holds(run)]
    return {
        "query": query,
        "rounds": len(runs),
        "held": len(held),
        "verdicts": [run["verdict"] for run in runs],
        "latency_ms": {name: median_of(run["latency_ms"][name] for run in held) for name in LATENCIES},
        "hiccup_ms": {name: median_of(hiccups_of(run)[name] for run in held) for name in HICCUPS},
        "runs": [{name: run[name] for name in ("latency_ms", "hiccups_ms", "slope", "anonymous_mb")} for run in runs],
    }
