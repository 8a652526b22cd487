"""`benchmark open`: every NEXMark query in an open loop at one rate, a hiccup meter beside each run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from scripts.benchmarks.measure import (
    ASKED,
    EVENTS,
    INPUT,
    RATE,
    ROUNDS,
    SECONDS,
    WORKERS,
    Found,
    Row,
    benchmark,
    opened,
)
from scripts.benchmarks.queries import QUERY
from scripts.benchmarks.references import Case
from tokenring.nexmark.bench.experiments import require_events
from tokenring.nexmark.bench.parts import Column, median_of, option, rate_text, table, take_turns, workers_text, worst
from tokenring.nexmark.measure.verdict import HELD, until_decided
from tokenring.nexmark.run.runner import Plan, run_query

LATENCIES, HICCUPS = ("p50", "p99", "p999", "max"), ("p999", "max")
EVEN_MS = 5
"""A run that holds its rate holds it evenly if its p99 is so much beyond the hiccups at most: a backlog that comes and
goes is none that grows."""


@benchmark(
    INPUT, option("--rate N", RATE, "Events a second.", 4e6), option("--duration S", SECONDS, "Of each run.", 10.0),
    WORKERS, ROUNDS, EVENTS, ASKED,
)  # fmt: skip
def command(
    folder: Path, rate: float, duration: float, workers: tuple[int, ...], rounds: int, events: int | None,
    queries: tuple[str, ...],
) -> Found:  # fmt: skip
    """Latency of all queries at one rate: each event due at its instant, whatever the engine does.

    The first second of a run is not measured (of a run shorter than two seconds, the first half). A run that is too
    short to tell whether it holds the rate is made again for longer, as in `latency`.
    """
    _, available = opened(folder, events)
    require_events(folder, available, rate, duration)

    def run(case: Case, seconds: float) -> dict[str, Any]:
        return run_query(Plan(case.query, str(folder), case.workers, rate=rate, duration_s=seconds, events=available))

    def measure(case: Case) -> dict[str, Any]:
        return until_decided(partial(run, case), duration, available / rate)

    cases = [Case("tokenring", query, count) for count in workers for query in queries]
    outcomes = take_turns("open", cases, rounds, measure, warm_up=False)
    parameters = {"events": available, "rounds": rounds, "duration_s": duration, "rate": rate, "workers": workers}
    return parameters, {"rows": [summarise(case, runs) for case, runs in outcomes.items()]}


def summarise(case: Case, runs: list[dict[str, Any]]) -> Row:
    """Medians of the runs that held."""
    kept = ("latency_ms", "hiccups_ms", "slope", "anonymous_mb")
    return {
        "query": case.query,
        "workers": case.workers,
        **of_those_that_held(runs),
        "verdicts": [run["verdict"] for run in runs],
        "runs": [{name: run[name] for name in kept} for run in runs],
    }


def of_those_that_held(runs: list[dict[str, Any]]) -> Row:
    """How many of the runs kept up with their rate, so that their backlog did not grow, how many of these evenly, and
    their medians."""
    held = [run for run in runs if run["verdict"] == HELD]
    beyond = [run["latency_ms"]["p99"] - worst(run["hiccups_ms"])["p999"] for run in held]
    return {
        "rounds": len(runs),
        "held": len(held),
        "even": sum([each <= EVEN_MS for each in beyond]),
        "latency_ms": {name: median_of(run["latency_ms"][name] for run in held) for name in LATENCIES},
        "hiccup_ms": {name: median_of(worst(run["hiccups_ms"])[name] for run in held) for name in HICCUPS},
    }


def latencies(unit: float) -> tuple[Column, ...]:
    """Columns of what held: how often, latencies, hiccups."""
    return (
        ("runs held", "{held} of {rounds}"),
        *[(name.replace("p999", "p99.9"), f"latency_ms.{name}", unit) for name in LATENCIES],
        *[(f"hiccup {name}".replace("p999", "p99.9"), f"hiccup_ms.{name}", unit) for name in HICCUPS],
    )


def tables(data: dict[str, Any]) -> list[str]:
    """A table for each number of workers, a row a query: how many runs held the rate, and their latencies beside the
    hiccups."""
    asked = data["parameters"]
    parts = [
        f"{rate_text(asked['rate'])}, runs of {asked['duration_s']:g} s; medians of runs that held, of "
        f"{asked['rounds']} rounds; latencies and hiccups in ms. “Evenly” are those whose p99 is at most {EVEN_MS} ms "
        f"beyond the hiccups' p99.9."
    ]
    held, *others = latencies(1.0)
    for workers in asked["workers"]:
        rows = [row for row in data["rows"] if row["workers"] == workers]
        parts += [f"**{workers_text(workers)}**", table(rows, QUERY, held, ("evenly", "{even}"), *others)]
    return parts
