"""`benchmark open`: every NEXMark query in an open loop at one rate, a hiccup meter beside each run."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Any

from scripts.benchmarks.measure import ASKED, EVENTS, GROUP, INPUT, RATE, ROUNDS, SECONDS, Found, Row, benchmark, opened
from scripts.benchmarks.queries import QUERY
from tokenring.nexmark.bench.experiments import require_events
from tokenring.nexmark.bench.parts import Column, median_of, option, rate_text, table, take_turns, worst
from tokenring.nexmark.measure.verdict import HELD, until_decided
from tokenring.nexmark.run.runner import Plan, run_query

LATENCIES, HICCUPS = ("p50", "p99", "p999", "max"), ("p999", "max")


@benchmark(
    INPUT, option("--rate N", RATE, "Events a second.", 4e6), option("--duration S", SECONDS, "Of each run.", 2.5),
    GROUP, ROUNDS, EVENTS, ASKED,
)  # fmt: skip
def command(
    folder: Path, rate: float, duration: float, workers: int, rounds: int, events: int | None, queries: tuple[str, ...]
) -> Found:
    """Latency of all queries at one rate: each event due at its instant, whatever the engine does.

    The first second of a run is not measured (of a run shorter than two seconds, the first half). A run that is too
    short to tell whether it holds the rate is made again for longer, as in `latency`.
    """
    _, available = opened(folder, events)
    require_events(folder, available, rate, duration)

    def run(query: str, seconds: float) -> dict[str, Any]:
        return run_query(Plan(query, str(folder), workers, rate=rate, duration_s=seconds, events=available))

    def measure(query: str) -> dict[str, Any]:
        return until_decided(partial(run, query), duration, available / rate)

    outcomes = take_turns("open", queries, rounds, measure, warm_up=False)
    parameters = {"events": available, "rounds": rounds, "duration_s": duration, "rate": rate, "workers": workers}
    return parameters, {"rows": [summarise(query, runs) for query, runs in outcomes.items()]}


def summarise(query: str, runs: list[dict[str, Any]]) -> Row:
    """Medians of the runs that held."""
    kept = ("latency_ms", "hiccups_ms", "slope", "anonymous_mb")
    return {
        "query": query,
        **of_those_that_held(runs),
        "verdicts": [run["verdict"] for run in runs],
        "runs": [{name: run[name] for name in kept} for run in runs],
    }


def of_those_that_held(runs: list[dict[str, Any]]) -> Row:
    """How many of the runs kept up with their rate, so that their backlog did not grow, and the medians of these."""
    held = [run for run in runs if run["verdict"] == HELD]
    return {
        "rounds": len(runs),
        "held": len(held),
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
    """A row a query: how many runs held the rate, and their latencies beside the hiccups."""
    asked = data["parameters"]
    return [
        f"{rate_text(asked['rate'])}, {asked['workers']} workers, runs of {asked['duration_s']:g} s; medians of runs "
        f"that held, of {asked['rounds']} rounds; latencies and hiccups in ms.",
        table(data["rows"], QUERY, *latencies(1.0)),
    ]
