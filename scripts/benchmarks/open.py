"""`benchmark open`: every NEXMark query in an open loop at one rate, a hiccup meter beside each run."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import click

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
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.runner import Plan, run_query

CALLBACK = "callback"
LATENCIES, HICCUPS = ("p50", "p99", "p999", "max"), ("p999", "max")
EVEN_MS = 5
"""A run that holds its rate holds it evenly if its p99 is so much beyond the hiccups at most: a backlog that comes and
goes is none that grows."""


@benchmark(
    INPUT, option("--rate N", RATE, "Events a second.", 4e6), option("--duration S", SECONDS, "Of each run.", 10.0),
    WORKERS, ROUNDS, EVENTS, ASKED,
    option(
        "--callback QUERY...", click.Choice(tuple(QUERIES)), "Those of them that run with a function in Python, too.",
        ("q1", "q2", "q4", "q7", "q12"), "callbacks",
    ),
)  # fmt: skip
def command(
    folder: Path, rate: float, duration: float, workers: tuple[int, ...], rounds: int, events: int | None,
    queries: tuple[str, ...], callbacks: tuple[str, ...],
) -> Found:  # fmt: skip
    """Latency of all queries at one rate: each event due at its instant, whatever the engine does.

    The first second of a run is not measured (of a run shorter than two seconds, the first half). A run that is too
    short to tell whether it holds the rate is made again for longer, as in `latency`.

    Some queries run once more a round with a user's function in Python at the end, called by `for_each`: it notes the
    instant and how many rows it got. A result's latency runs from when the first event of its time, or behind that, was
    due, until the function has it, what the engine does to enter Python included.
    """
    _, available = opened(folder, events)
    require_events(folder, available, rate, duration)

    def run(case: Case, seconds: float) -> dict[str, Any]:
        plan = Plan(case.query, str(folder), case.workers, rate=rate, duration_s=seconds, events=available)
        return run_query(replace(plan, callback=case.system == CALLBACK))

    def measure(case: Case) -> dict[str, Any]:
        return until_decided(partial(run, case), duration, available / rate)

    cases = [Case("tokenring", query, count) for count in workers for query in queries]
    cases += [Case(CALLBACK, query, count) for count in workers for query in queries if query in callbacks]
    outcomes = take_turns("open", cases, rounds, measure, warm_up=False)
    parameters = {"events": available, "rounds": rounds, "duration_s": duration, "rate": rate, "workers": workers}
    return parameters, {"rows": summarise(outcomes)}


def summarise(outcomes: dict[Case, list[dict[str, Any]]]) -> list[Row]:
    """A row for each query and number of workers; of runs that end in Python, if there are any, it has `callback`."""
    rows = []
    for case, runs in outcomes.items():
        if case.system != CALLBACK:
            called = outcomes.get(replace(case, system=CALLBACK))
            rows.append(_of_case(case, runs) | ({} if called is None else {CALLBACK: _of_callback(called)}))
    return rows


def _of_case(case: Case, runs: list[dict[str, Any]]) -> Row:
    """Medians of the runs that held."""
    kept = ("latency_ms", "hiccups_ms", "slope", "anonymous_mb")
    return {
        "query": case.query,
        "workers": case.workers,
        **of_those_that_held(runs),
        "verdicts": [run["verdict"] for run in runs],
        "runs": [{name: run[name] for name in kept} for run in runs],
    }


def _of_callback(runs: list[dict[str, Any]]) -> Row:
    """Of runs that end in Python: how many held, and medians of these: latencies of results, calls and results a
    second; and latencies of events."""
    held = [run for run in runs if run["verdict"] == HELD]
    seen = [run["callback"] | {"seconds": run["seconds"]} for run in held]
    return {
        "held": len(held),
        "latency_ms": {name: median_of(one["latency_ms"][name] for one in seen) for name in LATENCIES},
        **{f"{name}_per_second": median_of(one[name] / one["seconds"] for one in seen) for name in ("calls", "rows")},
        "events_latency_ms": of_those_that_held(runs)["latency_ms"],
        "verdicts": [run["verdict"] for run in runs],
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
    called = [row for row in data["rows"] if CALLBACK in row]
    return [*parts, *(_into_python(called) if called else [])]


def _into_python(rows: list[Row]) -> list[str]:
    """The latencies of results, as a function in Python gets them, beside those of events without it."""
    return [
        "**Into Python**: the same with a user's function at the end, called by `for_each`. Latencies of its results, "
        "beside those of events where nobody is called.",
        table(
            rows, QUERY, ("workers", "workers"), ("runs held", "{callback[held]} of {rounds}"),
            ("calls a second", "callback.calls_per_second", 1.0), ("results a second", "callback.rows_per_second", 1.0),
            *[(f"results: {name}", f"callback.latency_ms.{name}", 1.0) for name in ("p50", "p99")],
            *[(f"events: {name}", f"latency_ms.{name}", 1.0) for name in ("p50", "p99")],
        ),
    ]  # fmt: skip
