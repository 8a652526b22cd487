"""capture: a stream's messages and frontiers, as files from which `replay` makes the same stream again.

What a worker's part says, in order (Timely's `Event`, operators/capture): a message is a record batch whose metadata
hold its time; a frontier is a record batch without rows whose metadata hold the least time that may still come, which
is COMPLETE at the end. Both hold a checksum of all bytes before them. A part is an Arrow IPC stream, so that what a
killed run has written of it can be read. The schema's metadata, alike in all parts, say how many parts there are, have
a mark of the capture, and say that rows are updates, of which key and whose, where they are.
"""

import io
import os
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import orjson
import xxhash

from tokenring.engine import Batch, OperatorContext, Probe, Schema, Stream, Time, Updates
from tokenring.engine.group import group_folder
from tokenring.operators.migrate import goes_by_times
from tokenring.operators.sinks import publish

if TYPE_CHECKING:
    import pyarrow as pa

TIME: Final = b"time"
FRONTIER: Final = b"frontier"
CHECKSUM: Final = b"xxh3_64"
UPDATES: Final = b"updates"
PARTS: Final = b"parts"
MARK: Final = b"capture"
SUFFIX: Final = ".capture"


class _Hashed(io.BufferedWriter):
    """A file that knows the checksum of what was written to it."""

    def __init__(self, path: Path) -> None:
        super().__init__(io.FileIO(path, "w"))
        self.hash = xxhash.xxh3_64()

    def write(self, octets: Any) -> int:
        self.hash.update(octets)
        return super().write(octets)


class _Recorder:
    """Writes one worker's part."""

    def __init__(
        self, updates: Updates | None, folder: str | Path, path: Path, schema: Schema, context: OperatorContext
    ) -> None:
        import pyarrow as pa

        said: dict[bytes, bytes | str] = {PARTS: str(context.peers), MARK: _mark(context.leader, folder)}
        if updates is not None:
            said[UPDATES] = orjson.dumps(asdict(updates))
        self._file = _Hashed(path)
        self._writer = pa.ipc.new_stream(self._file, schema.to_arrow().with_metadata(said))
        self._nothing = Batch(schema, {name: [] for name in schema.names}).to_arrow()

    def write(self, time: Time, batch: Batch) -> None:
        """A message."""
        self._append(batch.to_arrow(), TIME, time)

    def advance(self, frontier: Time) -> None:
        """A frontier; what is true by now is on its way to the disk, should this worker be killed."""
        self._append(self._nothing, FRONTIER, frontier)
        self._file.flush()

    def _append(self, rows: "pa.RecordBatch", what: bytes, time: Time) -> None:
        self._writer.write_batch(rows, {what: str(time), CHECKSUM: self._file.hash.hexdigest()})

    def close(self) -> None:
        """The end."""
        self._writer.close()
        self._file.close()


def _mark(leader: int, folder: str | Path) -> str:
    """What tells captures apart: the name of a folder that no other group has, and that of their own."""
    return xxhash.xxh3_64_hexdigest(os.fsencode(f"{group_folder('capture', leader)} {folder}"))


def capture(stream: Stream, folder: str | Path, *, name: str = "capture") -> Probe:
    """Write to `folder` what of the stream arrives on each worker: every message with its time, and every move of the
    frontier between them.

    The folder, which must not exist or be empty, appears whole at the end of a run that was right; of one that failed
    or was killed `replay(…, unfinished=True)` reads what there is. The probe that is returned is done once all is on
    the disk.
    Memory: none. Raises UsageError for a folder that is not empty, GraphError in a loop.
    """
    goes_by_times(stream)
    return publish(stream, folder, name, SUFFIX, partial(_Recorder, stream.updates, folder))
