"""DuckDB's process: TPC-H's queries from scratch over tables in memory."""

from __future__ import annotations

import statistics
import sys
import time
from pathlib import Path

import duckdb
import orjson

from tests.examples.tpch_answers import ANSWERS

_ROUNDS = 3


def seconds_of(folder: Path, threads: int, queries: list[str]) -> dict[str, float]:
    """How long each takes: the median."""
    found = {}
    with duckdb.connect(":memory:") as database:
        database.execute(f"SET threads = {threads}")
        for file in folder.glob("*.parquet"):
            database.execute(f"CREATE TABLE {file.stem} AS SELECT * FROM read_parquet('{file}')")
        for name in queries:
            taken = []
            for _ in range(_ROUNDS):
                start = time.perf_counter()
                database.sql(ANSWERS[name]).fetchall()
                taken.append(time.perf_counter() - start)
            found[name] = statistics.median(taken)
    return found


if __name__ == "__main__":
    sys.stdout.buffer.write(orjson.dumps(seconds_of(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])))
