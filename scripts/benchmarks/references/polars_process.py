"""Polars' processes, `python -m ... serve ARGUMENTS`, or a query's name for one of `benchmark road`: its streaming
engine answers. Its pool has as many threads as POLARS_MAX_THREADS said when the process began.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import polars as pl
import pyarrow as pa

from scripts.benchmarks.references.polars_queries import LAZY
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


def road(query: str, files: Files, threads: int) -> pa.Table:
    """All rows of a query's answer."""
    return _lazy(query, files, threads).collect(engine="streaming").to_arrow(compat_level=pl.CompatLevel.newest())


def to_parquet(query: str, files: Files, threads: int, file: Path) -> None:
    """Write them to a file."""
    _lazy(query, files, threads).sink_parquet(file, compression=COMPRESSION, engine="streaming")


def _lazy(query: str, files: Files, threads: int) -> pl.LazyFrame:
    """A query of lazy frames of the files."""
    assert threads == pl.thread_pool_size(), "it was started with others"
    return LAZY[query]({stream: _scan(files, stream) for stream in STREAMS})


def _scan(files: Files, stream: str) -> pl.LazyFrame:
    file = files.of(stream)
    if files.format == "parquet":
        return pl.scan_parquet(file / "*.parquet")
    columns = columns_of(stream, pl.Int64, pl.String)
    if files.format == "csv":
        return pl.scan_csv(file, schema_overrides=columns)  # a schema would go by their order
    return pl.scan_ndjson(file, schema=columns)


def serve(folder: str, events: str, *queries: str) -> None:
    """Fill frames in memory with what the queries read, then answer what is asked, batch by batch."""
    from tokenring.nexmark.staging.staged import StagedEvents

    staged = StagedEvents.open(Path(folder))
    frames = {}
    for name in staged.streams:
        read = pl.scan_parquet(staged.stream(name).parquet / "*.parquet").filter(pl.col("event") < int(events))
        frames[name] = read.select(columns_read(name, queries)).collect(engine="streaming").rechunk().lazy()

    def answer(query: str, threads: int) -> Iterator[pa.RecordBatch]:
        assert threads == pl.thread_pool_size(), "it was started with others"
        lazy = LAZY[query](frames)
        for frame in lazy.collect_batches(chunk_size=BATCH_ROWS, maintain_order=False, engine="streaming"):
            yield from frame.to_arrow(compat_level=pl.CompatLevel.newest()).to_batches()

    answer_all(answer)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve(*sys.argv[2:])
    else:
        answer_one(LAZY, road, to_parquet)
