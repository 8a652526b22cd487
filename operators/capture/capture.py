"""capture: a stream's messages and frontiers, as files from which `replay` makes the same stream again.

What a worker's part says, in order (Timely's `Event`, operators/capture): a message is a record batch whose metadata
hold its time; a frontier is a record batch without rows whose metadata hold the least time that may still come, which
is COMPLETE at the end. A part is an Arrow IPC stream, so that what a killed run has written of it can be read. The
schema's metadata say that rows are updates, of which key and whose, where they are.
"""

from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Final

import orjson

from tokenring.engine import Batch, Probe, Schema, Stream, Time, Updates
from tokenring.operators.sinks import publish

TIME: Final = b"time"
FRONTIER: Final = b"frontier"
UPDATES: Final = b"updates"
SUFFIX: Final = ".capture"


class _Recorder:
    """Writes one worker's part."""

    def __init__(self, updates: Updates | None, path: Path, schema: Schema) -> None:
        import pyarrow as pa

        said = {} if updates is None else {UPDATES: orjson.dumps(asdict(updates))}
        self._file = open(path, "wb")  # noqa: SIM115 - closed by close()
        self._writer = pa.ipc.new_stream(self._file, schema.to_arrow().with_metadata(said))
        self._nothing = Batch(schema, {name: [] for name in schema.names}).to_arrow()

    def write(self, time: Time, batch: Batch) -> None:
        """A message."""
        self._writer.write_batch(batch.to_arrow(), {TIME: str(time)})

    def advance(self, frontier: Time) -> None:
        """A frontier; what is true by now is on its way to the disk, should this worker be killed."""
        self._writer.write_batch(self._nothing, {FRONTIER: str(frontier)})
        self._file.flush()

    def close(self) -> None:
        """The end."""
        self._writer.close()
        self._file.close()


def capture(stream: Stream, folder: str | Path, *, name: str = "capture") -> Probe:
    """Write to `folder` what of the stream arrives on each worker: every message with its time, and every move of the
    frontier between them.

    The folder, which must not exist or be empty, appears whole at the end of a run that was right; of one that failed
    or was killed `replay(…, unfinished=True)` reads what there is. The probe that is returned is done once all is on
    the disk.
    Memory: none. Raises UsageError for a folder that is not empty, GraphError in a loop.
    """
    return publish(stream, folder, name, SUFFIX, partial(_Recorder, stream.updates))
