"""DuckDB's processes, `python -m ... serve|collections|tpch ARGUMENTS`, or a query's name for one of `benchmark road`.
It is asked what the tests ask it.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import duckdb
import orjson
import pyarrow as pa

from scripts.benchmarks.references.processes import (
    BATCH_ROWS,
    COMPRESSION,
    STREAMS,
    Files,
    answer_all,
    answer_one,
    columns_of,
    columns_read,
)
from tests.nexmark.answers import ANSWERS, DIVIDED

VIEWS = {
    "arrange, one epoch": "SELECT * FROM rows0 ORDER BY key, value",
    "count": "SELECT key, count(*) FROM rows0 GROUP BY key",
    "min": "SELECT key, min(value) FROM rows0 GROUP BY key",
    "join": "SELECT key, a.value, b.value AS other FROM rows0 a JOIN rows1 b USING (key)",
}
"""What collections keep up to date, by workload."""
_ROUNDS = 3


_READ = {
    "parquet": "'{file}/*.parquet'",
    "csv": "read_csv('{file}', header = true, types = {columns}, allow_quoted_nulls = false)",
    "json-lines": "read_json('{file}', format = 'newline_delimited', columns = {columns})",
}
_WRITTEN = {"csv": "FORMAT csv, HEADER", "json-lines": "FORMAT json"}


def road(query: str, files: Files, threads: int) -> pa.Table:
    """All rows of a query's answer."""
    with _views(files, threads) as database:
        return database.sql(ANSWERS[query]).to_arrow_table()


def to_parquet(query: str, files: Files, threads: int, file: Path) -> None:
    """Write them to a file."""
    with _views(files, threads) as database:
        database.execute(f"COPY ({ANSWERS[query]}) TO '{file}' (FORMAT parquet, COMPRESSION {COMPRESSION})")


@contextmanager
def _views(files: Files, threads: int) -> Iterator[duckdb.DuckDBPyConnection]:
    """A database with views of the files."""
    with duckdb.connect(":memory:", config={"threads": threads}) as database:
        database.execute(DIVIDED)
        for stream in STREAMS:
            columns = columns_of(stream, "BIGINT", "VARCHAR")
            read = _READ[files.format].format(file=files.of(stream), columns=columns)
            database.execute(f"CREATE VIEW {stream} AS SELECT * FROM {read}")
        yield database


def write(parquet: Files, to: Files) -> None:
    """The same rows in the same order as files of another format."""
    with duckdb.connect(":memory:") as database:
        for stream in STREAMS:
            read = _READ[parquet.format].format(file=parquet.of(stream), columns={})
            database.execute(f"COPY (FROM {read}) TO '{to.of(stream)}' ({_WRITTEN[to.format]})")


def serve(folder: str, events: str, *queries: str) -> None:
    """Fill tables in memory with what the queries read, then answer what is asked; only queries are timed."""
    from tokenring.nexmark.staging.staged import StagedEvents

    staged = StagedEvents.open(Path(folder))
    with duckdb.connect(":memory:") as database:
        database.execute(DIVIDED)
        for name in staged.streams:
            columns = ", ".join(columns_read(name, queries))
            files = str(staged.stream(name).parquet / "*.parquet")
            database.execute(
                f"CREATE TABLE {name} AS SELECT {columns} FROM read_parquet(?) WHERE event < ?", [files, int(events)]
            )

        def answer(query: str, threads: int) -> Iterator[pa.RecordBatch]:
            database.execute(f"SET threads = {threads}")
            return iter(database.sql(ANSWERS[query]).to_arrow_reader(BATCH_ROWS))

        answer_all(answer)


def collections(scale: str, threads: str, *names: str) -> dict[str, float]:
    """How long each of those views takes that DuckDB can make, from scratch and into a table."""
    from tokenring.nexmark.bench.collections import WORKLOADS, records, sized

    found = {}
    for name in [name for name in VIEWS if name in names]:
        workload = sized(WORKLOADS[name], float(scale))
        with duckdb.connect(":memory:") as database:
            database.execute(f"SET threads = {threads}")
            for stream in range(workload.streams):
                key, value = records(0, workload.records, stream, workload.keys, workload.values)
                database.register("given", pa.table({"key": key, "value": value}))
                database.execute(f"CREATE TABLE rows{stream} AS SELECT * FROM given")
                database.unregister("given")
            found[name] = _seconds(database, f"CREATE OR REPLACE TABLE result AS {VIEWS[name]}")
    return found


def tpch(folder: str, threads: str, *names: str) -> dict[str, float]:
    """How long each of TPC-H's queries takes over tables in memory."""
    from tests.examples.tpch_answers import ANSWERS as OF_TPCH

    with duckdb.connect(":memory:") as database:
        database.execute(f"SET threads = {threads}")
        for file in Path(folder).glob("*.parquet"):
            database.execute(f"CREATE TABLE {file.stem} AS SELECT * FROM read_parquet('{file}')")
        return {name: _seconds(database, OF_TPCH[name]) for name in names}


def _seconds(database: duckdb.DuckDBPyConnection, query: str) -> float:
    """The median of some runs."""
    taken = []
    for _ in range(_ROUNDS):
        start = time.perf_counter()
        database.execute(query).fetchall()
        taken.append(time.perf_counter() - start)
    return statistics.median(taken)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(*sys.argv[2:])
    elif sys.argv[1] in ("collections", "tpch"):
        sys.stdout.buffer.write(orjson.dumps({"collections": collections, "tpch": tpch}[sys.argv[1]](*sys.argv[2:])))
    else:
        answer_one(ANSWERS, road, to_parquet)
