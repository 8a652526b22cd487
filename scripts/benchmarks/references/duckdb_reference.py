"""DuckDB's process: in-memory tables filled beforehand, only the query timed. It is asked what the tests ask it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from scripts.benchmarks.references.answers import BATCH_ROWS
from scripts.benchmarks.references.serving import answer_all, columns_read
from tests.nexmark.answers import ANSWERS, DIVIDED
from tokenring.nexmark.staging.staged import StagedEvents


def serve(folder: Path, events: int, queries: Sequence[str]) -> None:
    """Fill the tables with what the queries read, then answer what is asked."""
    staged = StagedEvents.open(folder)
    with duckdb.connect(":memory:") as database:
        database.execute(DIVIDED)
        for name in staged.streams:
            columns = ", ".join(columns_read(name, queries))
            files = str(staged.stream(name).parquet / "*.parquet")
            database.execute(
                f"CREATE TABLE {name} AS SELECT {columns} FROM read_parquet(?) WHERE event < ?", [files, events]
            )

        def answer(query: str, threads: int) -> Iterator[pa.RecordBatch]:
            database.execute(f"SET threads = {threads}")
            return iter(database.sql(ANSWERS[query]).to_arrow_reader(BATCH_ROWS))

        answer_all(answer)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
