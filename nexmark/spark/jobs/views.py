"""The views that the SQL of nexmark/sql/ asks, over staged Parquet files, and the settings it is meant for."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.functions import lit

from tokenring.nexmark.events import EVENT, STREAMS, Stream

_ROWS_PER_PARTITION = 500_000
_SHOWN_CHARACTERS = 300


def prepare(session: SparkSession, rows: int) -> None:
    """Settings for queries over about so many rows."""
    session.conf.set("spark.sql.ansi.enabled", "true")  # an overflow is an error, not a null
    session.conf.set("spark.sql.adaptive.enabled", "true")
    session.conf.set("spark.sql.shuffle.partitions", str(1 + rows // _ROWS_PER_PARTITION))


def batch_views(session: SparkSession, parquet: Mapping[str, str], events: int) -> None:
    """Views of the first `events` events. parquet: stream -> its Parquet files, as a path or URI."""
    for name, path in parquet.items():
        make_view(STREAMS[name], session.read.parquet(path), events)


def streaming_views(session: SparkSession, parquet: Mapping[str, str], events: int) -> None:
    """The same as streams that come a file of each at a time."""
    for name, path in parquet.items():
        schema = session.read.parquet(path).schema
        files = session.readStream.schema(schema).option("maxFilesPerTrigger", 1)
        make_view(STREAMS[name], files.parquet(path), events)


def make_view(stream: Stream, rows: DataFrame, events: int) -> None:
    """One view; text that the events lack is null in it."""
    for column in stream.string_columns:
        if column not in rows.columns:
            rows = rows.withColumn(column, lit(None).cast("string"))
    rows.filter(f"{EVENT} < {int(events)}").createOrReplaceTempView(stream.name)


def what_went_wrong(error: Exception) -> str:
    """A line that says why a query failed: the innermost cause that Spark tells."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    return (causes or lines or [type(error).__name__])[-1 if causes else 0][:_SHOWN_CHARACTERS]
