"""to_parquet, to_arrow_files, to_csv, to_json_lines: a stream's rows as a folder of files, one a worker."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import orjson

from tokenring.engine import Batch, GraphError, Probe, Schema, SchemaError, Stream, Time, UsageError
from tokenring.engine.arguments import whole_number
from tokenring.operators.migrate import saving_of
from tokenring.operators.sinks.publication import Commit, PartWriter, checked_commit, publish
from tokenring.operators.sinks.rolling import Roll, roll_files

_ROWS_AT_ONCE = 1 << 17
_COMPRESSIONS = ("snappy", "zstd", "gzip", "brotli", "lz4", "lz4_raw", "none")


class _Gathering:
    """Gathers small messages, and writes `rows_at_once` rows or more at a time."""

    def __init__(self, rows_at_once: int) -> None:
        self._rows_at_once = rows_at_once
        self._batches: list[Batch] = []
        self._rows = 0

    def write(self, time: Time, batch: Batch) -> None:
        """Keep a copy: what arrives dies with the call."""
        self._batches.append(batch.copy())
        self._rows += batch.rows
        if self._rows >= self._rows_at_once:
            self._flush()

    def advance(self, frontier: Time) -> None:
        """Files have no times."""

    def close(self) -> None:
        """Write the rest."""
        self._flush()
        self.finish()

    def _flush(self) -> None:
        if self._batches:
            batches, self._batches, self._rows = self._batches, [], 0
            self.put(Batch.concatenate(batches))

    def put(self, batch: Batch) -> None:
        """Write rows to the file."""
        raise NotImplementedError

    def finish(self) -> None:
        """End the file."""
        raise NotImplementedError


class ArrowPart(_Gathering):
    """A part that one of Arrow's own writers writes."""

    def __init__(self, writer: Any, rows_at_once: int) -> None:
        super().__init__(rows_at_once)
        self._writer = writer

    def put(self, batch: Batch) -> None:
        self._writer.write_batch(batch.to_arrow())

    def finish(self) -> None:
        self._writer.close()


class _JsonPart(_Gathering):
    """A part of lines."""

    def __init__(self, path: Path, rows_at_once: int) -> None:
        super().__init__(rows_at_once)
        self._file = open(path, "wb")  # noqa: SIM115 - closed by finish

    def put(self, batch: Batch) -> None:
        names = batch.schema.names
        columns = [_json_values(batch, name) for name in names]
        rows = [dict(zip(names, row, strict=True)) for row in zip(*columns, strict=True)]
        # A call for all rows is many times quicker than one for each. In what it gives, a newline is never part of a
        # value, so the indented form can be brought to a line a row.
        text = orjson.dumps(rows, option=orjson.OPT_INDENT_2)
        begin, between, end = b"[\n  {\n    ", b"\n  },\n  {\n    ", b"\n  }\n]"
        lines = text[len(begin) : -len(end)].replace(between, b"}\n{").replace(b",\n    ", b", ")
        self._file.write(b"{" + lines + b"}\n")

    def finish(self) -> None:
        self._file.close()


def _json_values(batch: Batch, name: str) -> list[Any]:
    """A column's values as JSON has them: times as ISO 8601 strings in UTC, dates and decimals as strings too, None
    where null."""
    kind = batch.schema.kind(name)
    if kind.is_instant:
        texts = np.datetime_as_string(batch[name], timezone="UTC").tolist()
        return [None if text.startswith("NaT") else text for text in texts]
    if kind.is_exact:
        from tokenring.engine.columns import shown

        null = kind.null if kind.nullable else None
        return [None if word == null else shown(kind, word) for word in batch.words(name).tolist()]
    return batch.arrow(name).to_pylist() if kind.is_text else batch[name].tolist()


def to_parquet(
    stream: Stream,
    folder: str | Path,
    *,
    row_group_rows: int = _ROWS_AT_ONCE,
    compression: str = "snappy",
    roll: Roll | None = None,
    commit: Commit = "snapshot",
    name: str = "to_parquet",
) -> Probe:
    """Write the stream's rows to `folder`, one Parquet file a worker (part-00000.parquet and so on), in order of
    arrival, all kinds as `schema.to_arrow()` has them. Integers and times are encoded as differences
    (DELTA_BINARY_PACKED), which readers of before 2022, such as Spark 3.2, may not know.

    The folder, which must not exist or be empty, appears whole at the end of a run that was right, wherever; a run that
    fails leaves none, and what it left hidden is removed by the next one. The probe that is returned is done once every
    part is whole and on the disk. Memory: a row group. Raises UsageError for a folder that is not empty, or, at the end
    of the run, for one that has appeared meanwhile; GraphError in a loop.

    roll: a file for each interval of time instead, that appears as soon as its times are finished, for streams that do
    not end; see `Roll`. The folder may then hold files already, and the probe has passed a time once all rows up to it
    are in place. Memory: a row group for each interval that is not finished.

    Under recovery files appear with snapshots (part-000007-00001.parquet: snapshot, worker), and each row is in one.
    commit="finished": one worker writes a file as soon as times are finished, called by the first time that is not;
    rows are there exactly once where the program makes the same rows of the same times again after a death. Memory:
    the rows of unfinished times.
    """
    row_group_rows = whole_number(f"operator {name!r}", "row_group_rows", row_group_rows)
    if not isinstance(compression, str) or compression.lower() not in _COMPRESSIONS:
        raise UsageError(f"operator {name!r}: compression is one of {', '.join(_COMPRESSIONS)}, not {compression!r}")
    return _write(stream, folder, roll, commit, name, ".parquet", parquet_parts(row_group_rows, compression))


