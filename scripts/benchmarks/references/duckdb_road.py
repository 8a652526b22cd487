"""DuckDB's process of `benchmark road`: views of the Parquet files, and the query that the tests ask as well."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pyarrow as pa

from scripts.benchmarks.road_process import answer_one
from tests.nexmark.answers import ANSWERS, DIVIDED


def answer(query: str, folder: Path, threads: int) -> pa.Table:
    """All rows of a query's answer."""
    with duckdb.connect(":memory:", config={"threads": threads}) as database:
        database.execute(DIVIDED)
        for stream in ("bid", "auction", "person"):
            database.execute(f"CREATE VIEW {stream} AS SELECT * FROM '{folder / stream}.parquet/*.parquet'")
        return database.sql(ANSWERS[query]).to_arrow_table()


if __name__ == "__main__":
    answer_one(ANSWERS, answer)
