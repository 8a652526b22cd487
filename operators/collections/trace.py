"""An arrangement on one worker: what its operator seals, and who reads it."""

import os
from collections.abc import Callable, Iterator, Sequence
from tempfile import TemporaryFile
from time import monotonic_ns
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring.engine import Batch, ConfigError, InputPort, OperatorContext, Schema, TokenRef
from tokenring.engine.arguments import folder_at
from tokenring.engine.times import NestedTime
from tokenring.operators.collections.updates import ALL, Sealed, Spine, is_merged, merge_at
from tokenring.operators.collections.words import heaps_of, table_of

if TYPE_CHECKING:
    from tokenring.operators.collections import sharing

class Reader:
    """One who looks up what a trace has: how many of its batches it has taken, and `since`, what it will ask for at the
    earliest (an antichain)."""

    def __init__(self, spine: Spine, number: int) -> None:
        self._spine, self.number = spine, number
        self._last: list[NestedTime] | None = None

    @property
    def taken(self) -> int:
        """How many batches it has taken: what it sees of the trace are those before."""
        return int(self._spine.readers[self.number]["taken"])

    @property
    def since(self) -> list[NestedTime]:
        """The times that it may ask for at the earliest; none: it asks no more."""
        return self._spine.asked_since(self.number) if self._last is None else self._last

    @since.setter
    def since(self, since: list[NestedTime]) -> None:
        self._spine.ask_since(self.number, since)

    def take(self, port: InputPort) -> Iterator[tuple[TokenRef, np.ndarray]]:
        """The batches that have come on the arrangement's stream, each with its reference: int64 (columns, rows)."""
        for reference, batch in self.take_batches(port):
            yield reference, table_of(batch)

    def take_batches(self, port: InputPort) -> Iterator[tuple[TokenRef, Batch]]:
        """The same, as they came."""
        for reference, batch in port:
            self._spine.readers[self.number]["taken"] += 1
            yield reference, batch

    def leave(self) -> None:
        """It reads no more."""
        self._last = self.since
        self._spine.leave(self.number)


class Trace:
    """The batches of one arrangement on this worker. keys, data: how many columns are the key, the first ones, and data
    at all; folder: where large batches are to lie in a file."""

    def __init__(self, keys: int, data: int, depth: int, folder: str | None = None) -> None:
        self.keys, self.data, self.depth = keys, data, depth
        self.spine = Spine(data, depth, folder)
        self.readers: list[Reader] = []
        self.pending: Callable[[], np.ndarray] = lambda: np.empty((0, 0), np.int64)
        """A copy of what has come and is not finished, as it came (set by the operator that arranges)."""
        self._due_ns = 0  # when merges are to go on

    @property
    def upper(self) -> list[NestedTime]:
        """What is finished, an antichain; none: all."""
        return self.spine.upper_times

    @upper.setter
    def upper(self, upper: list[NestedTime]) -> None:
        self.spine.upper_times = upper

    def read(self) -> Reader:
        """Begin to look up what is there, and to take the batches that come from now on."""
        return self._reader(self.spine.added)

    def read_all(self) -> Reader:
        """Look up what is there, always all of it."""
        return self._reader(ALL)

    def shared(self) -> "tuple[sharing.Trace, Reader]":
        """To a view of it: what it reads, as who, until it leaves."""
        return self, self.read()

    def hold(self, since: int) -> Reader:
        """Look up what is there, all of it, as of this time of the root scope and later."""
        reader = self.read_all()
        reader.since = [(since,)]
        return reader

    def leave(self, reader: Reader) -> None:
        """Somebody reads no more."""
        self.readers.remove(reader)
        reader.leave()

    def _reader(self, taken: int) -> Reader:
        reader = Reader(self.spine, self.spine.new_reader(taken))
        self.readers.append(reader)
        return reader

    def merge_on(self, context: OperatorContext) -> None:
        """Let merges go on while nothing is added, where times have one coordinate; the operator is run when it is time
        for more."""
        if self.depth == 1 and not is_merged(self.spine.address):
            now_ns = monotonic_ns()
            due_ns = merge_at(self.spine.address, now_ns)
            if due_ns not in (0, self._due_ns):
                context.activate_after(max(0, due_ns - now_ns))
            self._due_ns = due_ns

    def seal(self, batch: Sealed) -> None:
        """Add a batch, which all readers see next."""
        self.spine.add(batch.words)


def folder_of_batches(name: str, folder: str | os.PathLike[str]) -> str:
    """The folder as a path; ConfigError if no file can be made in it."""
    path = os.fspath(folder_at(f"operator {name!r}", folder))
    try:
        with TemporaryFile(dir=path):
            return path
    except OSError as error:
        raise ConfigError(
            f"operator {name!r}: batches cannot lie in {path!r}: {error.strerror}; name a folder that is there, on a "
            f"disk, and may be written to"
        ) from None


def batch_of(schema: Schema, table: np.ndarray) -> Batch:
    """Columns of a table of canonical words as a batch."""
    columns: Sequence[Any] = [
        column if dtype == np.int64 else column.view(dtype) for column, dtype in zip(table, schema.dtypes, strict=True)
    ]
    return Batch.wrap(schema, tuple(columns), table.shape[1], heaps_of(schema))
