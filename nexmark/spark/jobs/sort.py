"""Spark job: one global order over the three streams of foreign events, then each stream as Parquet with its `event`.

The order is by time, at one instant person < auction < bid, then all columns; so equal sources give equal folders.
"""

from __future__ import annotations

from functools import reduce
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - the name everybody knows it by

from tokenring.nexmark.events import EVENT, STREAMS, Stream
from tokenring.nexmark.spark.jobs.session import ProgressReporter, spark_job

ROWS_PER_PARTITION = 1 << 19
_ROW_BITS = 33  # of monotonically_increasing_id: the row within its partition


def _integers(stream: Stream) -> list[str]:
    return [name for name in stream.integer_columns if name != "date_time"]


_INTEGERS = max(len(_integers(stream)) for stream in STREAMS.values())
_TEXTS = max(len(stream.string_columns) for stream in STREAMS.values())


def common_shape(frame: DataFrame, stream: Stream) -> DataFrame:
    """A stream's rows as (date_time, kind, i0…, s0…), so that the streams can be one table."""
    integers: list[Any] = [F.col(name) for name in _integers(stream)]
    integers += [F.lit(0).cast("bigint")] * (_INTEGERS - len(integers))
    texts: list[Any] = [F.col(name) for name in stream.string_columns]
    texts += [F.lit(None).cast("string")] * (_TEXTS - len(texts))
    return frame.select(
        "date_time",
        F.lit(stream.rank).alias("kind"),
        *(column.alias(f"i{index}") for index, column in enumerate(integers)),
        *(column.alias(f"s{index}") for index, column in enumerate(texts)),
    )


def own_shape(frame: DataFrame, stream: Stream) -> DataFrame:
    """The inverse of `common_shape`, with `event`."""
    places = {name: f"i{index}" for index, name in enumerate(_integers(stream))}
    places |= {name: f"s{index}" for index, name in enumerate(stream.string_columns)} | {"date_time": "date_time"}
    columns = [F.col(places[column.name]).alias(column.name) for column in stream.columns]
    return frame.where(F.col("kind") == stream.rank).select(*columns, EVENT)


def main(session: SparkSession, arguments: dict[str, Any], progress: ProgressReporter) -> None:
    """Reads `<raw>/<stream>.parquet`, writes `<out>/<stream>.parquet`."""
    rows: dict[str, int] = arguments["rows"]
    total = sum(rows.values())
    partitions = arguments["partitions"] or 1 + total // ROWS_PER_PARTITION
    session.conf.set("spark.sql.shuffle.partitions", str(partitions))
    progress.start(2 * total)
    progress.step(total)
    streams = [
        common_shape(session.read.parquet(f"{arguments['raw']}/{name}.parquet"), stream)
        for name, stream in STREAMS.items()
    ]
    union = reduce(DataFrame.unionAll, streams)
    ordered = union.orderBy(*union.columns).withColumn("place", F.monotonically_increasing_id()).cache()
    # The place counts rows within a partition; a partition's first event is the number of rows in those before it.
    partition = F.shiftright("place", _ROW_BITS)
    counts = dict(ordered.groupBy(partition.alias("partition")).count().collect())
    starts, start = {}, 0
    for index in sorted(counts):
        starts[index], start = start, start + counts[index]
    if starts:
        table = F.create_map(*(F.lit(value) for pair in starts.items() for value in pair))
        event = table[partition].cast("bigint") + F.col("place").bitwiseAND((1 << _ROW_BITS) - 1)
    else:
        event = F.col("place")
    ordered = ordered.withColumn(EVENT, event)
    for name, stream in STREAMS.items():
        progress.step(rows[name])
        own_shape(ordered, stream).write.parquet(f"{arguments['out']}/{name}.parquet")


if __name__ == "__main__":
    spark_job(main)
