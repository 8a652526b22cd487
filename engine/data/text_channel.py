"""Channels between workers for what needs more than copying words of a few columns: text, keys that have to be hashed,
and more columns than kernels are compiled for."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tokenring.engine.columns import Batch, Kind, Schema, hash_keys, heap_address
from tokenring.engine.data.burst import Burst
from tokenring.engine.data.input_port import InputPort
from tokenring.engine.data.remote_channel import RemoteChannel
from tokenring.engine.data.runtime import Runtime
from tokenring.engine.errors import ConfigError
from tokenring.engine.graph import Exchange, Pact
from tokenring.shm.kernels import COLUMNS_COMPILED, address_of
from tokenring.shm.queues import has_room, message_size, partition_texts, rows_that_fit, send_texts

NO_KEYS = np.empty(0, np.int64)


def needs_text_channel(schema: Schema, pact: Pact) -> bool:
    """Whether an edge that carries `schema` across workers has text, a key that is not one column of whole words, or
    more columns than there are kernels for (one that takes addresses serves any number).
    """
    if len(schema) > COLUMNS_COMPILED:
        return True
    if schema.has_text or not isinstance(pact, Exchange):
        return schema.has_text
    return _is_hashed([schema.kind(key) for key in pact.keys])


def _is_hashed(keys: Sequence[Kind]) -> bool:
    """Whether equal keys may be of different words: texts, floats' two zeros, several columns."""
    return len(keys) > 1 or any([kind.is_text or kind.name == "float64" for kind in keys])


class _Rows:
    """A batch as the kernels want it: addresses of columns and heaps, and what each row is routed by."""

    __slots__ = ("batch", "columns", "heaps", "keys")

    def __init__(self, batch: Batch, keys: np.ndarray = NO_KEYS) -> None:
        self.batch = batch  # keeps what the addresses point to
        heaps = batch.heaps or (None,) * len(batch.columns)
        self.columns = np.array([address_of(column) for column in batch.columns], np.int64)
        self.heaps = np.array([0 if heap is None else heap_address(heap) for heap in heaps], np.int64)
        self.keys = keys


def rows_for(batch: Batch, keys: np.ndarray) -> _Rows:
    """A batch's rows, for channels that route them by keys, int64 of shape (rows,)."""
    if not all([column.flags.c_contiguous for column in batch.columns]):
        batch = batch.copy()
    return _Rows(batch, keys)


class TextChannel(RemoteChannel):
    """An edge between workers that copies the text its rows point into behind their columns."""

    def __init__(self, runtime: Runtime, origin: int, carried: Schema, target: InputPort, pact: Pact) -> None:
        super().__init__(runtime, origin, carried, target, pact)
        self._describe = target.describe
        keys = pact.keys if isinstance(pact, Exchange) else ()
        self._keys = [self._schema.position(key) for key in keys]
        kinds = [self._schema.kinds[position] for position in self._keys]
        self._floats = np.array([kind.name == "float64" for kind in kinds], np.int64)
        self._is_hashed = _is_hashed(kinds)

    def push(self, time: Any, batch: Batch) -> None:
        """Exchange the rows of a batch; count the messages that were made."""
        rows = rows_for(batch.select(self._schema), NO_KEYS)
        batch = rows.batch
        if self._is_hashed:
            rows.keys = np.empty(batch.rows, np.int64)
            hash_keys(rows.columns[self._keys], rows.heaps[self._keys], self._floats, rows.keys)
        elif self._keys:
            rows.keys = batch.columns[self._keys[0]].view(np.int64)
        self._push_pieces(rows, batch.rows, time)

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Exchange one message after the other."""
        for time, rows in burst.messages(batch):
            self.push(time, rows)

    def _piece(self, columns: _Rows, start: int, rows: int) -> int:
        stop = min(rows, start + self._rows_limit)
        limit_words = self._plane.message_limit_words
        fitting = int(rows_that_fit(columns.columns, columns.heaps, start, stop, limit_words))
        if fitting == start:
            raise ConfigError(
                f"{self._describe()}: a row's text does not fit queues of {8 * 4 * limit_words} bytes, of which "
                f"a message may take a quarter; use larger ones (Config.queue_bytes)"
            )
        return fitting

    def _write(self, columns: _Rows, start: int, stop: int, stamp: int) -> int:
        plane = self._plane
        if not self.is_broadcast:
            return int(
                partition_texts(
                    columns.columns, columns.heaps, columns.keys, start, stop,
                    plane.outgoing, plane.routes, plane.counts, self.number, stamp,
                )
            )  # fmt: skip
        size = message_size(columns.columns, columns.heaps, start, stop)
        if not all(has_room(queue, size) for queue in plane.outgoing):
            return -1
        for worker in range(len(plane.outgoing)):
            send_texts(columns.columns, columns.heaps, start, stop, plane.outgoing, worker, self.number, stamp)
        return len(plane.outgoing)

    def _copied(self, columns: _Rows, start: int, stop: int) -> _Rows:
        return _Rows(columns.batch.slice(start, stop).copy(), columns.keys[start:stop].copy())

    def _size_bytes(self, columns: _Rows) -> int:
        heaps = sum([heap.nbytes for heap in columns.batch.heaps if heap is not None])
        return heaps + 8 * columns.batch.rows * len(columns.batch.columns)
