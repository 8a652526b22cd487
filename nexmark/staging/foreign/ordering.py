"""Puts checked rows into one order, numbers them, and writes each stream as Parquet with its `event`.

The order is by time, at one instant person < auction < bid, then all columns, nulls first; so equal sources give equal
folders. Rows are taken range of time by range of time, each of some BUCKET_BYTES, which is what is in memory at once;
streams that are out of order are spread over files of these ranges before.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from tokenring.nexmark.events import EVENT, I64, Stream
from tokenring.nexmark.staging.foreign.raw_rows import RawRows, append_rows, rows_of

BUCKET_BYTES: Final = 1 << 27
_TIME: Final = "date_time"


def write_in_order(streams: Sequence[RawRows], scratch: Path, out: Path, advanced: Callable[[int], None]) -> None:
    """Writes `out/<stream>.parquet/part-*.parquet`. streams: all, by rank; scratch: a folder for ranges of time."""
    bounds = _bounds(streams)
    ranges = [_Ranges(raw, bounds, scratch) for raw in streams]
    for raw in streams:
        (out / f"{raw.stream.name}.parquet").mkdir()
    first = 0
    with ThreadPoolExecutor(len(streams)) as threads:
        for number in range(len(bounds) + 1):
            tables = list(threads.map(lambda each: each.take(number), ranges))  # noqa: B023 - done before the next
            times = np.concatenate([table[_TIME].to_numpy() for table in tables])
            events = np.empty(len(times), np.int64)
            events[np.argsort(times, kind="stable")] = np.arange(first, first + len(times))
            first += len(times)
            starts = np.cumsum([0, *[table.num_rows for table in tables]])
            numbered = [
                table.append_column(EVENT, pa.array(events[start : start + table.num_rows]))
                for start, table in zip(starts, tables, strict=False)
            ]
            list(
                threads.map(
                    lambda raw, table: _write(out / f"{raw.stream.name}.parquet", number, table),  # noqa: B023
                    streams,
                    numbered,
                )
            )
            advanced(len(times))


def _write(folder: Path, number: int, table: pa.Table) -> None:
    if table.num_rows or not number:
        pq.write_table(table, folder / f"part-{number:05d}.parquet", store_schema=False)


def _bounds(streams: Sequence[RawRows]) -> I64:
    """The times at which ranges of about as many bytes end, ascending."""
    times = np.sort(np.concatenate([raw.sampled() for raw in streams]))
    count = 1 + sum([raw.bytes for raw in streams]) // BUCKET_BYTES
    if not len(times):
        return times
    return np.unique(times[np.arange(1, count) * len(times) // count])


class _Ranges:
    """One stream's rows, to be taken range by range."""

    def __init__(self, raw: RawRows, bounds: I64, scratch: Path) -> None:
        self._stream = raw.stream
        self._bounds = bounds
        self._schema = raw.schema
        self._files = None if raw.is_ordered else [scratch / f"{raw.stream.name}.{at}" for at in range(len(bounds) + 1)]
        self._batches: Iterator[pa.RecordBatch] = rows_of(raw.path)
        self._left: pa.RecordBatch | None = None
        if self._files is not None:
            for batch in self._batches:
                self._spread(batch, self._files)

    def _spread(self, batch: pa.RecordBatch, files: list[Path]) -> None:
        ranges = np.searchsorted(self._bounds, batch[_TIME].to_numpy(), "right")
        order = np.argsort(ranges, kind="stable")
        rows, ranges = batch.take(pa.array(order)), ranges[order]
        starts = np.flatnonzero(np.diff(ranges, prepend=-1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(ranges)], strict=True):
            append_rows(files[ranges[start]], rows.slice(start, stop - start))

    def take(self, number: int) -> pa.Table:
        """The rows of a range, in order. Ranges are taken one after the other."""
        batches = list(self._until(number) if self._files is None else rows_of(self._files[number]))
        return _in_order(pa.Table.from_batches(batches, self._schema), self._stream)

    def _until(self, number: int) -> Iterator[pa.RecordBatch]:
        """Of a stream that is in order: the next rows, up to the end of the range."""
        is_last = number == len(self._bounds)
        while (batch := self._left or next(self._batches, None)) is not None:
            self._left = None
            count = batch.num_rows
            kept = count if is_last else int(np.searchsorted(batch[_TIME].to_numpy(), self._bounds[number], "left"))
            if kept:
                yield batch.slice(0, kept)
            if kept < count:
                self._left = batch.slice(kept)
                return


def _in_order(table: pa.Table, stream: Stream) -> pa.Table:
    """The rows by time, those of one time by all columns."""
    times = table[_TIME].to_numpy()
    is_ordered = bool((times[1:] >= times[:-1]).all())
    order = np.arange(len(times)) if is_ordered else np.argsort(times, kind="stable")
    times = times if is_ordered else times[order]
    same = np.flatnonzero(times[1:] == times[:-1])
    if len(same):
        tied = np.union1d(same, same + 1)
        others = [name for name in stream.integer_columns if name != _TIME] + list(stream.string_columns)
        rows = table.take(pa.array(order[tied]))
        keys = [(name, "ascending", "at_start") for name in (_TIME, *others)]
        order[tied] = order[tied][pc.sort_indices(rows, sort_keys=keys).to_numpy()]
    elif is_ordered:
        return table
    return table.take(pa.array(order))
