"""`benchmark queries`: every NEXMark query in a closed loop, taking turns with DuckDB and Polars; all answers equal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click

from scripts.benchmarks.measure import (
    events_option,
    input_option,
    json_option,
    of_events,
    queries_option,
    rounds_option,
    spread,
    take_turns,
    workers_option,
    write_json,
)
from scripts.benchmarks.nexmark import Case
from scripts.benchmarks.references import DuckDB, Polars, Reference, fingerprint
from scripts.benchmarks.render import render
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.result_rows import kept_rows
from tokenring.nexmark.run.runner import Plan, run_query
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError
from tokenring.tools.system.files import require_writable
from tokenring.tools.system.progress import progress_line

REFERENCES = ("duckdb", "polars")


@click.command(cls=ListCommand)
@input_option
@workers_option
@rounds_option
@events_option
@json_option
@queries_option
def command(
    input_folder: Path,
    workers: tuple[int, ...],
    rounds: int,
    events: int | None,
    json_file: Path,
    queries: tuple[str, ...],
) -> None:
    """Throughput of all queries as fast as they go.

    DuckDB and Polars' streaming engine read the staged Parquet files into memory beforehand and get as many threads as
    we have workers; their rows are taken in batches and dropped, as ours are. All events count, whatever a query reads.
    They answer once, at the end of all; we answer as events come, and send each change of a changing result. Before
    the rounds each system answers each query once, and all rows of all answers are compared.
    """
    require_writable(json_file)
    staged = StagedEvents.open(input_folder)
    events = staged.events if events is None else min(events, staged.events)
    cases = [
        Case(system, query, count)
        for query in queries
        for count in workers
        for system in ("tokenring", *REFERENCES)
    ]
    with ExitStack() as stack:
        duckdb = stack.enter_context(DuckDB(input_folder, events, queries))
        references: dict[tuple[str, int], Reference] = {}
        for count in workers:
            references["duckdb", count] = duckdb
            references["polars", count] = stack.enter_context(Polars(input_folder, events, queries, count))

        def measure(case: Case) -> dict[str, Any]:
            if case.system == "tokenring":
                return run_query(Plan(case.query, str(input_folder), case.workers, events=events))
            return references[case.system, case.workers].answer(case.query, case.workers)

        def answer(case: Case) -> list[int]:
            if case.system == "tokenring":
                return our_fingerprint(Plan(case.query, str(input_folder), case.workers, events=events))
            return references[case.system, case.workers].fingerprint(case.query, case.workers)

        require_equal((case, answer(case)) for case in counted(cases))
        outcomes = take_turns("queries", cases, rounds, measure, warm_up=False)
    rows = summarise(cases, outcomes, events)
    data = write_json(json_file, "queries", of_events(staged, events, rounds), {"verified": True, "rows": rows})
    click.echo(render(data))


def counted(cases: list[Case]) -> Iterator[Case]:
    """The cases, with a progress line of those that are done."""
    with progress_line("answers") as progress:
        for done, case in enumerate(cases):
            if progress is not None:
                progress(done, len(cases))
            yield case


def our_fingerprint(plan: Plan) -> list[int]:
    """Run a plan and hash all rows of its answer: of a changing one, the last of each key."""
    import pyarrow as pa

    query = QUERIES[plan.query]
    with TemporaryDirectory(prefix="tokenring-answers-") as folder:
        outcome = run_query(plan, rows=None if query.is_small else Path(folder))
        if query.is_small:
            table = pa.Table.from_pylist(outcome["result"], query.result.to_arrow())
        else:
            table = kept_rows(Path(folder), query.key)
        return fingerprint(query, query.checked_as(table).to_batches())


def require_equal(answers: Iterator[tuple[Case, list[int]]]) -> None:
    """All rows of all answers are the same: a figure for a wrong answer is worth nothing."""
    first: dict[str, tuple[Case, list[int]]] = {}
    for case, found in answers:
        other, wanted = first.setdefault(case.query, (case, found))
        if found != wanted:
            raise CommandError(
                f"{case.system} with {case.workers} worker(s) answers {case.query} with {found[0]:,} rows, "
                f"{other.system} with {wanted[0]:,} that differ; nothing was written"
            )


def summarise(cases: list[Case], outcomes: list[list[dict[str, Any]]], events: int) -> list[dict[str, Any]]:
    """Medians, and ratios taken within each round: tokenring's throughput over the others' at as many workers, and
    each system's over its own with one worker."""
    seconds = {case: [outcome["seconds"] for outcome in of_case] for case, of_case in zip(cases, outcomes, strict=True)}
    rows = []
    for case in cases:
        if case.system == "tokenring":
            row: dict[str, Any] = {"query": case.query, "workers": case.workers}
            row["events_per_second"] = spread(events / second for second in seconds[case])
            for system in REFERENCES:
                theirs = seconds[Case(system, case.query, case.workers)]
                row[f"{system}_events_per_second"] = spread(events / second for second in theirs)
                row[f"over_{system}"] = ratio(theirs, seconds[case])
            if case.workers > 1 and Case("tokenring", case.query, 1) in seconds:
                for system in ("tokenring", *REFERENCES):
                    alone, together = (seconds[Case(system, case.query, count)] for count in (1, case.workers))
                    row[f"{system}_over_one"] = ratio(alone, together)
            rows.append(row)
    return rows


def ratio(theirs: list[float], ours: list[float]) -> dict[str, float]:
    """How many times as fast the second is, round by round."""
    return spread(their / our for our, their in zip(ours, theirs, strict=True))
