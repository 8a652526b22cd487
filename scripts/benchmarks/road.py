"""`benchmark road`: a user's road from plain files to a table, whole processes, beside DuckDB and Polars."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import click
import orjson

from scripts.benchmarks.measure import ASKED, INPUT, ROUNDS, WORKERS, Found, Row, benchmark, child, of_events, opened
from scripts.benchmarks.queries import QUERY, THREADS, counted
from scripts.benchmarks.references import Case, fingerprint, require_equal, require_installed
from scripts.benchmarks.references.processes import FORMATS, Files
from tokenring.nexmark.bench.parts import figure, option, paired, spread, table, take_turns
from tokenring.nexmark.queries import QUERIES

PROCESSES = {
    "duckdb": "scripts.benchmarks.references.duckdb_process",
    "polars": "scripts.benchmarks.references.polars_process",
    "tokenring": "scripts.benchmarks.road_programs",
}
OTHERS = ("duckdb", "polars")
MEASURES = {"running_s": "running", "whole_s": "whole"}
CALLED = {"parquet": "Parquet files", "csv": "CSV files", "json-lines": "files of JSON lines"}
_FORMAT = option("--format FORMAT...", click.Choice(tuple(FORMATS)), "[default: all]", tuple(FORMATS), "formats")
_OF_TEXT = option(
    "--text-query QUERY...", click.Choice(tuple(QUERIES)), "Those of files of text.", ("q0", "q2", "q4"), "text_queries"
)


@benchmark(INPUT, WORKERS, ROUNDS, ASKED, _FORMAT, _OF_TEXT)
def command(
    folder: Path,
    workers: tuple[int, ...],
    rounds: int,
    queries: tuple[str, ...],
    formats: tuple[str, ...],
    text_queries: tuple[str, ...],
) -> Found:
    """Queries as users write them, each in a process of its own that reads plain files and ends with a table.

    Of the staged folder the Parquet files alone are read, or files of text with the same rows in the same order, which
    are made before anything is measured, and removed. DuckDB and Polars' streaming engine read the same files with as
    many threads as we have workers. Whole is a process from call to exit; running is the call in it that ends with all
    rows as an Arrow table. Before the rounds each system answers each query, we with each number of workers, and all
    rows of all answers are compared.
    """
    for system in OTHERS:
        require_installed(system)
    staged, events = opened(folder)
    rows = []
    for of_format in formats:
        asked = queries if of_format == "parquet" else text_queries
        cases = [Case(system, query, count) for query in asked for count in workers for system in PROCESSES]
        once = [case for case in cases if case.system == "tokenring" or case.workers == max(workers)]
        with _as(of_format, Files(folder.resolve())) as files:
            require_equal((case, answer_of(case, files)) for case in counted(once))
            outcomes = take_turns("road", cases, rounds, partial(run_one, files=files), warm_up=False)
        rows += [{"format": of_format} | row for row in summarise(outcomes)]
    return of_events(staged, events, rounds), {"verified": True, "rows": rows}


@contextmanager
def _as(of_format: str, parquet: Files) -> Iterator[Files]:
    """The events as files of a format."""
    if of_format == parquet.format:
        yield parquet
        return
    from scripts.benchmarks.references import duckdb_process

    with TemporaryDirectory(prefix="tokenring-road-") as scratch:
        made = Files(Path(scratch), of_format)
        duckdb_process.write(parquet, made)
        yield made


def run_one(case: Case, files: Files, out: Path | None = None) -> dict[str, float]:
    """One process: its rows, seconds of the call that answers, and seconds from its own call to its exit."""
    asked = [case.query, "--input", str(files.folder), "--format", files.format, "--workers", str(case.workers)]
    kept = [] if out is None else ["--out", str(out)]
    what = f"{case.system} with {case.workers} worker(s) at {case.query}"
    done = child(what, "-m", PROCESSES[case.system], *asked, *kept, POLARS_MAX_THREADS=str(case.workers))
    outcome: dict[str, float] = orjson.loads(done.out) | {"whole_s": done.wall_s}
    return outcome


def answer_of(case: Case, files: Files) -> list[int]:
    """The fingerprint of all rows."""
    import pyarrow as pa

    with TemporaryDirectory(prefix="tokenring-road-") as scratch:
        file = Path(scratch) / "answer.arrow"
        run_one(case, files, file)
        with pa.memory_map(str(file)) as mapped:
            return fingerprint(QUERIES[case.query], pa.ipc.open_file(mapped).read_all().to_batches())


def summarise(outcomes: dict[Case, list[dict[str, float]]]) -> list[Row]:
    """A row for each query and number of workers: all seconds of all systems, and how many times as fast we are as the
    better of the others, which has the lesser median; round by round."""
    rows = []
    for case, of_case in outcomes.items():
        if case.system != "tokenring":
            continue
        row: Row = {"query": case.query, "workers": case.workers, "rows": of_case[0]["rows"]}
        for measure in MEASURES:
            seconds = {
                system: [one[measure] for one in outcomes[Case(system, case.query, case.workers)]]
                for system in ("tokenring", *OTHERS)
            }
            better = min(OTHERS, key=lambda system: statistics.median(seconds[system]))
            row[measure] = {system: spread(values) | {"all": values} for system, values in seconds.items()}
            row[measure] |= {"better": better, "over_better": paired(seconds[better], seconds["tokenring"])}
        rows.append(row)
    return rows


def tables(data: dict[str, Any]) -> list[str]:
    """Seconds of each query beside the others', and the ratios to the better one, their medians and the least."""
    asked = data["parameters"]
    return [
        f"{asked['events']:,} events; seconds, medians of {asked['rounds']} rounds; ratios, median (least – greatest), "
        "are paired round by round, and more than 1 is where TokenRing takes less time; all answers equal.",
        *[part for of_format in FORMATS for part in _table(of_format, data["rows"])],
    ]


def _table(of_format: str, all_rows: list[Row]) -> list[str]:
    """That of one format."""
    rows = [row for row in all_rows if row["format"] == of_format]
    if not rows:
        return []
    of_all = []
    for workers in sorted({row["workers"] for row in rows}):
        for said, of in (("median of all", statistics.median), ("least", min)):
            ratios = [
                figure(of(row[name]["over_better"]["median"] for row in rows if row["workers"] == workers))
                for name in MEASURES
            ]
            of_all.append([said, str(workers), "", "", "", "", ratios[0], "", "", "", ratios[1]])
    columns = []
    for name, said in MEASURES.items():
        columns += [
            (f"{said} s: TokenRing", f"{name}.tokenring.median"), ("DuckDB", f"{name}.duckdb.median"),
            ("Polars", f"{name}.polars.median"), ("over the better", f"{name}.over_better"),
        ]  # fmt: skip
    titled = f"**From {CALLED[of_format]}**"
    return [titled, table(rows, QUERY, THREADS, ("rows", "{rows:,}"), *columns, more=of_all)]
