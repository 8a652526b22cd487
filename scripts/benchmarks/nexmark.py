"""`benchmark nexmark`: Q4 and Q7 in a closed loop, taking turns with DuckDB, numpy and the floor."""

from __future__ import annotations

import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import click
import numpy as np

from scripts.benchmarks.measure import (
    events_option,
    input_option,
    json_option,
    of_events,
    rounds_option,
    spread,
    take_turns,
    workers_option,
    write_json,
)
from scripts.benchmarks.references import DuckDB
from scripts.benchmarks.render import render
from scripts.floor import measure_floor
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.queries.q7 import WINDOW_NS
from tokenring.nexmark.run.runner import Plan, run_query
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError
from tokenring.tools.system.files import require_writable

FLOOR_ROWS = 4_000_000


@dataclass(frozen=True)
class Case:
    """One thing to measure. `query` is "floor" where only the planes run."""

    system: str
    query: str
    workers: int


@click.command(cls=ListCommand)
@input_option
@workers_option
@rounds_option
@events_option
@json_option
def command(input_folder: Path, workers: tuple[int, ...], rounds: int, events: int | None, json_file: Path) -> None:
    """Throughput: Q4 and Q7 as fast as they go.

    DuckDB reads the staged Parquet files into memory beforehand and gets as many threads as we have workers; only its
    query is timed. numpy answers Q7 on one thread (Q4 is a join, which numpy has not). All events count, whatever a
    query reads.
    """
    require_writable(json_file)
    staged = StagedEvents.open(input_folder)
    events = staged.events if events is None else min(events, staged.events)
    cases = [
        Case(system, query, count) for query in ("q4", "q7") for count in workers for system in ("tokenring", "duckdb")
    ]
    cases.append(Case("numpy", "q7", 1))
    cases += [Case("floor", "floor", count) for count in workers]
    bids = staged.stream("bid")
    taken = int(np.searchsorted(bids.column("event"), events))
    columns = {name: bids.column(name)[:taken] for name in ("auction", "price", "date_time")}
    with DuckDB(input_folder, events, ("q4", "q7")) as duckdb:

        def measure(case: Case) -> dict[str, Any]:
            if case.system == "duckdb":
                return duckdb.answer(case.query, case.workers)
            if case.system == "numpy":
                return numpy_q7(columns["date_time"], columns["price"])
            plan = Plan(case.query, str(input_folder), case.workers, events=events)
            if case.system == "floor":
                return measure_floor(
                    columns["auction"][:FLOOR_ROWS], columns["price"][:FLOOR_ROWS], case.workers, plan, events
                )
            return run_query(plan)

        outcomes = take_turns("nexmark", cases, rounds, measure)
    require_equal(cases, outcomes)
    data = write_json(json_file, "nexmark", of_events(staged, events, rounds), summarise(cases, outcomes, events))
    click.echo(render(data))


def numpy_q7(times: np.ndarray, prices: np.ndarray) -> dict[str, Any]:
    """Q7 with numpy on one thread: runs of rows in one window, then windows."""
    start_s = time.monotonic()
    ends = (times // WINDOW_NS + 1) * WINDOW_NS
    starts = np.flatnonzero(np.diff(ends, prepend=-1))
    best: dict[int, int] = {}
    if len(starts):
        for end, price in zip(ends[starts].tolist(), np.maximum.reduceat(prices, starts).tolist(), strict=True):
            best[end] = max(price, best.get(end, price))
    seconds = time.monotonic() - start_s
    return {"seconds": seconds, "result": [{"window_end": end, "price": best[end]} for end in sorted(best)]}


def require_equal(cases: list[Case], outcomes: list[list[dict[str, Any]]]) -> None:
    """All systems must have given one answer in every round: a figure for a wrong answer is worth nothing."""
    answers: dict[str, Any] = {}
    for case, of_case in zip(cases, outcomes, strict=True):
        for outcome in of_case:
            if case.query != "floor" and answers.setdefault(case.query, outcome["result"]) != outcome["result"]:
                raise CommandError(
                    f"{case.system} with {case.workers} worker(s) answers {case.query} differently; nothing was written"
                )


def summarise(cases: list[Case], outcomes: list[list[dict[str, Any]]], events: int) -> dict[str, Any]:
    """Medians, and ratios taken within each round: tokenring's throughput over the other's at as many workers."""
    seconds = {case: [outcome["seconds"] for outcome in of_case] for case, of_case in zip(cases, outcomes, strict=True)}
    figures = [
        {
            "system": case.system,
            "query": case.query,
            "workers": case.workers,
            "seconds": taken,
            "events_per_second": spread(events / second for second in taken),
        }
        for case, taken in seconds.items()
    ]
    ratios = []
    for case in cases:
        if case.system == "tokenring":
            against = {"duckdb": Case("duckdb", case.query, case.workers)}
            if case.query == "q7":
                against["numpy"] = Case("numpy", "q7", 1)
            else:  # which exchanges its rows, as the floor does; Q7 sends only windows' maxima across
                against["floor"] = Case("floor", "floor", case.workers)
            for name, other in against.items():
                paired = zip(seconds[case], seconds[other], strict=True)
                ratio = spread(theirs / ours for ours, theirs in paired)
                ratios.append({"query": case.query, "workers": case.workers, "over": name, "ratio": ratio})
    return {"verified": True, "figures": figures, "ratios": ratios}
