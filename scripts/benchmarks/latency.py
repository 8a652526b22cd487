"""`benchmark latency`: Q4 and Q7 in an open loop, taking turns with the floor, a hiccup meter beside each run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import click

from scripts.benchmarks.measure import (
    events_option,
    input_option,
    json_option,
    median_of,
    rounds_option,
    take_turns,
    workers_option,
    write_json,
)
from scripts.benchmarks.render import render
from scripts.floor import measure_floor
from tokenring.engine.worker.config import usable_cores
from tokenring.nexmark.bench.experiments import require_events
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.measure.hiccups import hiccups_ms
from tokenring.nexmark.measure.verdict import HELD, LONGEST, until_decided
from tokenring.nexmark.run.runner import HICCUP_S, Plan, run_query
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import OptionError
from tokenring.tools.system.files import require_writable

RATES = (1e5, 1e6, 4e6, 8e6, 16e6, 24e6, 32e6, 48e6)
FLOOR_ROWS = 4_000_000
LATENCIES, HICCUPS = ("p50", "p99", "p999", "max"), ("p999", "max")


@dataclass(frozen=True)
class Case:
    """One system ("q4", "q7" or "floor") at one rate."""

    system: str
    workers: int
    rate: float


@click.command(cls=ListCommand)
@input_option
@click.option(
    "--rates",
    multiple=True,
    type=click.FloatRange(0, 1e12, min_open=True),
    default=RATES,
    show_default=True,
    metavar="EVENTS_PER_S...",
)
@click.option(
    "--duration",
    type=click.FloatRange(0, 1e6, min_open=True),
    default=3.0,
    show_default=True,
    help="Seconds of each run.",
)
@workers_option
@rounds_option
@events_option
@json_option
def command(
    input_folder: Path,
    rates: tuple[float, ...],
    duration: float,
    workers: tuple[int, ...],
    rounds: int,
    events: int | None,
    json_file: Path,
) -> None:
    """Latency: each event due at its instant, whatever the engine does.

    The first second of a run is not measured (of a run shorter than two seconds, the first half). A run holds its
    rate if its backlog does not grow: nexmark/measure/verdict.py. One that is too short to tell is made again for
    longer, up to four times as long and as long as there are events.
    """
    require_writable(json_file)
    staged = StagedEvents.open(input_folder)
    available = staged.events if events is None else min(events, staged.events)
    if max(workers) > len(usable_cores()):
        raise OptionError(
            f"--workers {max(workers)}: each worker needs a core of its own here, and {len(usable_cores())} are usable"
        )
    require_events(input_folder, available, max(rates), duration)
    bids = staged.stream("bid")
    keys, values = (bids.column(name)[:FLOOR_ROWS] for name in ("auction", "price"))
    if not len(keys):
        raise OptionError(f"{input_folder} holds no bids; stage some with `tokenring stage`")
    cases = [
        Case(system, count, rate) for rate in sorted(rates) for count in workers for system in ("q4", "q7", "floor")
    ]

    def measure(case: Case) -> dict[str, Any]:
        return until_decided(partial(run, case), duration, min(LONGEST * duration, available / case.rate))

    def run(case: Case, seconds: float) -> dict[str, Any]:
        plan = Plan(case.system, str(input_folder), case.workers, rate=case.rate, duration_s=seconds, events=available)
        if case.system == "floor":
            hiccups = hiccups_ms(case.workers, HICCUP_S)
            outcome = measure_floor(keys, values, case.workers, plan, available) | {"hiccups_ms": hiccups}
        else:
            outcome = run_query(plan)
        return {
            "dnf": outcome["dnf"],
            "verdict": outcome["verdict"],
            "slope": outcome["slope"],
            "late_s": outcome["seconds"] - int(case.rate * seconds) / case.rate,
            "seconds": outcome["seconds"],
            "events_per_second": outcome["events_per_second"],
            "latency_ms": outcome["latency_ms"],
            "hiccup_ms": hiccups_of(outcome),
            "active_step_us": outcome.get("active_step_us"),
        }

    outcomes = take_turns("latency", cases, rounds, measure, warm_up=False)
    parameters = {"events": available, "rounds": rounds, "duration_s": duration, "rates": sorted(rates)}
    figures = list(summarise(cases, outcomes))
    data = write_json(json_file, "latency", parameters, {"figures": figures, "held": held(figures)})
    click.echo(render(data))


def hiccups_of(outcome: dict[str, Any]) -> dict[str, float]:
    """The worst of what the meters on a run's cores saw."""
    return {name: max(meter[name] for meter in outcome["hiccups_ms"]) for name in HICCUPS}


def holds(run: dict[str, Any]) -> bool:
    """Whether a run kept up with its rate: its backlog did not grow."""
    return bool(run["verdict"] == HELD)


def summarise(cases: list[Case], outcomes: list[list[dict[str, Any]]]) -> Iterator[dict[str, Any]]:
    """Medians of the runs that held; how much of p50 is the floor's is a ratio of medians over the same rounds."""
    p50 = {}
    for case, of_case in zip(cases, outcomes, strict=True):
        p50[case] = median_of(run["latency_ms"]["p50"] for run in of_case if holds(run))
    for case, of_case in zip(cases, outcomes, strict=True):
        held_runs = [run for run in of_case if holds(run)]
        floor = p50[Case("floor", case.workers, case.rate)]
        own = p50[case]
        yield {
            "system": case.system,
            "workers": case.workers,
            "rate": case.rate,
            "rounds": len(of_case),
            "held": len(held_runs),
            "latency_ms": {
                name: median_of(run["latency_ms"][name] for run in held_runs) for name in LATENCIES
            },
            "hiccup_ms": {name: median_of(run["hiccup_ms"][name] for run in held_runs) for name in HICCUPS},
            "p50_over_floor": own / floor if own is not None and floor else None,
            "runs": of_case,
        }


def held(figures: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """For each system and number of workers, the greatest rate up to which every run held."""
    greatest: dict[tuple[str, int], float | None] = {}
    failed: set[tuple[str, int]] = set()
    for figure in figures:  # by rising rate
        key = figure["system"], figure["workers"]
        if figure["held"] < figure["rounds"]:
            failed.add(key)
        greatest.setdefault(key, None)
        if key not in failed:
            greatest[key] = figure["rate"]
    return [
        {"system": system, "workers": workers, "rate": rate, "failed_above": (system, workers) in failed}
        for (system, workers), rate in greatest.items()
    ]
