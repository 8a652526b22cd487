"""What a table is staged from: files of Parquet, CSV or JSON lines, read batch by batch, each row with a name."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tokenring.engine import UsageError
from tokenring.operators.sources import Paths, files_of
from tokenring.operators.time import RowOrigin

_PARQUET: Final = (".parquet", ".pq")
_CSV: Final = {".csv": ",", ".tsv": "\t"}
_JSON: Final = (".jsonl", ".ndjson", ".json")
SUFFIXES: Final = (*_PARQUET, *_CSV, *_JSON)
_BATCH_ROWS: Final = 1 << 17
_WORD_BYTES: Final = 8
_TEXT_SHARE: Final = 3  # a text file's bytes become so many at most, but for short numbers


class Rows(NamedTuple):
    """Rows that are read at once; place: names one of them; done: how much of all bytes has been read by now."""

    batch: pa.RecordBatch
    place: RowOrigin
    done: float


def table_named(path: str | os.PathLike[str]) -> str:
    """What a table is called that is staged out of a file, or of a folder of files."""
    return re.sub(r"[^\w.-]", "_", Path(path).stem) or "table"


class Inputs:
    """Files that are there: of each format those with its endings. UsageError for others, and for none."""

    def __init__(self, paths: Paths) -> None:
        self.files = files_of("stage", paths, SUFFIXES)
        first = paths if isinstance(paths, str | Path) else next(iter(paths))
        self.first = first if os.path.isdir(first) else self.files[0]
        """The folder that was given first, or the first file."""
        for file in self.files:
            if Path(file).suffix.lower() not in SUFFIXES:
                raise UsageError(f"{file}: its name ends in none of {', '.join(SUFFIXES)}; stage files of those kinds")
        self._sizes = [Path(file).stat().st_size for file in self.files]

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(self._sizes)

    def needed_bytes(self) -> int:
        """What staging them takes of a disk, about."""
        return sum(_needed(file, size) for file, size in zip(self.files, self._sizes, strict=True))

    def read(self, columns: list[str] | None = None) -> Iterator[Rows]:
        """All rows, file after file; of a file without rows one batch of none, for its schema. columns: those that are
        wanted; where a format lets more be read, they come too.
        """
        before = 0
        for file, size in zip(self.files, self._sizes, strict=True):
            first = 0
            try:
                for batch, share in _read(file, size, columns):

                    def place(row: int, file: str = file, first: int = first) -> str:
                        return f"{file} row {first + row}"

                    yield Rows(batch, place, before + share * size)
                    first += batch.num_rows
            except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
                said = " ".join(str(error).split())
                raise UsageError(f"{file}: cannot be read behind row {first - 1}: {said}") from None
            before += size


def _read(file: str, size: int, columns: list[str] | None) -> Iterator[tuple[pa.RecordBatch, float]]:
    """A file's batches, and how much of it has been read. No threads: who stages from a program may fork workers later.
    """
    suffix = Path(file).suffix.lower()
    if suffix in _PARQUET:
        yield from _read_parquet(file, columns)
    elif suffix in _CSV:
        yield from _read_csv(file, size, _CSV[suffix])
    else:
        yield from _read_json(file)


def _read_parquet(file: str, columns: list[str] | None) -> Iterator[tuple[pa.RecordBatch, float]]:
    """Texts as numbers in a dictionary, since that is how they are written."""
    texts = [field.name for field in pq.read_schema(file) if _is_text(field.type)]
    with pq.ParquetFile(
        file, memory_map=True, pre_buffer=False, page_checksum_verification=True, read_dictionary=texts
    ) as opened:
        rows, done = opened.metadata.num_rows, 0
        yield pa.RecordBatch.from_pylist([], opened.schema_arrow), 0.0
        for batch in opened.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
            done += batch.num_rows
            yield batch, done / rows


def _read_csv(file: str, size: int, delimiter: str) -> Iterator[tuple[pa.RecordBatch, float]]:
    from pyarrow import csv

    options, columns = csv.ReadOptions(use_threads=False), csv.ParseOptions(delimiter=delimiter)
    with pa.OSFile(file) as source, csv.open_csv(source, options, columns) as reader:
        yield pa.RecordBatch.from_pylist([], reader.schema), 0.0
        for batch in reader:
            yield batch, min(source.tell() / size, 1.0)


def _read_json(file: str) -> Iterator[tuple[pa.RecordBatch, float]]:
    """Arrow reads such a file whole."""
    from pyarrow import json

    table = json.read_json(file, json.ReadOptions(use_threads=False))
    yield pa.RecordBatch.from_pylist([], table.schema), 0.0
    for batch in table.to_batches(_BATCH_ROWS):
        yield batch, 1.0


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _needed(file: str, size: int) -> int:
    if Path(file).suffix.lower() not in _PARQUET:
        return _TEXT_SHARE * size
    try:
        footer: Any = pq.read_metadata(file)
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"{file} is no Parquet file: {error}") from None
    plain_bytes = sum(footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))
    return int(_WORD_BYTES * footer.num_rows * footer.num_columns + plain_bytes)
