"""`benchmark nexmark`: Q4 and Q7 in a closed loop, taking turns with DuckDB, numpy and the floor."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np

from scripts.benchmarks.measure import EVENTS, INPUT, ROUNDS, WORKERS, Found, Row, benchmark, of_events, opened
from scripts.benchmarks.references import Case, Reference, require_equal_results
from scripts.floor import floor_rows, measure_floor
from tokenring.nexmark.bench.parts import paired, ranged, spread, table, take_turns
from tokenring.nexmark.queries.q7 import WINDOW_NS
from tokenring.nexmark.run.runner import Plan, run_query

NAMES = {
    "tokenring": "TokenRing",
    "duckdb": "DuckDB",
    "numpy": "numpy, 1 thread",
    "floor": "the floor",
    "q4": "Q4",
    "q7": "Q7",
}


@benchmark(INPUT, WORKERS, ROUNDS, EVENTS)
def command(folder: Path, workers: tuple[int, ...], rounds: int, events: int | None) -> Found:
    """Throughput: Q4 and Q7 as fast as they go.

    DuckDB reads the staged Parquet files into memory beforehand and gets as many threads as we have workers; only its
    query is timed. numpy answers Q7 on one thread (Q4 is a join, which numpy has not). All events count, whatever a
    query reads.
    """
    staged, events = opened(folder, events)
    cases = [
        Case(system, query, count) for query in ("q4", "q7") for count in workers for system in ("tokenring", "duckdb")
    ]
    cases.append(Case("numpy", "q7", 1))
    cases += [Case("floor", "floor", count) for count in workers]
    bids = staged.stream("bid")
    taken = int(np.searchsorted(bids.column("event"), events))
    times, prices = (bids.column(name)[:taken] for name in ("date_time", "price"))
    rows = floor_rows(staged, taken)
    with Reference("duckdb", folder, events, ("q4", "q7")) as duckdb:

        def measure(case: Case) -> dict[str, Any]:
            if case.system == "duckdb":
                return duckdb.answer(case.query, case.workers)
            if case.system == "numpy":
                return numpy_q7(times, prices)
            plan = Plan(case.query, str(folder), case.workers, events=events)
            return measure_floor(*rows, case.workers, plan, events) if case.system == "floor" else run_query(plan)

        outcomes = take_turns("nexmark", cases, rounds, measure)
    require_equal_results({case: of_case for case, of_case in outcomes.items() if case.query != "floor"})
    return of_events(staged, events, rounds), summarise(outcomes, events)


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


def summarise(outcomes: dict[Case, list[dict[str, Any]]], events: int) -> dict[str, Any]:
    """Medians, and ratios taken within each round: tokenring's throughput over the other's at as many workers."""
    seconds = {case: [outcome["seconds"] for outcome in of_case] for case, of_case in outcomes.items()}
    figures = [
        {**vars(case), "seconds": taken, "events_per_second": spread(events / second for second in taken)}
        for case, taken in seconds.items()
    ]
    ratios = []
    for case, ours in seconds.items():
        if case.system == "tokenring":
            against = {"duckdb": Case("duckdb", case.query, case.workers)}
            if case.query == "q7":
                against["numpy"] = Case("numpy", "q7", 1)
            else:  # which exchanges its rows, as the floor does; Q7 sends only windows' maxima across
                against["floor"] = Case("floor", "floor", case.workers)
            for name, other in against.items():
                ratio = paired(seconds[other], ours)
                ratios.append({"query": case.query, "workers": case.workers, "over": name, "ratio": ratio})
    return {"verified": True, "figures": figures, "ratios": ratios}


def tables(data: dict[str, Any]) -> list[str]:
    """Each system's throughput, and ours over the others'."""
    asked = data["parameters"]
    return [
        f"{asked['events']:,} events; median (least – greatest) of {asked['rounds']} rounds; all answers equal.",
        table(
            data["figures"], ("query", lambda row: named(row, "query") if row["query"] != "floor" else "rows"),
            ("system", lambda row: named(row, "system")), ("workers or threads", "workers"),
            ("M events/s", "events_per_second", 1e6), ("ms", lambda row: ranged(spread(row["seconds"]), 1e-3)),
        ),
        "TokenRing's throughput over the others', paired round by round:",
        table(
            data["ratios"], ("query", lambda row: named(row, "query")), ("workers", "workers"),
            ("over", lambda row: named(row, "over")), ("ratio", "ratio"),
        ),
    ]  # fmt: skip


def named(row: Row, name: str) -> str:
    """What is called so in the row, as people call it."""
    return NAMES.get(row[name], row[name].upper())
