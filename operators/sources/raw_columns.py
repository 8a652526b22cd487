"""read_columns: columns that lie in files as raw 8-byte words, mapped into memory and sent without being copied."""

import mmap
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.lib.format import MAGIC_PREFIX, open_memmap

from tokenring.engine import AnyStream, Batch, Schema, SchemaError, ScopeOf, Time, UsageError
from tokenring.engine.columns import Kind, require_schema
from tokenring.operators.durations import Span
from tokenring.operators.sources.arguments import require_positive
from tokenring.operators.sources.feeder import Piece, Position, feed
from tokenring.operators.sources.files import as_found, facts_of, require_readable
from tokenring.operators.sources.throttle import Throttle
from tokenring.operators.time import NOTHING, Timing

_RELEASE_ROWS = 1 << 20  # how many rows are read before their pages are given back


@overload
def read_columns(
    scope: ScopeOf[AnyStream],
    schema: Schema, files: Mapping[str, str | Path], *, time: str | Time = ..., disorder: Span = ...,
    floor: str | Path | None = ..., batch_rows: int = ..., throttle: Throttle | None = ..., name: str = ...,
    late: Literal[False] = ...,
) -> AnyStream: ...  # fmt: skip


@overload
def read_columns(
    scope: ScopeOf[AnyStream],
    schema: Schema, files: Mapping[str, str | Path], *, time: str | Time = ..., disorder: Span = ...,
    floor: str | Path | None = ..., batch_rows: int = ..., throttle: Throttle | None = ..., name: str = ...,
    late: Literal[True],
) -> tuple[AnyStream, AnyStream]: ...  # fmt: skip


def read_columns(
    scope: ScopeOf[AnyStream],
    schema: Schema,
    files: Mapping[str, str | Path],
    *,
    time: str | Time = 0,
    disorder: Span = 0,
    floor: str | Path | None = None,
    batch_rows: int = 1 << 14,
    throttle: Throttle | None = None,
    late: bool = False,
    name: str = "read_columns",
) -> AnyStream | tuple[AnyStream, AnyStream]:
    """Rows (`schema`; no text) whose columns lie in one file each: little-endian words as engine.Batch has them, raw or
    as .npy. Timestamps are int64 ns, booleans int64.

    Blocks of `batch_rows` rows are dealt to workers in turn, one message each, as views into the mapped file. time: a
    column of int64, uint64 or timestamp (ns) by which rows come in order, up to `disorder`; or one time for all rows.
    floor: for rows in any order, a file of int64 with the least time of each row and all behind it. Memory: none; pages
    are given back once read.
    late: whether rows that are earlier than that go, at the time that was promised, to a second stream that is then
    returned besides, instead of ending the run.

    Raises UsageError for a file that is missing or too short, SchemaError for rows that come too late, naming file and
    row.
    """
    require_schema(f"source {name!r}", schema)
    require_positive(name, batch_rows=batch_rows)
    if schema.has_text:
        raise SchemaError(f"source {name!r}: text cannot be read from raw columns; use read_arrow or read_parquet")
    timing = Timing(name, schema, time, None if floor is not None else disorder, late)
    if floor is not None and timing.column is None:
        raise UsageError(f"source {name!r}: floor= is for rows that have times of their own; give time=column")
    read = _paths_of(name, schema, files) | ({} if floor is None else {"floor=": floor})
    for what, path in read.items():
        _require_file(name, what, path)
    facts = facts_of(name, read.values(), batch_rows=batch_rows)
    dtypes = [*schema.dtypes, np.dtype(np.int64)]
    mapped = [_Mapped(name, what, path, dtype) for (what, path), dtype in zip(read.items(), dtypes, strict=False)]
    columns = mapped[: len(schema.names)]
    floors = None if floor is None else mapped[-1]
    rows = len(columns[0].words)
    for column in mapped:
        if len(column.words) != rows:
            raise UsageError(
                f"source {name!r}: {column.path} has {len(column.words)} rows, {columns[0].path} has {rows}; each has "
                f"one word of each row"
            )

    def pieces(share: int, shares: int, position: Position) -> Iterator[Piece]:
        release_at = _RELEASE_ROWS
        step = batch_rows * shares
        for start in range(share * batch_rows if position is None else position, rows, step):
            stop, ahead = min(start + batch_rows, rows), start + step
            least = None if floors is None else int(floors.words[ahead]) if ahead < rows else NOTHING
            batch = Batch.wrap(schema, tuple([column.words[start:stop] for column in columns]), stop - start)
            for column, kind, words in zip(columns, schema.kinds, batch.columns, strict=True):
                if kind.family == "bool":
                    _require_booleans(f"source {name!r}: {column.path}", kind, words, start)

            def place(row: int, start: int = start) -> str:
                return f"{columns[0].path if timing.column is None else files[timing.column]} row {start + row}"

            yield Piece(batch, least, place, ahead)
            if stop >= release_at:
                release_at = stop + _RELEASE_ROWS
                for column in mapped:
                    column.release_before(start)

    return feed(scope, schema, timing, pieces, throttle, contents=lambda: facts, reads=as_found(facts), rows=rows)


