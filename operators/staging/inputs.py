"""What a table is staged from: files of Parquet, CSV or JSON lines, read batch by batch, each row with a name."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq

from tokenring.engine import Batch, Schema, SchemaError, UsageError
from tokenring.operators.sources import (
    BLOCK_BYTES,
    MARK,
    Block,
    CsvRows,
    JsonRows,
    Paths,
    blocks_of,
    chosen_columns,
    files_of,
    fitting,
    lines_of,
    mapped,
    not_utf_8,
    schema_of,
    taken_at_once,
)
from tokenring.operators.staging.kinds_found import (
    kind_of_column,
    names_in_csv,
    names_in_json,
    require_kinds_for_numbers,
)
from tokenring.operators.time import RowOrigin

_PARQUET: Final = (".parquet", ".pq")
_CSV: Final = {".csv": ",", ".tsv": "\t"}
_JSON: Final = (".jsonl", ".ndjson", ".json")
SUFFIXES: Final = (*_PARQUET, *_CSV, *_JSON)
_SAY_KINDS: Final = "say kinds in schema= (--schema)"
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
    """Files that are there: of each format those with its endings. UsageError for others, and for none.

    quoted_newlines: whether values in quotes may go across lines in CSV, which is then read whole.
    """

    def __init__(self, paths: Paths, quoted_newlines: bool = False) -> None:
        self._quoted_newlines = quoted_newlines
        self.files = files_of("stage", paths, SUFFIXES)
        first = paths if isinstance(paths, str | Path) else next(iter(paths))
        self.first = first if os.path.isdir(first) else self.files[0]
        """The folder that was given first, or the first file."""
        for file in self.files:
            if Path(file).suffix.lower() not in SUFFIXES:
                raise UsageError(f"{file}: its name ends in none of {', '.join(SUFFIXES)}; stage files of those kinds")
        if quoted_newlines and not any(Path(file).suffix.lower() in _CSV for file in self.files):
            raise UsageError(
                f"quoted_newlines=True (--quoted-newlines) is for CSV, and none of {', '.join(self.files)} is"
            )
        self._sizes = [Path(file).stat().st_size for file in self.files]

    @property
    def bytes(self) -> int:
        """Of all files."""
        return sum(self._sizes)

    def needed_bytes(self) -> int:
        """What staging them takes of a disk, about."""
        return sum(_needed(file, size) for file, size in zip(self.files, self._sizes, strict=True))

    def read(self, columns: list[str] | None = None, schema: Schema | None = None) -> Iterator[Rows]:
        """All rows, file after file; first a batch of none, for their schema. columns: those that are wanted; where a
        format lets more be read, they come too. schema: what is read, exactly; None: as the first file has it.
        """
        before = 0
        kinds = schema
        for file, size in zip(self.files, self._sizes, strict=True):
            if _is_parquet(file):
                rows = _read_parquet(file, columns, schema)
            else:
                whole = self._quoted_newlines
                kinds = kinds or _kinds_of(self.files[0], columns, whole)
                chosen = _with_nulls(kinds, file) if schema is None else schema
                rows = _read_lines(file, size, chosen, schema is None, whole)
            for batch, place, share in rows:
                yield Rows(batch, place, before + share * size)
            before += size


_Part = tuple[pa.RecordBatch, RowOrigin, float]
"""A file's rows, where they are, and how much of it has been read."""


def _is_parquet(file: str) -> bool:
    return Path(file).suffix.lower() in _PARQUET


def _kinds_of(file: str, columns: list[str] | None, quoted_newlines: bool) -> Schema:
    """As what the columns of a file are read if nobody says it."""
    if _is_parquet(file):
        return schema_of("stage", pq.read_schema(mapped(file)), None, columns, file)
    blocks = _blocks(file, quoted_newlines)[:1]
    delimiter = _CSV.get(Path(file).suffix.lower())
    data = lines_of(blocks[0]).data.removeprefix(MARK) if blocks else b""
    names = names_in_json(data) if delimiter is None else names_in_csv(data, delimiter)
    chosen = names if columns is None or not names else chosen_columns("stage", columns, names, file)
    if delimiter is None:
        require_kinds_for_numbers(data, chosen, file)

    def read(schema: Schema) -> Batch:
        found = _reader(file, schema, quoted_newlines)(blocks) if blocks else None
        if found is None or not found[0].rows:
            raise UsageError(f"source 'stage': {file} has no rows that tell of what kinds they are: {_SAY_KINDS}")
        return found[0]

    with _kinds_at_fault(file):
        return Schema.of({name: kind_of_column(name, read, delimiter is not None) for name in chosen or ["no name"]})


