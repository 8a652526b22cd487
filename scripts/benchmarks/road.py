"""`benchmark road`: a user's road from plain files to a table or files, whole processes, beside DuckDB and Polars."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from itertools import product
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NamedTuple

import click
import orjson

from scripts.benchmarks.measure import ASKED, INPUT, ROUNDS, WORKERS, Found, Row, benchmark, child, of_events, opened
from scripts.benchmarks.page_cache import leave_page_cache
from scripts.benchmarks.queries import QUERY, THREADS, counted
from scripts.benchmarks.references import Case, fingerprint, require_equal, require_installed
from scripts.benchmarks.references.processes import ANSWERED, FORMATS, PARQUET, TABLE, Files
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
WARM, COLD = STATES = ("warm", "cold")
BEGUN = {WARM: "From", COLD: "From cold"}
TO = {TABLE: "", PARQUET: " to Parquet files"}
_FORMAT = option("--format FORMAT...", click.Choice(tuple(FORMATS)), "[default: all]", tuple(FORMATS), "formats")
_OF_TEXT = option(
    "--text-query QUERY...", click.Choice(tuple(QUERIES)), "Those of files of text.", ("q0", "q2", "q4"), "text_queries"
)
_ANSWERS = option("--answers AS...", click.Choice(ANSWERED), "As what answers are had.", (TABLE,), "answers")
_COLD = option("--cold", None, "Files leave this machine's page cache before each run.", to="is_cold", is_flag=True)


class Way(NamedTuple):
    """How queries are answered: from which files, warm or cold, and as what. scratch: a folder for files of answers."""

    files: Files
    state: str
    answers: str
    scratch: Path


@benchmark(INPUT, WORKERS, ROUNDS, ASKED, _FORMAT, _OF_TEXT, _ANSWERS, _COLD)
def command(
    folder: Path,
    workers: tuple[int, ...],
    rounds: int,
    queries: tuple[str, ...],
    formats: tuple[str, ...],
    text_queries: tuple[str, ...],
    answers: tuple[str, ...],
    is_cold: bool,
) -> Found:
    """Queries as users write them, each in a process of its own that reads plain files and ends with a table or files.

    Of the staged folder the Parquet files alone are read, or files of text with the same rows in the same order, which
    are made before anything is measured, and removed. DuckDB and Polars' streaming engine read the same files with as
    many threads as we have workers. Whole is a process from call to exit; running is the call in it that ends with all
    rows as an Arrow table, or with the last Parquet file closed: each system writes them in its own way, all compressed
    by snappy, and we alone wait until they are on the disk. Files that are made lie beside the staged folder, and are
    removed. Before the rounds each system answers each query, we with each number of workers, and all rows of all
    answers are compared. Cold files are read from this machine's disk, which its host may keep in memory.
    """
    for system in OTHERS:
        require_installed(system)
    staged, events = opened(folder)
    rows = []
    with TemporaryDirectory(prefix="tokenring-road-", dir=folder.resolve().parent) as scratch:
        for of_format in formats:
            asked = queries if of_format == "parquet" else text_queries
            cases = [Case(system, query, count) for query in asked for count in workers for system in PROCESSES]
            with _as(of_format, Files(folder.resolve()), Path(scratch)) as files:
                for way in [Way(files, STATES[is_cold], each, Path(scratch)) for each in answers]:
                    rows += _measured(cases, way, rounds)
    return of_events(staged, events, rounds), {"verified": True, "rows": rows}


def _measured(cases: list[Case], way: Way, rounds: int) -> list[Row]:
    """The rows of one way, once all answers have been found equal."""
    most = max(case.workers for case in cases)
    once = [case for case in cases if case.system == "tokenring" or case.workers == most]
    counts = require_equal((case, answer_of(case, way)) for case in counted(once))
    outcomes = take_turns("road", cases, rounds, partial(timed, way=way), warm_up=False)
    told = {"format": way.files.format, "files": way.state, "answers": way.answers}
    return [told | row | {"rows": counts[row["query"]]} for row in summarise(outcomes)]


@contextmanager
def _as(of_format: str, parquet: Files, scratch: Path) -> Iterator[Files]:
    """The events as files of a format."""
    if of_format == parquet.format:
        yield parquet
        return
    from scripts.benchmarks.references import duckdb_process

    with TemporaryDirectory(dir=scratch) as folder:
        made = Files(Path(folder), of_format)
        duckdb_process.write(parquet, made)
        yield made


def timed(case: Case, way: Way) -> dict[str, float]:
    """The seconds of one process, whose answer is dropped."""
    if way.state == COLD:
        leave_page_cache(way.files.all())
    with TemporaryDirectory(dir=way.scratch) as folder:
        return run_one(case, way, Path(folder) / "answer" if way.answers == PARQUET else None)


def answer_of(case: Case, way: Way) -> list[int]:
    """The fingerprint of all rows."""
    from pyarrow.dataset import dataset

    with TemporaryDirectory(dir=way.scratch) as folder:
        out = Path(folder) / "answer"
        run_one(case, way, out)
        kept = dataset(out, format={TABLE: "ipc", PARQUET: "parquet"}[way.answers])
        return fingerprint(QUERIES[case.query], kept.to_batches())


def run_one(case: Case, way: Way, out: Path | None) -> dict[str, float]:
    """One process: seconds of the call that answers, and seconds from its own call to its exit. out: where the answer
    is then, a file or a folder of files; None for a table that nobody looks at."""
    asked = [case.query, "--input", str(way.files.folder), "--format", way.files.format, "--answer", way.answers]
    kept = [] if out is None else ["--out", str(out)]
    what = f"{case.system} with {case.workers} worker(s) at {case.query}"
    command = ["-m", PROCESSES[case.system], *asked, "--workers", str(case.workers), *kept]
    done = child(what, *command, POLARS_MAX_THREADS=str(case.workers))
    outcome: dict[str, float] = orjson.loads(done.out) | {"whole_s": done.wall_s}
    return outcome


def summarise(outcomes: dict[Case, list[dict[str, float]]]) -> list[Row]:
    """A row for each query and number of workers: all seconds of all systems, and how many times as fast we are as the
    better of the others, which has the lesser median; round by round."""
    rows = []
    for case in outcomes:
        if case.system != "tokenring":
            continue
        row: Row = {"query": case.query, "workers": case.workers}
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
        *[part for way in product(STATES, ANSWERED, FORMATS) for part in _table(*way, data["rows"])],
    ]


def _table(state: str, answers: str, of_format: str, all_rows: list[Row]) -> list[str]:
    """That of one way."""
    rows = [row for row in all_rows if (row["files"], row["answers"], row["format"]) == (state, answers, of_format)]
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
    titled = f"**{BEGUN[state]} {CALLED[of_format]}{TO[answers]}**"
    return [titled, table(rows, QUERY, THREADS, ("rows", "{rows:,}"), *columns, more=of_all)]
