"""What a process of `benchmark road` does, whichever engine's it is: answer one query once, and say how long it took.

It imports little: what it takes to start counts.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable
from pathlib import Path

import orjson
import pyarrow as pa


def answer_one(queries: Iterable[str], answer: Callable[[str, Path, int], pa.Table]) -> None:
    """Answer what the command line asks for; prints {"rows", "running_s"} as one line of JSON.

    answer(query, folder, workers) gives all rows as a table; its call is what is timed.
    """
    parser = argparse.ArgumentParser()
    parser.add_argument("query", choices=[*queries])
    parser.add_argument("--input", required=True, type=Path, help="a staged folder; only its Parquet files are read")
    parser.add_argument("--workers", type=int, default=1, help="workers, or threads")
    parser.add_argument("--out", type=Path, help="an Arrow file for the answer")
    asked = parser.parse_args()
    start_s = time.perf_counter()
    table = answer(asked.query, asked.input, asked.workers)
    running_s = time.perf_counter() - start_s
    if asked.out is not None:
        with pa.ipc.new_file(str(asked.out), table.schema) as writer:
            writer.write_table(table)
    print(orjson.dumps({"rows": table.num_rows, "running_s": running_s}).decode())
