"""Polars' process: frames in memory, filled beforehand; its streaming engine answers, batch by batch, and is timed.

Its pool has as many threads as POLARS_MAX_THREADS said when the process began.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa

from scripts.benchmarks.references.answers import BATCH_ROWS
from scripts.benchmarks.references.polars_queries import LAZY
from scripts.benchmarks.references.serving import answer_all, columns_read
from tokenring.nexmark.staging.staged import StagedEvents


def serve(folder: Path, events: int, queries: Sequence[str]) -> None:
    """Fill the frames with what the queries read, then answer what is asked."""
    staged = StagedEvents.open(folder)
    frames = {}
    for name in staged.streams:
        read = pl.scan_parquet(staged.stream(name).parquet / "*.parquet").filter(pl.col("event") < events)
        frames[name] = read.select(columns_read(name, queries)).collect(engine="streaming").rechunk().lazy()

    def answer(query: str, threads: int) -> Iterator[pa.RecordBatch]:
        assert threads == pl.thread_pool_size(), "it was started with others"
        lazy = LAZY[query](frames)
        for frame in lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False, engine="streaming"):
            yield from frame.to_arrow(compat_level=pl.CompatLevel.newest()).to_batches()

    answer_all(answer)


if __name__ == "__main__":
    serve(Path(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
