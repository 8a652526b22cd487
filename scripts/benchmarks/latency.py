"""`benchmark latency`: Q4 and Q7 in an open loop, taking turns with the floor, a hiccup meter beside each run."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from scripts.benchmarks.measure import EVENTS, INPUT, RATE, ROUNDS, SECONDS, WORKERS, Found, Row, benchmark, opened
from scripts.benchmarks.nexmark import named
from scripts.benchmarks.open import latencies, of_those_that_held
from scripts.floor import floor_rows, measure_floor
from tokenring.engine.worker.config import usable_cores
from tokenring.nexmark.bench.experiments import require_events
from tokenring.nexmark.bench.parts import option, rate_text, table, take_turns, workers_text, worst
from tokenring.nexmark.measure.hiccups import hiccups_ms
from tokenring.nexmark.measure.verdict import until_decided
from tokenring.nexmark.run.runner import HICCUP_S, Plan, run_query
from tokenring.tools.errors import OptionError

RATES = (1e5, 1e6, 4e6, 8e6, 16e6, 24e6, 32e6, 48e6)


@dataclass(frozen=True)
class Case:
    """One system ("q4", "q7" or "floor") at one rate."""

    system: str
    workers: int
    rate: float


@benchmark(
    INPUT, option("--rates EVENTS_PER_S...", RATE, "Offered, one after the other.", RATES),
    option("--duration S", SECONDS, "Of each run.", 3.0), WORKERS, ROUNDS, EVENTS,
)  # fmt: skip
def command(
    folder: Path, rates: tuple[float, ...], duration: float, workers: tuple[int, ...], rounds: int, events: int | None
) -> Found:
    """Latency: each event due at its instant, whatever the engine does.

    The first second of a run is not measured (of a run shorter than two seconds, the first half). A run holds its
    rate if its backlog does not grow: nexmark/measure/verdict.py. One that is too short to tell is made again for
    longer, up to four times as long and as long as there are events.
    """
    staged, available = opened(folder, events)
    if max(workers) > len(usable_cores()):
        raise OptionError(
            f"--workers {max(workers)}: each worker needs a core of its own here, and {len(usable_cores())} are usable"
        )
    require_events(folder, available, max(rates), duration)
    rows = floor_rows(staged)
    if not len(rows[0]):
        raise OptionError(f"{folder} holds no bids; stage some with `tokenring stage`")
    cases = [
        Case(system, count, rate) for rate in sorted(rates) for count in workers for system in ("q4", "q7", "floor")
    ]

    def measure(case: Case) -> dict[str, Any]:
        return until_decided(partial(run, case), duration, available / case.rate)

    def run(case: Case, seconds: float) -> dict[str, Any]:
        plan = Plan(case.system, str(folder), case.workers, rate=case.rate, duration_s=seconds, events=available)
        if case.system == "floor":
            hiccups = hiccups_ms(case.workers, HICCUP_S)
            return measure_floor(*rows, case.workers, plan, available) | {"hiccups_ms": hiccups, "asked_s": seconds}
        return run_query(plan) | {"asked_s": seconds}

    outcomes = take_turns("latency", cases, rounds, measure, warm_up=False)
    parameters = {"events": available, "rounds": rounds, "duration_s": duration, "rates": sorted(rates)}
    figures = list(summarise(outcomes))
    return parameters, {"figures": figures, "held": held(figures)}


def summarise(outcomes: dict[Case, list[dict[str, Any]]]) -> Iterator[Row]:
    """Medians of the runs that held; how much of p50 is the floor's is a ratio of medians over the same rounds."""
    found = {case: of_those_that_held(of_case) for case, of_case in outcomes.items()}
    for case, of_case in outcomes.items():
        own, floor = (found[one]["latency_ms"]["p50"] for one in (case, Case("floor", case.workers, case.rate)))
        yield {
            **vars(case),
            **found[case],
            "p50_over_floor": own / floor if own is not None and floor else None,
            "runs": [_kept(case, run) for run in of_case],
        }


def _kept(case: Case, run: dict[str, Any]) -> Row:
    kept = ("dnf", "verdict", "slope", "seconds", "events_per_second", "latency_ms")
    return {
        **{name: run[name] for name in kept},
        "late_s": run["seconds"] - int(case.rate * run["asked_s"]) / case.rate,
        "hiccup_ms": worst(run["hiccups_ms"]),
        "active_step_us": run.get("active_step_us"),
    }


def held(figures: list[Row]) -> list[Row]:
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


def tables(data: dict[str, Any]) -> list[str]:
    """Latencies by rate, for each number of workers, and what each system held."""
    asked = data["parameters"]
    parts = [
        f"Open loop, runs of {asked['duration_s']:g} s, medians of {asked['rounds']} rounds; latencies in µs. "
        "“Hiccup” is what a process that only reads the clock sees just before the run: the 99.9th percentile of "
        "milliseconds' greatest gaps, and the greatest.",
    ]
    system = ("system", lambda row: named(row, "system"))
    for workers in sorted({row["workers"] for row in data["figures"]}):
        rows = [row for row in data["figures"] if row["workers"] == workers]
        offered = ("offered", lambda row: rate_text(row["rate"]))
        over = ("p50 over the floor's", "p50_over_floor")
        parts += [f"**{workers_text(workers)}**", table(rows, offered, system, *latencies(1e-3), over)]
    return [
        *parts,
        "The greatest rate offered up to which every run held: its backlog did not grow.",
        table(
            data["held"], system, ("workers", "workers"),
            ("held", lambda row: "none" if row["rate"] is None else rate_text(row["rate"])),
            ("may be more", lambda row: "no" if row["failed_above"] else "yes, none greater was offered"),
        ),
    ]  # fmt: skip
