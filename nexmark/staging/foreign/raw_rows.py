"""Checked rows on their way into order: files of Arrow batches, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import numpy as np
import pyarrow as pa

from tokenring.nexmark.events import I64, Stream

_SAMPLED: Final = 64
"""Every so many rows one's time is noted, from which follows what time ranges are to be made."""
_WRITTEN: Final = pa.ipc.IpcWriteOptions(compression="lz4")


class RawRows:
    """One stream's checked rows under way, in one plain shape."""

    def __init__(self, folder: Path, stream: Stream) -> None:
        self.stream = stream
        self.path = folder / f"{stream.name}.arrows"
        self.rows = 0
        self.bytes = 0
        """As they are in memory."""
        self.is_ordered = True
        """Whether times never fall."""
        self.schema = pa.schema([(c.name, pa.int64() if c.is_integer else pa.large_string()) for c in stream.columns])
        self._last = -1
        self._sampled: list[I64] = [np.empty(0, np.int64)]
        self._writer = pa.ipc.new_stream(self.path, self.schema, options=_WRITTEN)

    def append(self, columns: dict[str, Any]) -> None:
        """Columns missing here are strings that the source does not have: they become null."""
        times = np.asarray(columns["date_time"])
        rows = len(times)
        if not rows:
            return
        self.is_ordered &= bool(times[0] >= self._last and (times[1:] >= times[:-1]).all())
        self._last = int(times[-1])
        self._sampled.append(times[::_SAMPLED].copy())
        arrays = [
            _as(columns[f.name], f.type) if f.name in columns else pa.nulls(rows, f.type) for f in self.schema
        ]
        batch = pa.record_batch(arrays, schema=self.schema)
        self._writer.write_batch(batch)
        self.rows += rows
        self.bytes += batch.nbytes

    def sampled(self) -> I64:
        """Times of some rows, evenly spread over all."""
        return np.concatenate(self._sampled)

    def close(self) -> None:
        self._writer.close()


def _as(values: Any, kind: pa.DataType) -> pa.Array:
    return values.cast(kind) if isinstance(values, pa.Array) else pa.array(values, kind)


def append_rows(path: Path, rows: pa.RecordBatch) -> None:
    """Adds rows to a file, which need not be there."""
    with open(path, "ab") as file, pa.ipc.new_stream(file, rows.schema, options=_WRITTEN) as writer:
        writer.write_batch(rows)


def rows_of(path: Path) -> Iterator[pa.RecordBatch]:
    """The batches of a file, of which there may be none."""
    if not path.exists():
        return
    with open(path, "rb") as file:
        end = path.stat().st_size
        while file.tell() < end:
            yield from pa.ipc.open_stream(file)