def parquet_parts(
    row_group_rows: int = _ROWS_AT_ONCE, compression: str = "snappy"
) -> Callable[[Path, Schema], PartWriter]:
    """What writes Parquet files. Integers and times are written as differences, which takes a quarter of the time that
    dictionaries of them take, and mostly less room; other columns have dictionaries."""

    def writer(path: Path, schema: Schema) -> ArrowPart:
        import pyarrow.parquet as pq
        from pyarrow import types

        arrow = schema.to_arrow()
        whole = [field.name for field in arrow if types.is_integer(field.type) or types.is_temporal(field.type)]
        encoding = {
            "column_encoding": dict.fromkeys(whole, "DELTA_BINARY_PACKED"),
            "use_dictionary": [name for name in arrow.names if name not in whole],
        }
        return ArrowPart(pq.ParquetWriter(path, arrow, compression=compression, **encoding), row_group_rows)

    return writer


def to_arrow_files(
    stream: Stream,
    folder: str | Path,
    *,
    rows_at_once: int = _ROWS_AT_ONCE,
    roll: Roll | None = None,
    commit: Commit = "snapshot",
    name: str = "to_arrow_files",
) -> Probe:
    """The same, under recovery too, as Arrow IPC files, which can be mapped into memory. Memory: `rows_at_once` rows.
    """

    rows_at_once = whole_number(f"operator {name!r}", "rows_at_once", rows_at_once)
    return _write(stream, folder, roll, commit, name, ".arrow", arrow_parts(rows_at_once))


def arrow_parts(rows_at_once: int = _ROWS_AT_ONCE) -> Callable[[Path, Schema], PartWriter]:
    """What writes Arrow IPC files."""

    def writer(path: Path, schema: Schema) -> ArrowPart:
        import pyarrow as pa

        return ArrowPart(pa.ipc.new_file(path, schema.to_arrow()), rows_at_once)

    return writer


def to_csv(
    stream: Stream,
    folder: str | Path,
    *,
    rows_at_once: int = 1 << 12,
    roll: Roll | None = None,
    commit: Commit = "snapshot",
    name: str = "to_csv",
) -> Probe:
    """The same, under recovery too, as comma-separated values below a line of names (.csv). `read_csv` reads back what
    was written, by `quoted_newlines=True` where texts have newlines: text is in quotes, and nothing stands for a null.
    SchemaError for columns of bytes. Memory: `rows_at_once` rows.
    """
    rows_at_once = whole_number(f"operator {name!r}", "rows_at_once", rows_at_once)
    _require_no_bytes(stream.schema, name, "CSV")

    def writer(path: Path, schema: Schema) -> ArrowPart:
        from pyarrow.csv import CSVWriter

        return ArrowPart(CSVWriter(path, schema.to_arrow()), rows_at_once)

    return _write(stream, folder, roll, commit, name, ".csv", writer)


def to_json_lines(
    stream: Stream,
    folder: str | Path,
    *,
    rows_at_once: int = 1 << 12,
    roll: Roll | None = None,
    commit: Commit = "snapshot",
    name: str = "to_json_lines",
) -> Probe:
    """The same, under recovery too, as a JSON object a line (.jsonl). Timestamps are ISO 8601 strings in UTC; NaN and
    infinities, which JSON does not have, become null. SchemaError for columns of bytes. Memory: `rows_at_once` rows.
    """
    rows_at_once = whole_number(f"operator {name!r}", "rows_at_once", rows_at_once)
    _require_no_bytes(stream.schema, name, "JSON")
    writer: Callable[[Path, Schema], _JsonPart] = lambda path, schema: _JsonPart(path, rows_at_once)  # noqa: E731
    return _write(stream, folder, roll, commit, name, ".jsonl", writer)


def _require_no_bytes(schema: Schema, name: str, form: str) -> None:
    for column, kind in zip(schema.names, schema.kinds, strict=True):
        if kind.name == "bytes":
            raise SchemaError(f"operator {name!r}: column {column!r} is {kind}, which {form} cannot hold; leave it out")


def _write(
    stream: Stream,
    folder: str | Path,
    roll: Roll | None,
    commit: str,
    name: str,
    suffix: str,
    writer: Callable[[Path, Schema], PartWriter],
) -> Probe:
    saving = saving_of(stream.scope)
    finished = checked_commit(commit, name, saving is not None)
    if saving is not None:
        if roll is not None:
            raise GraphError(
                f"operator {name!r}: under recovery, files appear with snapshots: leave roll= out, and say how often "
                f"by recovery's every="
            )
        from tokenring.operators.sinks.outbox import deliver, deliver_finished

        return (deliver_finished if finished else deliver)(stream, folder, name, suffix, writer, saving)
    if roll is None:
        return publish(stream, folder, name, suffix, lambda path, schema, _: writer(path, schema))
    return roll_files(stream, folder, roll, name, suffix, writer)
