"""`benchmark queries`: every NEXMark query in a closed loop, taking turns with DuckDB and Polars; all answers equal."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from scripts.benchmarks.measure import ASKED, EVENTS, INPUT, ROUNDS, WORKERS, Found, Row, benchmark, of_events, opened
from scripts.benchmarks.references import Case, Reference, fingerprint, require_equal
from tokenring.nexmark.bench.parts import Column, figure, median_of, paired, spread, table, take_turns
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.result_rows import kept_rows
from tokenring.nexmark.run.runner import Plan, run_query
from tokenring.tools.system import progress_line

REFERENCES = {"duckdb": "DuckDB", "polars": "Polars"}
QUERY: Column = ("query", lambda row: row["query"].upper())
THREADS: Column = ("workers or threads", "workers")


@benchmark(INPUT, WORKERS, ROUNDS, EVENTS, ASKED)
def command(folder: Path, workers: tuple[int, ...], rounds: int, events: int | None, queries: tuple[str, ...]) -> Found:
    """Throughput of all queries as fast as they go.

    DuckDB and Polars' streaming engine read the staged Parquet files into memory beforehand and get as many threads as
    we have workers; their rows are taken in batches and dropped, as ours are. All events count, whatever a query reads.
    They answer once, at the end of all; we answer as events come, and send each change of a changing result. Before
    the rounds each system answers each query once, and all rows of all answers are compared.
    """
    staged, events = opened(folder, events)
    cases = [
        Case(system, query, count) for query in queries for count in workers for system in ("tokenring", *REFERENCES)
    ]
    with ExitStack() as stack:
        duckdb = stack.enter_context(Reference("duckdb", folder, events, queries))
        references: dict[tuple[str, int], Reference] = {}
        for count in workers:
            references["duckdb", count] = duckdb
            references["polars", count] = stack.enter_context(Reference("polars", folder, events, queries, count))

        def measure(case: Case) -> dict[str, Any]:
            if case.system == "tokenring":
                return run_query(Plan(case.query, str(folder), case.workers, events=events))
            return references[case.system, case.workers].answer(case.query, case.workers)

        def answer(case: Case) -> list[int]:
            if case.system == "tokenring":
                return our_fingerprint(Plan(case.query, str(folder), case.workers, events=events))
            return references[case.system, case.workers].fingerprint(case.query, case.workers)

        require_equal((case, answer(case)) for case in counted(cases))
        outcomes = take_turns("queries", cases, rounds, measure, warm_up=False)
    return of_events(staged, events, rounds), {"verified": True, "rows": summarise(outcomes, events)}


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


def summarise(outcomes: dict[Case, list[dict[str, Any]]], events: int) -> list[Row]:
    """Medians, and ratios taken within each round: tokenring's throughput over the others' at as many workers, and
    each system's over its own with one worker."""
    seconds = {case: [outcome["seconds"] for outcome in of_case] for case, of_case in outcomes.items()}
    rows = []
    for case, ours in seconds.items():
        if case.system == "tokenring":
            row: Row = {"query": case.query, "workers": case.workers}
            row["events_per_second"] = spread(events / second for second in ours)
            for system in REFERENCES:
                theirs = seconds[Case(system, case.query, case.workers)]
                row[f"{system}_events_per_second"] = spread(events / second for second in theirs)
                row[f"over_{system}"] = paired(theirs, ours)
            if case.workers > 1 and Case("tokenring", case.query, 1) in seconds:
                for system in ("tokenring", *REFERENCES):
                    alone, together = (seconds[Case(system, case.query, count)] for count in (1, case.workers))
                    row[f"{system}_over_one"] = paired(alone, together)
            rows.append(row)
    return rows


def tables(data: dict[str, Any]) -> list[str]:
    """Throughput beside the others', and what a second worker gains, where one alone was measured too."""
    rows, asked = data["rows"], data["parameters"]
    others = {system: name for system, name in REFERENCES.items() if f"over_{system}" in rows[0]}
    of_all = []
    for workers in sorted({row["workers"] for row in rows}):
        ratios = [[row[f"over_{system}"]["median"] for row in rows if row["workers"] == workers] for system in others]
        blank = ["" for _ in others]
        of_all.append(["median of all", str(workers), "", *blank, *[figure(median_of(each)) for each in ratios]])
    gained = [row for row in rows if "tokenring_over_one" in row]
    gains = table(
        gained, QUERY, THREADS, ("TokenRing", "tokenring_over_one"),
        *[(name, f"{system}_over_one") for system, name in others.items()],
    )  # fmt: skip
    return [
        f"{asked['events']:,} events; median (least – greatest) of {asked['rounds']} rounds; M events/s; ratios are "
        "paired round by round.",
        table(
            rows, QUERY, THREADS, ("TokenRing", "events_per_second", 1e6),
            *[(name, f"{system}_events_per_second.median", 1e6) for system, name in others.items()],
            *[(f"over {name}", f"over_{system}") for system, name in others.items()],
            more=of_all,
        ),
        *(["As many workers or threads as cores, over one:", gains] if gained else []),
    ]  # fmt: skip
