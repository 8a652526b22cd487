"""Polars' process of `benchmark road`: lazy frames of the Parquet files, answered by its streaming engine.

Its pool has as many threads as POLARS_MAX_THREADS said when the process began.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pyarrow as pa

from scripts.benchmarks.references.polars_queries import LAZY
from scripts.benchmarks.road_process import answer_one


def answer(query: str, folder: Path, threads: int) -> pa.Table:
    """All rows of a query's answer."""
    assert threads == pl.thread_pool_size(), "it was started with others"
    frames = {stream: pl.scan_parquet(folder / f"{stream}.parquet" / "*.parquet") for stream in STREAMS}
    frame = LAZY[query](frames).collect(engine="streaming")
    return frame.to_arrow(compat_level=pl.CompatLevel.newest())


STREAMS = ("bid", "auction", "person")

if __name__ == "__main__":
    answer_one(LAZY, answer)
