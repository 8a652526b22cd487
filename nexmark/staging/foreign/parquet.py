"""Reads bid, auction and person Parquet that somebody else wrote: columns, types, nulls and times are checked."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenring.nexmark.errors import ForeignDataError
from tokenring.nexmark.events import I64, Column, Stream
from tokenring.nexmark.staging.foreign.checks import Intake, Where, check_texts, refuse, time_to_ns

BATCH_ROWS = 1 << 17
TEXT_BYTES = 1 << 28
_READ_ERRORS = (pa.ArrowException, OSError)


def part_files(path: Path) -> list[Path]:
    """The Parquet files of one stream: the file itself, or the part files of a folder in the order of their names."""
    if path.is_file():
        return [path]
    found = [
        part
        for part in sorted(path.rglob("*.parquet"))
        if part.is_file() and not any(name.startswith((".", "_")) for name in part.relative_to(path).parts)
    ]
    if not found:
        raise ForeignDataError(f"{path}: the folder holds no *.parquet part files")
    return found


def total_rows(files: list[Path]) -> int:
    """Rows of the files, from their footers."""
    rows = 0
    for path in files:
        with _opened(path) as file:
            rows += file.metadata.num_rows
    return rows


def read_parquet(files: list[Path], stream: Stream, unit: str, intake: Intake, advanced: Callable[[int], None]) -> None:
    """Checks the rows of one stream and hands them to the intake."""
    for path in files:
        with _opened(path) as file:
            columns = _check_schema(path, file.schema_arrow, stream)
            start = 0
            for batch in _batches(path, file, [column.name for column in columns]):
                for piece in _pieces(path, batch, columns, start):
                    intake.take(path, stream, *_normalise(path, piece, columns, unit, start))
                    start += piece.num_rows
                    advanced(piece.num_rows)


def _opened(path: Path) -> pq.ParquetFile:
    try:
        return pq.ParquetFile(path, page_checksum_verification=True)
    except _READ_ERRORS as error:
        raise ForeignDataError(f"{path}: not a whole Parquet file (truncated or damaged): {_brief(error)}") from None


def _batches(path: Path, file: pq.ParquetFile, names: list[str]) -> Iterator[pa.RecordBatch]:
    start = 0
    try:
        for batch in file.iter_batches(BATCH_ROWS, columns=names):
            start += batch.num_rows
            yield batch
    except _READ_ERRORS as error:
        raise ForeignDataError(f"{path}: damaged after row {start}: {_brief(error)}") from None


def _pieces(path: Path, batch: pa.RecordBatch, columns: list[Column], start: int) -> Iterator[pa.RecordBatch]:
    """The batch in pieces whose texts, written out, have at most TEXT_BYTES: a dictionary says much with few bytes."""
    octets = np.zeros(batch.num_rows, np.int64)
    for column in columns:
        if not column.is_integer:
            lengths = _text_lengths(batch.column(column.name))
            check_texts(path, column.name, lengths, _where(start))
            octets += lengths
    piece_of = (np.cumsum(octets) - octets) // TEXT_BYTES
    starts = [*np.flatnonzero(np.diff(piece_of, prepend=-1)).tolist(), batch.num_rows]
    for begin, end in itertools.pairwise(starts):
        yield batch.slice(begin, end - begin)


def _text_lengths(values: pa.Array) -> I64:
    """Bytes of each text, 0 for null."""
    if pa.types.is_dictionary(values.type):
        lengths = pc.binary_length(values.dictionary).take(values.indices)
    else:
        lengths = pc.binary_length(values)
    return np.asarray(lengths.cast(pa.int64()).fill_null(0))


def _where(start: int) -> Where:
    def where(row: int) -> str:
        return f"row {start + row} (counted from 0)"

    return where


def _to_text(path: Path, column: Column, values: pa.Array, where: Where) -> pa.Array:
    """Strings. Only well-formed ones: what else stands there is damage, or another encoding."""
    texts = values.cast(pa.string())
    try:
        texts.validate(full=True)
    except pa.ArrowInvalid:
        wrong = np.flatnonzero([not _is_utf8(text) for text in texts.cast(pa.binary()).to_pylist()])
        refuse(path, column.name, where(int(wrong[0])), "the text is not UTF-8")
    return texts


def _is_utf8(octets: bytes | None) -> bool:
    try:
        (octets or b"").decode()
    except UnicodeDecodeError:
        return False
    return True


def _brief(error: BaseException) -> str:
    return str(error).split("\n")[0][:200]


def _check_schema(path: Path, schema: pa.Schema, stream: Stream) -> list[Column]:
    """The columns to read: all required ones, and optional ones that hold text."""
    chosen = []
    for column in stream.columns:
        count = len(schema.get_all_field_indices(column.name))
        if count > 1:
            raise ForeignDataError(f"{path}: column {column.name} appears {count} times")
        if count == 0:
            if column.required:
                raise ForeignDataError(
                    f"{path}: column {column.name} is missing; the stream {stream.name} needs "
                    f"{', '.join(c.name for c in stream.columns if c.required)}, the file has {', '.join(schema.names)}"
                )
            continue
        if column.is_integer or _is_text(schema.field(column.name).type):
            chosen.append(column)
    return chosen


def _is_text(kind: pa.DataType) -> bool:
    if pa.types.is_dictionary(kind):
        kind = kind.value_type
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _normalise(
    path: Path, batch: pa.RecordBatch, columns: list[Column], unit: str, start: int
) -> tuple[dict[str, Any], Where]:
    where = _where(start)
    normal: dict[str, Any] = {}
    for column in columns:
        values = batch.column(column.name)
        if not column.is_integer:
            normal[column.name] = _to_text(path, column, values, where)
            continue
        _check_type(path, column, values, where)
        if values.null_count:
            row = int(np.flatnonzero(np.asarray(values.is_null()))[0])
            refuse(path, column.name, where(row), "the value is null")
        own_unit = values.type.unit if pa.types.is_timestamp(values.type) else unit
        if pa.types.is_timestamp(values.type):
            values = values.cast(pa.timestamp(own_unit)).cast(pa.int64())
        integers = _to_int64(path, column, values, where)
        normal[column.name] = (
            time_to_ns(path, column.name, integers, own_unit, where) if column.kind == "time" else integers
        )
    return normal, where


def _check_type(path: Path, column: Column, values: pa.Array, where: Where) -> None:
    kind = values.type
    if pa.types.is_integer(kind) or (column.kind == "time" and pa.types.is_timestamp(kind)):
        return
    wanted = "an integer or a timestamp" if column.kind == "time" else "an integer"
    fault = f"{path}: column {column.name} has the type {kind}, but must be {wanted}"
    if pa.types.is_floating(kind):
        # pandas makes such a column of integers with gaps: show the gap.
        missing = np.flatnonzero(np.asarray(pc.is_null(values, nan_is_null=True)))
        if len(missing):
            what = "null" if not values[int(missing[0])].is_valid else "NaN"
            fault += f"; {where(int(missing[0]))} is {what}"
    raise ForeignDataError(fault)


def _to_int64(path: Path, column: Column, values: pa.Array, where: Where) -> I64:
    """A copy as int64: the batch's memory is reused, and uint64 may not fit."""
    if pa.types.is_uint64(values.type):
        raw = values.to_numpy(zero_copy_only=False)
        wrong = np.flatnonzero(raw > np.uint64(np.iinfo(np.int64).max))
        if len(wrong):
            row = int(wrong[0])
            refuse(path, column.name, where(row), f"{int(raw[row])} overflows a 64-bit signed integer")
    return np.array(values.to_numpy(zero_copy_only=False), dtype=np.int64)
