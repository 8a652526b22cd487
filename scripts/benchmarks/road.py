"""`benchmark road`: a user's road from Parquet files to a table, whole processes, beside DuckDB and Polars."""

from __future__ import annotations

import os
import statistics
import subprocess
import sys
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import TYPE_CHECKING, Any

import click
import orjson

from scripts.benchmarks.measure import (
    ROOT,
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
from scripts.benchmarks.queries import counted, ratio
from scripts.benchmarks.references import require_installed
from scripts.benchmarks.render import render
from tokenring.nexmark.bench.sweeps import ListCommand
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.tools.errors import CommandError
from tokenring.tools.system.files import require_writable

if TYPE_CHECKING:
    import pyarrow as pa

SYSTEMS = {
    "duckdb": "scripts.benchmarks.references.duckdb_road",
    "polars": "scripts.benchmarks.references.polars_road",
    "tokenring": "scripts.benchmarks.road_programs",
}
OTHERS = ("duckdb", "polars")
MEASURES = ("running_s", "whole_s")


@click.command(cls=ListCommand)
@input_option
@workers_option
@rounds_option
@json_option
@queries_option
def command(
    input_folder: Path, workers: tuple[int, ...], rounds: int, json_file: Path, queries: tuple[str, ...]
) -> None:
    """All queries as users write them, each in a process of its own that reads Parquet files and ends with a table.

    Of the staged folder the Parquet files alone are read. DuckDB and Polars' streaming engine read the same files with
    as many threads as we have workers. Whole is a process from call to exit; running is the call in it that ends with
    all rows as an Arrow table. Before the rounds each system answers each query, we with each number of workers, and
    all rows of all answers are compared.
    """
    require_writable(json_file)
    for system in OTHERS:
        require_installed(system)
    staged = StagedEvents.open(input_folder)
    cases = [Case(system, query, count) for query in queries for count in workers for system in SYSTEMS]
    by_system = [Case(system, query, count) for query in queries for system in SYSTEMS for count in workers]
    once = [case for case in by_system if case.system == "tokenring" or case.workers == max(workers)]
    _require_equal_answers(once, input_folder)
    outcomes = take_turns("road", cases, rounds, partial(run_one, folder=input_folder), warm_up=False)
    rows = summarise(dict(zip(cases, outcomes, strict=True)))
    data = write_json(json_file, "road", of_events(staged, staged.events, rounds), {"verified": True, "rows": rows})
    click.echo(render(data))


def run_one(case: Case, folder: Path, out: Path | None = None) -> dict[str, float]:
    """One process: its rows, seconds of the call that answers, and seconds from its own call to its exit."""
    asked = [case.query, "--input", str(folder.resolve()), "--workers", str(case.workers)]
    kept = [] if out is None else ["--out", str(out)]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    start_s = perf_counter()
    done = subprocess.run(
        [sys.executable, "-m", SYSTEMS[case.system], *asked, *kept],
        cwd=ROOT,
        env=environment | {"POLARS_MAX_THREADS": str(case.workers)},
        capture_output=True,
        text=True,
        check=False,
    )
    whole_s = perf_counter() - start_s
    if done.returncode != 0:
        said = done.stderr.strip()[-500:]
        raise CommandError(f"{case.system} with {case.workers} worker(s) fails at {case.query}: {said}")
    outcome: dict[str, float] = orjson.loads(done.stdout) | {"whole_s": whole_s}
    return outcome


def _require_equal_answers(cases: list[Case], folder: Path) -> None:
    """Each case's answer is that of the first of its query, which is DuckDB's."""
    query, wanted = "", None
    for case in counted(cases):
        found = _answer(case, folder)
        if wanted is None or case.query != query:
            query, wanted = case.query, found
        else:
            require_equal(case, found, wanted)


def _answer(case: Case, folder: Path) -> pa.Table:
    """All rows, mapped from a file that is gone already."""
    import pyarrow as pa

    with TemporaryDirectory(prefix="tokenring-road-") as scratch:
        file = Path(scratch) / "answer.arrow"
        run_one(case, folder, file)
        return pa.ipc.open_file(pa.memory_map(str(file))).read_all()


def require_equal(case: Case, found: pa.Table, wanted: pa.Table) -> None:
    """All rows are the same, in whatever order: a figure for a wrong answer is worth nothing."""
    said = f"{case.system} with {case.workers} worker(s) answers {case.query}"
    names, others = sorted(found.schema.names), sorted(wanted.schema.names)
    if names != others:
        raise CommandError(f"{said} with columns {', '.join(names)} for {', '.join(others)}; nothing was written")
    differ = rows_that_differ(found, wanted)
    if differ:
        counts = f"{found.num_rows:,} rows, {OTHERS[0]} with {wanted.num_rows:,}"
        raise CommandError(f"{said} with {counts}: {differ:,} rows differ; nothing was written")


def rows_that_differ(found: pa.Table, wanted: pa.Table) -> int:
    """How many rows of either have no equal one of the other; columns by name, of types that DuckDB finds for both."""
    import duckdb

    with duckdb.connect() as database:
        database.register("found", found)
        database.register("wanted", wanted)
        both = "SELECT *, 1 AS side FROM found UNION ALL BY NAME SELECT *, -1 AS side FROM wanted"
        more = f"SELECT * EXCLUDE (side), abs(sum(side)) AS more FROM ({both}) GROUP BY ALL"
        ((differ,),) = database.execute(f"SELECT coalesce(sum(more), 0) FROM ({more})").fetchall()
        return int(differ)


def summarise(outcomes: dict[Case, list[dict[str, float]]]) -> list[dict[str, Any]]:
    """A row for each query and number of workers: all seconds of all systems, and how many times as fast we are as the
    better of the others, which has the lesser median; round by round."""
    rows = []
    for case, of_case in outcomes.items():
        if case.system != "tokenring":
            continue
        row: dict[str, Any] = {"query": case.query, "workers": case.workers, "rows": of_case[0]["rows"]}
        for measure in MEASURES:
            seconds = {
                system: [one[measure] for one in outcomes[Case(system, case.query, case.workers)]]
                for system in ("tokenring", *OTHERS)
            }
            better = min(OTHERS, key=lambda system: statistics.median(seconds[system]))
            row[measure] = {system: spread(values) | {"all": values} for system, values in seconds.items()}
            row[measure] |= {"better": better, "over_better": ratio(seconds[better], seconds["tokenring"])}
        rows.append(row)
    return rows
