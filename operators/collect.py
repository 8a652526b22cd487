"""Sinks that keep rows on the worker: all of them, or the latest of each key."""

from collections.abc import Callable

import numpy as np

from engine import InputPort, Notify, OperatorContext, Stream, kernel
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


@kernel
def _slots(cells, size, keys, slots):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        slots[i] = slot_of(cells, size, keys[i])


class Latest:
    """The latest row of each key that reached a sink on this worker (int64 columns)."""

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self._index = HashIndex()
        self._rows = np.zeros((len(names), self._index.capacity), np.int64)

    def put(self, keys: np.ndarray, columns: tuple[np.ndarray, ...]) -> None:
        """Replace rows by key; of equal keys within the call, the last one stays."""
        if self._index.reserve(len(keys)):
            grown = np.zeros((len(self.names), self._index.capacity), np.int64)
            grown[:, : self._rows.shape[1]] = self._rows
            self._rows = grown
        slots = np.empty(len(keys), np.int64)
        _slots(self._index.cells, self._index.size, keys, slots)
        for row, column in zip(self._rows, columns, strict=True):
            row[slots] = column

    def columns(self) -> dict[str, np.ndarray]:
        """The rows, in the order in which keys first appeared: name -> int64 array."""
        return {name: self._rows[at, : len(self._index)].copy() for at, name in enumerate(self.names)}


def latest(stream: Stream, key: str, name: str = "latest") -> Latest:
    """Keep the latest row of each key that arrives on this worker (exchange by the key first if keys are spread). Memory: one row a key."""
    kept = Latest(stream.schema.names)

    def construct(context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(rows: InputPort) -> None:
            for _, batch in rows:
                kept.put(batch[key], batch.columns)

        return logic

    stream.sink(name, construct, notify=Notify.NEVER)
    return kept
