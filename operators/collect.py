"""Sinks that keep rows on the worker: all of them, or the latest of each key."""

from collections.abc import Callable

import numpy as np

from engine import COLUMN, TABLE, WORDS, InputPort, Notify, OperatorContext, Stream, kernel_for_columns, void
from operators.hash_index import HashIndex, slot_of


class Collected:
    """The rows that reached a sink on this worker, as columns by name; complete once the dataflow is."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._pieces: list[tuple[np.ndarray, ...]] = []

    def add(self, columns: tuple[np.ndarray, ...]) -> None:
        """Keep copies of columns."""
        self._pieces.append(tuple([column.copy() for column in columns]))

    def columns(self) -> dict[str, np.ndarray]:
        """All rows in the order of arrival: name -> array of shape (rows,)."""
        if not self._pieces:
            return {name: np.empty(0, np.int64) for name in self.names}
        return {name: np.concatenate([piece[at] for piece in self._pieces]) for at, name in enumerate(self.names)}


def collect(stream: Stream, name: str = "collect") -> Collected:
    """Keep every row that arrives on this worker. Memory: all of them; use it for small results and tests."""
    collected = Collected(stream.schema.names)

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(rows: InputPort) -> None:
            for _, batch in rows:
                collected.add(batch.columns)

        return logic

    stream.sink(name, construct, notify=Notify.NEVER)
    return collected


@kernel_for_columns(lambda columns: void(TABLE, WORDS, TABLE, COLUMN, columns))
def _put_for(cells, size, rows, keys, columns):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        slot = slot_of(cells, size, keys[i])
        for at, column in enumerate(columns):
            rows[slot, at] = column[i]


class Latest:
    """The latest row of each key that reached a sink on this worker (int64 columns)."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._index = HashIndex()
        self._put = _put_for(len(names))
        self._rows = np.zeros((self._index.capacity, len(names)), np.int64)

    def put(self, keys: np.ndarray, columns: tuple[np.ndarray, ...]) -> None:
        """Replace rows by key; of equal keys within the call, the last one stays."""
        if self._index.reserve(len(keys)):
            grown = np.zeros((self._index.capacity, len(self.names)), np.int64)
            grown[: len(self._rows)] = self._rows
            self._rows = grown
        self._put(self._index.cells, self._index.size, self._rows, keys, columns)

    def columns(self) -> dict[str, np.ndarray]:
        """The rows, in the order in which keys first appeared: name -> int64 array."""
        return {name: self._rows[: len(self._index), at].copy() for at, name in enumerate(self.names)}


def latest(stream: Stream, key: str, name: str = "latest") -> Latest:
    """Keep the latest row of each key that arrives on this worker (exchange by the key first if keys are spread).
    Memory: one row a key.
    """
    kept = Latest(stream.schema.names)
    position = stream.schema.position(key)

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(rows: InputPort) -> None:
            for _, batch in rows:
                kept.put(batch.columns[position], batch.columns)

        return logic

    stream.sink(name, construct, notify=Notify.NEVER)
    return kept
