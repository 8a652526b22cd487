"""Turns the Parquet that Spark wrote into the engine's raw columns, checking order and hashing on the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow.parquet as pq
import xxhash

from nexmark.draws import I64
from nexmark.errors import SparkError
from nexmark.schema import EVENT, FLOOR, Stream

COLUMNS = "columns"
BATCH_ROWS = 1 << 18
_DTYPE = np.dtype("<i8")


class ColumnWriter:
    """One raw column under way: appended to, hashed, counted."""

    def __init__(self, folder: Path, stream: str, column: str) -> None:
        self.file = f"{COLUMNS}/{stream}.{column}.i64"
        self._out: BinaryIO = open(folder / self.file, "xb")  # noqa: SIM115 - closed by close()
        self._hash = xxhash.xxh3_64()
        self._bytes = 0

    def append(self, values: I64) -> None:
        octets = np.ascontiguousarray(values, dtype=_DTYPE).view(np.uint8).data
        self._out.write(octets)
        self._hash.update(octets)
        self._bytes += octets.nbytes

    def close(self) -> dict[str, Any]:
        self._out.close()
        return {
            "file": self.file,
            "dtype": _DTYPE.str,
            "bytes": self._bytes,
            "checksum": f"xxh3_64:{self._hash.hexdigest()}",
        }


def name_part_files(parquet: Path) -> list[Path]:
    """Gives Spark's part files plain names in their order, and drops Hadoop's checksum files."""
    for extra in parquet.glob(".*"):
        extra.unlink()
    parts = sorted(parquet.glob("part-*.parquet"))
    renamed = [parquet / f"part-{index:05d}.parquet" for index in range(len(parts))]
    for old, new in zip(parts, renamed, strict=True):
        os.rename(old, new)
    return renamed


def write_columns(
    folder: Path, stream: Stream, rows: int, advanced: Callable[[int], None] = lambda _: None
) -> dict[str, Any]:
    """Writes the raw columns of one stream; returns its manifest entry."""
    (folder / COLUMNS).mkdir(exist_ok=True)
    parquet = folder / f"{stream.name}.parquet"
    parts = name_part_files(parquet)
    names = [*stream.integer_columns, EVENT]
    writers = {name: ColumnWriter(folder, stream.name, name) for name in names}
    done, last_event, last_time, ordered = 0, -1, -1, True
    for batch in _batches(parts, names):
        event, time = batch[EVENT], batch["date_time"]
        if not len(event):
            continue
        if event[0] <= last_event or not (np.diff(event) > 0).all():
            raise SparkError(
                f"{parquet}: Spark wrote the rows out of order; this is a fault of TokenRing, please report it"
            )
        ordered = ordered and time[0] >= last_time and bool((np.diff(time) >= 0).all())
        last_event, last_time = int(event[-1]), int(time[-1])
        for name, values in batch.items():
            writers[name].append(values)
        done += len(event)
        advanced(len(event))
    entries = {name: writer.close() for name, writer in writers.items()}
    if done != rows:
        raise SparkError(
            f"{parquet}: Spark wrote {done} rows of {rows}; this is a fault of TokenRing, please report it"
        )
    if not ordered:
        entries[FLOOR] = _write_floor(folder, stream.name, rows)
    return {"rows": rows, "parquet": parquet.name, "columns": entries}


def _batches(parts: list[Path], names: list[str]) -> Iterator[dict[str, I64]]:
    for part in parts:
        with pq.ParquetFile(part) as file:
            for batch in file.iter_batches(BATCH_ROWS, columns=names):
                # Spark's bigint columns come back nullable; a null would be a fault and must not pass as a zero.
                yield {name: batch.column(name).to_numpy(zero_copy_only=True) for name in names}


def _write_floor(folder: Path, stream: str, rows: int) -> dict[str, Any]:
    """floor[i] = min(date_time[i:]): computed from the end, in a second column file that is then read forwards."""
    times = np.memmap(folder / COLUMNS / f"{stream}.date_time.i64", _DTYPE, "r", shape=(rows,))
    floor = np.minimum.accumulate(times[::-1])[::-1]
    writer = ColumnWriter(folder, stream, FLOOR)
    for start in range(0, rows, BATCH_ROWS):
        writer.append(floor[start : start + BATCH_ROWS])
    return writer.close()
