"""DuckDB's process: what collections keep up to date, recomputed from scratch over the same records."""

from __future__ import annotations

import statistics
import sys
import time

import duckdb
import orjson
import pyarrow as pa

from tokenring.nexmark.bench.collections import WORKLOADS, Workload, records, sized

QUERIES = {
    "arrange, one epoch": "SELECT * FROM rows0 ORDER BY key, value",
    "count": "SELECT key, count(*) FROM rows0 GROUP BY key",
    "min": "SELECT key, min(value) FROM rows0 GROUP BY key",
    "join": "SELECT key, a.value, b.value AS other FROM rows0 a JOIN rows1 b USING (key)",
}
_ROUNDS = 3


def table_of(workload: Workload, stream: int) -> pa.Table:
    """What is loaded into an input."""
    key, value = records(0, workload.records, stream, workload.keys, workload.values)
    return pa.table({"key": key, "value": value})


def seconds_of(name: str, scale: float, threads: int) -> float:
    """How long the result takes, into a table: the median."""
    workload = sized(WORKLOADS[name], scale)
    taken = []
    with duckdb.connect(":memory:") as database:
        database.execute(f"SET threads = {threads}")
        for stream in range(workload.streams):
            database.register("given", table_of(workload, stream))
            database.execute(f"CREATE TABLE rows{stream} AS SELECT * FROM given")
            database.unregister("given")
        for _ in range(_ROUNDS):
            start = time.perf_counter()
            database.execute(f"CREATE OR REPLACE TABLE result AS {QUERIES[name]}")
            taken.append(time.perf_counter() - start)
    return statistics.median(taken)


if __name__ == "__main__":
    wanted = [name for name in QUERIES if name in sys.argv[3:]]
    found = {name: seconds_of(name, float(sys.argv[1]), int(sys.argv[2])) for name in wanted}
    sys.stdout.buffer.write(orjson.dumps(found))
