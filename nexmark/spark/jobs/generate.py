"""Spark job: generates the NEXMark streams in parallel and writes them as Parquet, each row range made alone."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
from pyspark.sql import SparkSession

from tokenring.nexmark.events import EVENT, STREAMS, Generator, GeneratorConfig, string_columns
from tokenring.nexmark.spark.jobs.session import ProgressReporter, spark_job

ROWS_PER_CHUNK = 1 << 16
"""Rows of one Arrow batch: small enough for the temporary arrays to stay in the cache."""


def chunk_batch(generator: Generator, stream: str, start: int, stop: int) -> pa.RecordBatch:
    """The rows start..stop-1 of one stream with all columns in schema order, then `event`."""
    columns: dict[str, Any] = dict(generator.columns(stream, start, stop))
    columns |= string_columns(generator, stream, generator.numbers(stream, start, stop)[1])
    names = [column.name for column in STREAMS[stream].columns] + [EVENT]
    return pa.record_batch([pa.array(columns[name]) for name in names], names)


def spark_schema(stream: str) -> str:
    """The DDL of a generated stream."""
    parts = [f"{c.name} {'bigint' if c.is_integer else 'string'}" for c in STREAMS[stream].columns]
    return ", ".join([*parts, f"{EVENT} bigint"])


def chunk_maker(config: dict[str, int], stream: str) -> Callable[[Iterator[pa.RecordBatch]], Iterator[pa.RecordBatch]]:
    """The function that Spark's Python workers run: chunk numbers in, rows out."""

    def make(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        generator = Generator(GeneratorConfig(**config))
        rows = generator.rows(stream)
        for batch in batches:
            for chunk in batch.column(0).to_pylist():
                yield chunk_batch(generator, stream, chunk * ROWS_PER_CHUNK, min((chunk + 1) * ROWS_PER_CHUNK, rows))

    return make


def main(session: SparkSession, arguments: dict[str, Any], progress: ProgressReporter) -> dict[str, int]:
    """Writes `<out>/<stream>.parquet`, its part files in event order; returns the rows of each stream."""
    config: dict[str, int] = arguments["config"]
    generator = Generator(GeneratorConfig(**config))
    rows = {stream: generator.rows(stream) for stream in STREAMS}
    progress.start(sum(rows.values()))
    for stream, count in rows.items():
        progress.step(count)
        chunks = -(-count // ROWS_PER_CHUNK)
        partitions = max(1, min(chunks, arguments["partitions"] or -(-chunks // 8)))
        numbers = session.range(0, chunks, 1, partitions)
        events = numbers.mapInArrow(chunk_maker(config, stream), spark_schema(stream))
        events.write.parquet(f"{arguments['out']}/{stream}.parquet")
    return rows


if __name__ == "__main__":
    spark_job(main)
