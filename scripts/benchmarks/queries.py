"""`benchmark queries`: every NEXMark query in a closed loop, taking turns with DuckDB."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from scripts.benchmarks.duckdb_reference import DuckDB
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
from scripts.benchmarks.nexmark import Case
from scripts.benchmarks.render import render
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.runner import Plan, run_query
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError
from tokenring.tools.system.files import require_writable


@click.command(cls=ListCommand)
@input_option
@workers_option
@rounds_option
@events_option
@json_option
@click.option(
    "--query", "queries", multiple=True, type=click.Choice(tuple(QUERIES)), default=tuple(QUERIES), metavar="QUERY...",
    help="[default: all]",
)  # fmt: skip
def command(
    input_folder: Path,
    workers: tuple[int, ...],
    rounds: int,
    events: int | None,
    json_file: Path,
    queries: tuple[str, ...],
) -> None:
    """Throughput of all queries as fast as they go.

    DuckDB reads the staged Parquet files into memory beforehand and gets as many threads as we have workers; its
    query's rows are taken as Arrow batches and dropped, as ours are. All events count, whatever a query reads. DuckDB
    answers once, at the end of all; we answer as events come, and send each change of a changing result.
    """
    require_writable(json_file)
    staged = StagedEvents.open(input_folder)
    events = staged.events if events is None else min(events, staged.events)
    cases = [
        Case(system, query, count) for query in queries for count in workers for system in ("tokenring", "duckdb")
    ]
    with DuckDB(input_folder, events, queries) as duckdb:

        def measure(case: Case) -> dict[str, Any]:
            if case.system == "duckdb":
                return duckdb.answer(case.query, case.workers)
            return run_query(Plan(case.query, str(input_folder), case.workers, events=events))

        outcomes = take_turns("queries", cases, rounds, measure)
    require_alike(cases, outcomes)
    rows = summarise(cases, outcomes, events)
    data = write_json(json_file, "queries", of_events(staged, events, rounds), {"rows": rows})
    click.echo(render(data))


def require_alike(cases: list[Case], outcomes: list[list[dict[str, Any]]]) -> None:
    """As many rows as DuckDB has, and the same ones where the result is small: a figure for a wrong answer is worth
    nothing. (Of results that change, only small ones are gathered.)"""
    small: dict[str, Any] = {}
    counts: dict[str, int] = {}
    for case, of_case in zip(cases, outcomes, strict=True):
        query = QUERIES[case.query]
        for outcome in of_case:
            rows = outcome["rows"] if case.system == "duckdb" else outcome["result_rows"]
            same = small.setdefault(case.query, outcome["result"]) == outcome["result"] if query.is_small else True
            if rows is not None and (not same or counts.setdefault(case.query, rows) != rows):
                raise CommandError(
                    f"{case.system} with {case.workers} worker(s) answers {case.query} differently; nothing was written"
                )


def summarise(cases: list[Case], outcomes: list[list[dict[str, Any]]], events: int) -> list[dict[str, Any]]:
    """Medians, and ratios taken within each round: tokenring's throughput over DuckDB's at as many workers."""
    seconds = {case: [outcome["seconds"] for outcome in of_case] for case, of_case in zip(cases, outcomes, strict=True)}
    rows = []
    for case in cases:
        if case.system == "tokenring":
            ours, theirs = seconds[case], seconds[Case("duckdb", case.query, case.workers)]
            rows.append(
                {
                    "query": case.query,
                    "workers": case.workers,
                    "events_per_second": spread(events / second for second in ours),
                    "duckdb_events_per_second": spread(events / second for second in theirs),
                    "over_duckdb": spread(their / our for our, their in zip(ours, theirs, strict=True)),
                }
            )
    return rows
