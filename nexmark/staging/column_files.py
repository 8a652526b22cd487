"""Turns the Parquet that Spark wrote into the engine's raw columns, checking order and hashing on the way."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tokenring.nexmark.errors import SparkError
from tokenring.nexmark.events import EVENT, FLOOR, Stream
from tokenring.operators.staging import COLUMNS, WORD, TextWriter, WordWriter

BATCH_ROWS = 1 << 18


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
    integers = {
        name: WordWriter(folder, f"{stream.name}.{name}.i64") for name in (*stream.integer_columns, EVENT)
    }
    texts = {name: TextWriter(folder, f"{stream.name}.{name}") for name in stream.string_columns}
    done, last_event, last_time, ordered = 0, -1, -1, True
    for batch in _batches(parts, [*integers, *texts], stream.string_columns):
        event, time = batch[EVENT].to_numpy(), batch["date_time"].to_numpy()
        if not len(event):
            continue
        if event[0] <= last_event or not (np.diff(event) > 0).all():
            raise SparkError(
                f"{parquet}: Spark wrote the rows out of order; this is a fault of TokenRing, please report it"
            )
        ordered = ordered and time[0] >= last_time and bool((np.diff(time) >= 0).all())
        last_event, last_time = int(event[-1]), int(time[-1])
        for name, writer in integers.items():
            writer.append(batch[name].to_numpy(zero_copy_only=True))  # fails at nulls, which must not pass as zeros
        for name, text_writer in texts.items():
            text_writer.append(batch[name])
        done += len(event)
        advanced(len(event))
    entries = {name: writer.close() for name, writer in (integers | texts).items()}
    if done != rows:
        raise SparkError(
            f"{parquet}: Spark wrote {done} rows of {rows}; this is a fault of TokenRing, please report it"
        )
    if not ordered:
        entries[FLOOR] = _write_floor(folder, stream.name, rows)
    return {"rows": rows, "parquet": parquet.name, "columns": entries}


def _batches(parts: list[Path], names: list[str], texts: Sequence[str]) -> Iterator[pa.RecordBatch]:
    for part in parts:
        with pq.ParquetFile(part, read_dictionary=texts) as file:
            yield from file.iter_batches(BATCH_ROWS, columns=names)


def _write_floor(folder: Path, stream: str, rows: int) -> dict[str, Any]:
    """floor[i] = min(date_time[i:]): computed from the end, in a second column file that is then read forwards."""
    times = np.memmap(folder / COLUMNS / f"{stream}.date_time.i64", WORD, "r", shape=(rows,))
    floor = np.minimum.accumulate(times[::-1])[::-1]
    writer = WordWriter(folder, f"{stream}.{FLOOR}.i64")
    for start in range(0, rows, BATCH_ROWS):
        writer.append(floor[start : start + BATCH_ROWS])
    return writer.close()