def _paths_of(name: str, schema: Schema, files: Any) -> dict[str, Any]:
    """The path of each of the schema's columns, by what errors call it. UsageError for what is no mapping, SchemaError
    for one of other columns."""
    if not isinstance(files, Mapping):
        such = {column: f"{column}.npy" for column in schema.names[:2]}
        raise UsageError(
            f"source {name!r}: files= says where each column lies, such as {such}, not {type(files).__name__}"
        )
    if set(files) != set(schema.names):
        given = ", ".join(map(str, files)) or "no column"
        raise SchemaError(f"source {name!r}: files for {given} given where {', '.join(schema.names)} are read")
    return {f"column {column!r}": files[column] for column in schema.names}


def _require_file(name: str, what: str, path: Any) -> None:
    """UsageError for what is no path of a file that can be read."""
    if not isinstance(path, str | Path):
        raise UsageError(
            f"source {name!r}: {what}: give the path of a file, text or a Path, not {type(path).__name__}; arrays are "
            f"read by read_arrow"
        )
    if not os.path.exists(path):
        raise UsageError(f"source {name!r}: {what}: there is no file {str(path)!r}")
    require_readable(name, path)


def _require_booleans(what: str, kind: Kind, words: np.ndarray, start: int) -> None:
    """SchemaError for words that stand for none, row `start` the first: others would be neither true nor equal."""
    known, null = ((0, 1, kind.null), f", or {kind.null} where it is null") if kind.nullable else ((0, 1), "")
    others = np.flatnonzero(~np.isin(words, known))
    if len(others):
        raise SchemaError(
            f"{what} row {start + others[0]}: {words[others[0]]} is no boolean, which is 0 or 1{null}; write 1 for "
            f"what is true, or read int64 and compare it"
        )


def _is_npy(path: str | Path) -> bool:
    """Whether a file is one of numpy's, by its name or by its first bytes, which would be rows else."""
    with open(path, "rb") as file:
        return str(path).endswith((".npy", ".npz")) or file.read(len(MAGIC_PREFIX)) == MAGIC_PREFIX


class _Mapped:
    """One mapped column, whose pages are given back once they have been read."""

    def __init__(self, name: str, what: str, path: str | Path, dtype: np.dtype[Any]) -> None:
        """what: whose file it is."""
        self.path = path
        self._released = 0
        of = f"source {name!r}: {what}: {path}"
        cure = f"np.save it as {dtype} of shape (rows,)"
        try:
            if _is_npy(path):
                words: np.ndarray = open_memmap(path, mode="r")
            elif size := Path(path).stat().st_size:
                if size % 8:
                    raise UsageError(f"{of} has {size} bytes, which are not words of 8: write 8 bytes of each row")
                words = np.memmap(path, dtype.newbyteorder("<"), "r")
            else:
                words = np.empty(0, dtype)
        except (OSError, ValueError) as error:
            raise UsageError(f"{of} cannot be read: {error}; {cure}") from None
        if words.dtype != dtype or words.ndim != 1:
            units = ", in ns, or days of a date" if words.dtype.kind == "M" else ""
            raise SchemaError(f"{of} holds {words.dtype} of shape {words.shape}; {cure}{units}")
        self._mapping: mmap.mmap | None = getattr(words, "_mmap", None)
        if self._mapping is not None:
            self._mapping.madvise(mmap.MADV_SEQUENTIAL)
        self.words = np.asarray(words)

    def release_before(self, row: int) -> None:
        """Give back whole pages before `row`: they are read again from the file if somebody looks at them."""
        done = row * 8 // mmap.PAGESIZE * mmap.PAGESIZE
        if self._mapping is not None and done > self._released:
            self._mapping.madvise(mmap.MADV_DONTNEED, self._released, done - self._released)
            self._released = done
