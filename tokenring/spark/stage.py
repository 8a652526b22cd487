"""stage: a DataFrame of Spark's as a staged table: Spark sorts it by time, and its rows come partition after partition.

Executors hand each batch over as the bytes of an Arrow stream, which is as quick as Spark gives rows away; they need
pyarrow, as any function of Arrow batches does, and nothing of ours.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from tokenring.engine import Schema, SchemaError, UsageError, did_you_mean
from tokenring.operators.staging import Rows, stage_rows
from tokenring.operators.time import RowOrigin

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

_WITHOUT = "or stage the files without Spark, by a schema (stage_files, --engine pyarrow)"
_CURE = f"cast it in Spark (withColumn), leave it out (drop, --columns), {_WITHOUT}"


def stage(
    dataframe: DataFrame,
    folder: str | Path,
    *,
    time: str,
    table: str | None = None,
    unique: Sequence[str] = (),
    force: bool = False,
    source: dict[str, Any] | None = None,
) -> dict[str, Any]:
    """Stage all rows of a DataFrame into `folder/table`, a folder of this machine, for `scope.read_staged`; returns the
    table's manifest. It appears whole or not at all.

    time: the column by whose values rows are put in order, a timestamp or an integer; equal ones come in any order.
    table: by default what the folder is called. unique: columns of which no two rows have the same value, which is
    checked. force: whether to replace a table. source: what the manifest says besides of where the rows are from.

    Spark evaluates the DataFrame once, as one sort. Memory of this process: a partition of the sorted rows. Raises
    SchemaError for columns that are not there or that no kind holds, two of one name, rows without a time, and values
    that are there twice, naming rows by their number in order of time; UsageError for what is no DataFrame, or a
    streaming one, and for a place that cannot be written to; whatever Spark raises.
    """
    if not hasattr(dataframe, "mapInArrow"):
        raise UsageError(
            f"stage takes a DataFrame of PySpark, as session.read.parquet(...) is, not {type(dataframe).__name__}; for "
            f"files there is tokenring.operators.staging.stage_files"
        )
    if dataframe.isStreaming:
        raise UsageError(
            "stage takes a DataFrame whose rows are all there, not a streaming one: read it by session.read in place "
            "of readStream, or stage each batch of foreachBatch into a table of its own"
        )
    schema = _arrow_schema(dataframe)
    names = schema.names
    if time not in names:
        near = did_you_mean(time, names)
        raise SchemaError(f"no column {time!r} to take times from; the columns are {', '.join(names)}{near}")
    if twice := [name for name in names if names.count(name) > 1]:
        raise SchemaError(f"two columns are called {twice[0]!r}: give each a name of its own in Spark (toDF)")
    _look_at_kinds(schema, time)
    return stage_rows(
        _rows(dataframe, time, schema), folder, time=time, table=table or Path(folder).absolute().name, unique=unique,
        force=force, source={"engine": "spark", **(source or {})},
    )  # fmt: skip


def _arrow_schema(dataframe: DataFrame) -> pa.Schema:
    """Of a DataFrame, as Spark has it. SchemaError for a column that it cannot give away."""
    from pyspark.errors import PySparkException
    from pyspark.sql.pandas.types import to_arrow_type

    where, fields = "a column (printSchema() shows which)", []
    try:
        for field in dataframe.schema:  # reading it fails at intervals of months and days
            where = f"column {field.name!r}"
            fields.append(pa.field(field.name, to_arrow_type(field.dataType), field.nullable))
    except PySparkException as error:
        raise SchemaError(f"{where}: {error}; {_CURE}") from None
    return pa.schema(fields)


def _look_at_kinds(schema: pa.Schema, time: str) -> None:
    """Refuse what no kind holds, and times that are days, by what to do about it in Spark."""
    for field in schema:
        try:
            Schema.from_arrow(pa.schema([field]))
        except SchemaError as error:
            raise SchemaError(f"{str(error).partition('; ')[0]}; {_CURE}") from None
    if pa.types.is_date(schema.field(time).type):
        raise SchemaError(
            f"times are taken from a column of timestamps or integers; {time!r} is date: cast it to timestamp in Spark "
            f"(withColumn), {_WITHOUT}"
        )


def _rows(dataframe: DataFrame, time: str, schema: pa.Schema) -> Iterator[Rows]:
    """No rows, for their schema; then all, in order of time."""

    def as_streams(batches: Iterator[Any]) -> Iterator[Any]:  # runs where Spark's Python workers are
        import pyarrow

        for batch in batches:
            out = pyarrow.BufferOutputStream()
            with pyarrow.ipc.new_stream(out, batch.schema) as stream:
                stream.write_batch(batch)
            yield pyarrow.record_batch([pyarrow.array([out.getvalue().to_pybytes()], pyarrow.binary())], ["rows"])

    def placed(first: int) -> RowOrigin:
        return lambda row: f"row {first + row} in order of {time!r}"

    first = 0
    yield Rows(pa.RecordBatch.from_pylist([], schema), placed(0), 0)
    # mapInArrow fails at names with a dot or a backtick, and at those that differ in case only.
    plain = dataframe.toDF(*[f"c{number}" for number in range(len(schema))])
    streams = plain.sort(f"c{schema.get_field_index(time)}").mapInArrow(as_streams, "rows binary")
    for (octets,) in streams.toLocalIterator(prefetchPartitions=True):
        for batch in pa.ipc.open_stream(octets):
            # Instants come in the session's zone, which is no part of them.
            columns = [values.cast(field.type) for values, field in zip(batch.columns, schema, strict=True)]
            yield Rows(pa.RecordBatch.from_arrays(columns, schema=schema), placed(first), 0)
            first += batch.num_rows
