"""replay: a captured stream again, message by message and frontier by frontier."""

from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import orjson
import xxhash

from tokenring.engine import (
    COMPLETE,
    AnyStream,
    Batch,
    OperatorContext,
    OutputPort,
    Schema,
    SchemaError,
    ScopeOf,
    Time,
    Token,
    Updates,
    UsageError,
)
from tokenring.engine.arguments import folder_at, require_flags
from tokenring.engine.columns import require_sound
from tokenring.engine.whole_files import leftovers
from tokenring.operators.capture.capture import CHECKSUM, FRONTIER, PARTS, SUFFIX, TIME, UPDATES
from tokenring.operators.sources import named_rows
from tokenring.operators.time import require_root

if TYPE_CHECKING:
    import pyarrow as pa


def replay(
    scope: ScopeOf[AnyStream], folder: str | Path, *, unfinished: bool = False, name: str = "replay"
) -> AnyStream:
    """The stream that `capture` wrote to `folder`: the same messages at the same times, and no frontier that the
    captured stream did not have. What were updates are updates again.

    Captured parts, one of each worker of that time, are dealt to the workers of now, however many; a worker that has
    several goes on with the slowest of them. The stream's frontier is that of the slowest part. Frontiers come as fast
    as the dataflow takes them, so operators may see several moves as one. Memory: none; parts are mapped.

    unfinished: read what a killed run has left of a capture to that folder, as far as it goes; the stream ends there.
    Raises UsageError where there is no capture, and (as OperatorError, in the run) for one that was damaged; GraphError
    in a loop.
    """
    require_root(scope, f"source {name!r}")
    require_flags(f"source {name!r}", unfinished=unfinished)
    whole = folder_at(f"source {name!r}", folder)
    parts = _parts(name, whole, unfinished)
    schema, updates = _schema(name, parts, whole)

    def construct(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        mine = parts[context.worker_index :: context.sharing] if context.worker_index < context.sharing else []
        playing = [_Part(path, schema, unfinished) for path in mine]

        def logic(output: OutputPort) -> None:
            if not token.live:
                return
            if not playing:
                token.drop()
                return
            context.activate()
            if context.congested:
                return
            slowest = min(playing, key=lambda part: part.frontier)
            for time, batch in slowest.until_next_frontier():
                output.give(token, batch, time)
            if slowest.frontier == COMPLETE:
                playing.remove(slowest)
            if playing:
                token.downgrade(min([part.frontier for part in playing]))
            else:
                token.drop()

        return logic

    (stream,) = scope.source(name, schema, construct)
    stream.updates = updates
    return stream


class _Part:
    """One part, at the frontier up to which it has been played."""

    def __init__(self, path: Path, schema: Schema, unfinished: bool) -> None:
        self.frontier: Time = 0
        self._path = path
        self._schema = schema
        self._events = _events(path, unfinished)

    def until_next_frontier(self) -> Iterator[tuple[Time, Batch]]:
        """The messages before the next frontier, which holds once they are sent."""
        for frontier, time, rows in self._events:
            if frontier is not None:
                self.frontier = frontier
                return
            yield time, named_rows(partial(Batch.from_arrow, self._schema, rows), f"{self._path} is damaged")
        self.frontier = COMPLETE


_Event = tuple[Time | None, Time, Any]
"""(frontier, 0, None) or (None, time, rows)."""


def _events(path: Path, unfinished: bool) -> Iterator[_Event]:
    """What a part says, in order, each once the checksum behind it holds. UsageError for a part that ends early, unless
    it may: then without the checksum that the last one lacks."""
    import pyarrow as pa

    with pa.memory_map(str(path)) as mapped:
        last: list[_Event] = []
        reason: Exception | str = "it has no end"
        try:
            for event in _recorded(mapped.read_buffer()):
                yield from last
                last = [event]
                if event[0] == COMPLETE:
                    yield event
                    return
        except (pa.ArrowException, OSError, SchemaError, LookupError, TypeError, ValueError) as error:
            reason = error
        if not unfinished:
            raise UsageError(f"{path} is damaged: {reason}; capture again")
        yield from last


def _recorded(part: "pa.Buffer") -> Iterator[_Event]:
    """What a part says, until it ends, of which all but the last that came is known to be what was written. Errors of
    any kind for what was not."""
    import pyarrow as pa

    source, before = pa.BufferReader(part), xxhash.xxh3_64()
    reader = pa.ipc.open_stream(source, options=pa.ipc.IpcReadOptions(use_threads=False))
    end = 0
    while True:
        try:
            rows, said = reader.read_next_batch_with_custom_metadata()
        except StopIteration:
            return
        if said.get(CHECKSUM) != before.hexdigest().encode():
            raise ValueError(f"the checksum of its first {end} bytes differs, or is not there")
        begin, end = end, source.tell()
        before.update(memoryview(part)[begin:end])
        if FRONTIER in said:
            yield int(said[FRONTIER]), 0, None
        else:
            rows.validate()
            require_sound(rows, rows.schema.names, set())
            yield None, int(said[TIME]), rows


def _parts(name: str, folder: Path, unfinished: bool) -> list[Path]:
    """The parts of a capture in the order of their workers."""
    found = sorted(folder.glob(f"*{SUFFIX}")) if folder.is_dir() else []
    if not found and unfinished:
        left = leftovers(folder)
        found = [part for whole in left if whole.is_dir() for part in sorted(whole.glob(f"*{SUFFIX}"))]
        alone = [path for path in left if path.is_file()]
        found += sorted(alone, key=lambda path: int(path.name.rpartition("-")[2]))
    if not found:
        cure = "" if unfinished else "; if its run was killed, unfinished=True reads what there is"
        raise UsageError(f"source {name!r}: {folder} holds no finished capture{cure}")
    return found


def _schema(name: str, parts: list[Path], whole: Path) -> tuple[Schema, Updates | None]:
    """The schema of the rows, and what is known of them where they are updates. Raises UsageError where these are not
    parts of one capture, and all of them where they are of a `whole` folder."""
    import pyarrow as pa

    written: dict[Path, pa.Schema] = {}
    for path in parts:
        with suppress(pa.ArrowException, OSError, ValueError), pa.memory_map(str(path)) as mapped:
            written[path] = pa.ipc.open_stream(mapped).schema
    if not written:
        raise UsageError(f"source {name!r}: {parts[0]} does not begin as a capture does; capture again")
    first, one = next(iter(written.items()))
    for path, other in written.items():
        if not other.equals(one, check_metadata=True):
            raise UsageError(
                f"source {name!r}: {path} is of another capture than {first}: give each a folder of its own"
            )
    metadata = one.metadata or {}
    if parts[0].parent == whole:
        _require_all(name, parts, int(metadata.get(PARTS, len(parts))))
    said = orjson.loads(metadata.get(UPDATES, b"null"))
    if said is not None and said["by"] is not None:
        said["by"] = tuple(said["by"])
    return Schema.from_arrow(one), None if said is None else Updates(**said)


def _require_all(name: str, parts: list[Path], count: int) -> None:
    """UsageError where these are not as many parts, numbered from 0."""
    wanted = [f"part-{number:05d}{SUFFIX}" for number in range(count)]
    found = [part.name for part in parts]
    for part in wanted:
        if part not in found:
            raise UsageError(f"source {name!r}: {parts[0].parent} lacks {part}: put it back, or capture again")
    for part in found:
        if part not in wanted:
            raise UsageError(f"source {name!r}: {parts[0].parent} has {count} parts, and {part} is none: remove it")
