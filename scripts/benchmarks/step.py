"""`benchmark step`: the budget of a step: its kernels, an idle step, each operator in a real run, the floor."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from scripts.benchmarks.measure import EVENTS, INPUT, RATE, SECONDS, WORKERS, Found, Row, benchmark, opened
from scripts.benchmarks.nexmark import named
from scripts.benchmarks.step_kernels import kernel_costs
from scripts.benchmarks.step_profile import profile_query
from scripts.floor import floor_rows, measure_floor
from tokenring.nexmark.bench.experiments import require_events
from tokenring.nexmark.bench.parts import figure, option, rate_text, table, workers_text
from tokenring.nexmark.run.runner import Plan
from tokenring.tools.system.progress import progress_line

_PARTS_SHOWN = 14


@benchmark(
    INPUT, option("--rates EVENTS_PER_S...", RATE, "Open loops to look into, besides the closed one.", (4e6,)),
    option("--duration S", SECONDS, "Of each run.", 2.0), WORKERS, EVENTS,
)  # fmt: skip
def command(
    folder: Path, rates: tuple[float, ...], duration: float, workers: tuple[int, ...], events: int | None
) -> Found:
    """The budget: what each part of a step costs.

    Kernels are timed in one process with nobody beside it. Queries run twice, plain and with a counter around each
    part; the floor at the same pace says what the planes alone would take.
    """
    staged, events = opened(folder, events)
    require_events(folder, events, max(rates), duration)
    rows = floor_rows(staged)
    plans = [
        Plan(query, str(folder), count, rate=rate, duration_s=None if rate is None else duration, events=events)
        for rate in [*sorted(rates), None]
        for count in workers
        for query in ("q4", "q7", "floor")
    ]
    queries: list[Row] = []
    floors: list[Row] = []
    with progress_line("step") as progress:
        kernels = kernel_costs(staged)
        for done, plan in enumerate(plans):
            if progress is not None:
                progress(done, len(plans))
            if plan.query == "floor":
                floor = measure_floor(*rows, plan.workers, plan, events)
                floors.append({"workers": plan.workers, "rate": plan.rate, **floor})
            else:
                queries.append(profile_query(plan))
    parameters = {"events": events, "duration_s": duration, "rates": sorted(rates)}
    return parameters, {"kernels": kernels, "queries": queries, "floors": floors}


def tables(data: dict[str, Any]) -> list[str]:
    """Kernels, the floor, steps against it, and the parts of each query."""
    parts = [
        "One process, nobody beside it (medians):",
        table(data["kernels"], ("call", lambda row: row["what"].replace("  ", "&nbsp;&nbsp;", 1)), ("µs", "us")),
        "The floor, a turn that sent or received something and one that did not:",
        table(
            data["floors"], ("pace", _pace), ("workers", "workers"), ("µs a busy turn", "active_step_us"),
            ("µs an idle turn", "idle_step_us"), ("p50 µs", lambda row: figure(_p50(row), 1e-3)),
        ),
        "A busy step of the engine against the floor's busy turn at the same rate:",
        _against_floor(data),
    ]  # fmt: skip
    for query in data["queries"]:
        how = f", p50 {figure(_p50(query), 1e-3)} µs uncounted" if _p50(query) else ""
        parts += [
            f"**{named(query, 'query')}, {_pace(query)}, {workers_text(query['workers'])}** "
            f"({query['events']:,} events{how}; a counter costs {query['counter_ns']:.0f} ns, which is taken off):",
            table(
                query["parts"][:_PARTS_SHOWN], ("part", "part"), ("calls", "{calls:,}"), ("own µs", "own_us"),
                ("with what it calls µs", "whole_us"), ("share of time", "{share:.1%}"),
            ),
        ]  # fmt: skip
    return parts


def _pace(row: Row) -> str:
    return rate_text(row["rate"])


def _p50(row: Row) -> float | None:
    p50: float | None = row["latency_ms"] and row["latency_ms"]["p50"]
    return p50


def _against_floor(data: dict[str, Any]) -> str:
    """Not of closed loops, whose batches are as large as may be: such a step's cost is its rows'."""
    turns = {(row["workers"], row["rate"]): row["active_step_us"] for row in data["floors"]}
    rows = [
        query | {"step_us": part["whole_us"], "turn_us": turns[query["workers"], query["rate"]]}
        for query in data["queries"]
        for part in query["parts"]
        if query["rate"] is not None and part["part"] == "step"
    ]
    return table(
        rows, ("query", lambda row: named(row, "query")), ("pace", _pace), ("workers", "workers"),
        ("µs a busy step", "step_us"), ("µs a busy turn of the floor", "turn_us"),
        ("ratio", lambda row: figure(row["step_us"] / row["turn_us"])),
    )  # fmt: skip