@contextmanager
def _kinds_at_fault(file: str) -> Iterator[None]:
    """Errors of a column's values say how to give it another kind than was found, which cures no file's bytes."""
    try:
        yield
    except SchemaError as error:
        if ", column '" not in str(error) or not_utf_8(file) in str(error):
            raise
        raise SchemaError(f"{error}: {_SAY_KINDS}, or leave the column out (columns=)") from None


def _with_nulls(schema: Schema, file: str) -> Schema:
    """The same with nulls wherever a file may have them; in CSV the empty text is itself."""
    is_csv = Path(file).suffix.lower() in _CSV
    of = zip(schema.names, schema.kinds, strict=True)
    return Schema.of({name: kind.name if is_csv and kind.name == "string" else f"{kind.name}?" for name, kind in of})


def _blocks(file: str, quoted_newlines: bool) -> list[Block]:
    """What is read one after the other."""
    is_whole = quoted_newlines and Path(file).suffix.lower() in _CSV
    return blocks_of([file], None if is_whole else BLOCK_BYTES)


def _reader(
    file: str, schema: Schema, quoted_newlines: bool
) -> Callable[[Sequence[Block]], tuple[Batch, RowOrigin] | None]:
    """Reads blocks of a file of lines, as sources do."""
    delimiter = _CSV.get(Path(file).suffix.lower())
    if delimiter is None:
        return JsonRows("stage", schema).read
    rows = CsvRows("stage", schema, delimiter, ("",), (), quoted_newlines, is_staging=True)
    return partial(rows.read, rows.columns(file, header=True), header=True)


def _read_lines(file: str, size: int, schema: Schema, is_found: bool, quoted_newlines: bool) -> Iterator[_Part]:
    """A row is read once more to say where it is: its bytes are not kept until somebody asks."""
    yield pa.RecordBatch.from_pylist([], schema.to_arrow()), str, 0.0
    read = _reader(file, schema, quoted_newlines)
    for blocks, _ in taken_at_once(_blocks(file, quoted_newlines), 0, 1):
        with _kinds_at_fault(file) if is_found else nullcontext():
            found = read(blocks)
        if found is not None:

            def place(row: int, blocks: Sequence[Block] = blocks) -> str:
                again = read(blocks)
                assert again is not None, "there were rows"
                return again[1](row)

            yield found[0].to_arrow(), place, min(blocks[-1].stop / size, 1.0)


def _read_parquet(file: str, columns: list[str] | None, schema: Schema | None) -> Iterator[_Part]:
    """Texts as numbers in a dictionary, since that is how they are written. No threads: who stages from a program may
    fork workers later."""
    texts = [field.name for field in pq.read_schema(mapped(file)) if _is_text(field.type)]
    first = 0
    try:
        with pq.ParquetFile(
            mapped(file), pre_buffer=False, page_checksum_verification=True, read_dictionary=texts
        ) as opened:
            if schema is not None:
                schema_of("stage", opened.schema_arrow, schema, None, file)
                columns = [*schema.names]
            kinds = opened.schema_arrow if schema is None else schema.to_arrow()
            yield pa.RecordBatch.from_pylist([], kinds), partial(_row_of, file, 0), 0.0
            for batch in opened.iter_batches(_BATCH_ROWS, columns=columns, use_threads=False):
                place = partial(_row_of, file, first)
                first += batch.num_rows
                if schema is not None:
                    batch = fitting(schema, batch, place).to_arrow()
                yield batch, place, first / opened.metadata.num_rows
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, OSError) as error:
        raise UsageError(f"{file}: cannot be read from row {first} on: {' '.join(str(error).split())}") from None


def _row_of(file: str, first: int, row: int) -> str:
    return f"{file} row {first + row}"


def _is_text(kind: pa.DataType) -> bool:
    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_binary(kind))


def _needed(file: str, size: int) -> int:
    if not _is_parquet(file):
        return _TEXT_SHARE * size
    try:
        footer: Any = pq.read_metadata(mapped(file))
    except (pa.ArrowInvalid, OSError) as error:
        raise UsageError(f"{file} is no Parquet file: {error}") from None
    plain_bytes = sum(footer.row_group(number).total_byte_size for number in range(footer.num_row_groups))
    return int(_WORD_BYTES * footer.num_rows * footer.num_columns + plain_bytes)
