"""`benchmark road`: a user's road from Parquet files to a table, whole processes, beside DuckDB and Polars."""

from __future__ import annotations

import statistics
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import orjson

from scripts.benchmarks.measure import ASKED, INPUT, ROUNDS, WORKERS, Found, Row, benchmark, child, of_events, opened
from scripts.benchmarks.queries import QUERY, THREADS, counted
from scripts.benchmarks.references import Case, fingerprint, require_equal, require_installed
from tokenring.nexmark.bench.parts import figure, paired, spread, table, take_turns
from tokenring.nexmark.queries import QUERIES

PROCESSES = {
    "duckdb": "scripts.benchmarks.references.duckdb_process",
    "polars": "scripts.benchmarks.references.polars_process",
    "tokenring": "scripts.benchmarks.road_programs",
}
OTHERS = ("duckdb", "polars")
MEASURES = {"running_s": "running", "whole_s": "whole"}


@benchmark(INPUT, WORKERS, ROUNDS, ASKED)
def command(folder: Path, workers: tuple[int, ...], rounds: int, queries: tuple[str, ...]) -> Found:
    """All queries as users write them, each in a process of its own that reads Parquet files and ends with a table.

    Of the staged folder the Parquet files alone are read. DuckDB and Polars' streaming engine read the same files with
    as many threads as we have workers. Whole is a process from call to exit; running is the call in it that ends with
    all rows as an Arrow table. Before the rounds each system answers each query, we with each number of workers, and
    all rows of all answers are compared.
    """
    for system in OTHERS:
        require_installed(system)
    staged, events = opened(folder)
    cases = [Case(system, query, count) for query in queries for count in workers for system in PROCESSES]
    once = [case for case in cases if case.system == "tokenring" or case.workers == max(workers)]
    require_equal((case, answer_of(case, folder)) for case in counted(once))
    outcomes = take_turns("road", cases, rounds, partial(run_one, folder=folder), warm_up=False)
    return of_events(staged, events, rounds), {"verified": True, "rows": summarise(outcomes)}


def run_one(case: Case, folder: Path, out: Path | None = None) -> dict[str, float]:
    """One process: its rows, seconds of the call that answers, and seconds from its own call to its exit."""
    asked = [case.query, "--input", str(folder.resolve()), "--workers", str(case.workers)]
    kept = [] if out is None else ["--out", str(out)]
    what = f"{case.system} with {case.workers} worker(s) at {case.query}"
    done = child(what, "-m", PROCESSES[case.system], *asked, *kept, POLARS_MAX_THREADS=str(case.workers))
    outcome: dict[str, float] = orjson.loads(done.out) | {"whole_s": done.wall_s}
    return outcome


def answer_of(case: Case, folder: Path) -> list[int]:
    """The fingerprint of all rows."""
    import pyarrow as pa

    with TemporaryDirectory(prefix="tokenring-road-") as scratch:
        file = Path(scratch) / "answer.arrow"
        run_one(case, folder, file)
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
    rows, asked = data["rows"], data["parameters"]
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
    return [
        f"{asked['events']:,} events; seconds, medians of {asked['rounds']} rounds; ratios, median (least – greatest), "
        "are paired round by round, and more than 1 is where TokenRing takes less time; all answers equal.",
        table(rows, QUERY, THREADS, ("rows", "{rows:,}"), *columns, more=of_all),
    ]
