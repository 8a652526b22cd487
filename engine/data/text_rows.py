"""Rows on their way to other workers that need more than copying words of a few columns: text, keys that have to be
hashed, worker numbers to go by, and more columns than kernels are compiled for."""

from collections.abc import Callable

import numpy as np

from tokenring.engine.columns import Batch, Schema, hash_keys, heap_addresses, is_hashed
from tokenring.engine.data.plane import DataPlane
from tokenring.engine.data.routes import worker_numbers
from tokenring.engine.data.word_rows import most_rows
from tokenring.engine.errors import ConfigError
from tokenring.engine.graph import Broadcast, Exchange, Pact, Route
from tokenring.engine.texts import as_common
from tokenring.shm.kernels import COLUMNS_COMPILED, address_of
from tokenring.shm.queues import has_room, key_of_worker, message_size, partition_texts, rows_that_fit, send_texts

NO_KEYS = np.empty(0, np.int64)


def needs_text_rows(schema: Schema, pact: Pact) -> bool:
    """Whether an edge that carries `schema` across workers has text, a key that is not one column of whole words, or
    more columns than there are kernels for (one that takes addresses serves any number).
    """
    if isinstance(pact, Route) or (isinstance(pact, Exchange) and not pact.key_crosses):
        return True
    if len(schema) > COLUMNS_COMPILED:
        return True
    if schema.has_text or not isinstance(pact, Exchange):
        return schema.has_text
    return is_hashed([schema.kind(key) for key in pact.keys])


class _Rows:
    """A batch as the kernels want it: addresses of columns and heaps, and what each row is routed by.

    Where all texts are in the text space's common part, their words count from its start, and no column has a heap
    whose bytes are to be copied: they cross as other words do.
    """

    __slots__ = ("batch", "columns", "heaps", "is_common", "keys")

    def __init__(self, batch: Batch, keys: np.ndarray = NO_KEYS) -> None:
        common = as_common(batch)
        self.is_common = common is not None
        self.batch = batch if common is None else common  # keeps what the addresses point to
        self.columns = np.array([address_of(column) for column in self.batch.columns], np.int64)
        self.heaps = np.zeros(len(self.columns), np.int64) if self.is_common else heap_addresses(batch)
        self.keys = keys


class TextRows:
    """Carries batches by the addresses of their columns and heaps, and copies the text that rows point into behind
    their columns. Rows go by a hash of their keys, by one column, by a worker's number (which does not cross), or to
    everybody.
    """

    __slots__ = (
        *("_counts", "_describe", "_floats", "_keys", "_keys_of_workers", "_plane", "_receivers", "_refused", "_route"),
        *("is_broadcast", "is_hashed"),
        *("is_routed", "key", "keys", "left_behind", "most_rows", "schema", "whole_rows"),
    )

    def __init__(
        self, plane: DataPlane, schema: Schema, pact: Pact, peers: int, describe: Callable[[], str]
    ) -> None:
        """schema: of what crosses. Errors begin with `describe()`; ConfigError if a queue is too small."""
        self._plane = plane
        self._receivers, self._counts = plane.living, plane.counts
        self._refused = 0, 0
        """The receiver whose queue had no room for the last piece, and the words that takes; 0 if all had."""
        self.schema = schema
        self._describe = describe
        self.keys = pact.keys if isinstance(pact, Exchange) else ()
        """The names of the key's columns."""
        self.left_behind = self.keys[0] if isinstance(pact, Exchange) and not pact.key_crosses else ""
        """The column that rows go by, if it does not cross."""
        self._keys = [] if self.left_behind else [schema.position(key) for key in self.keys]
        kinds = [schema.kinds[position] for position in self._keys]
        self._floats = np.array([kind.is_float for kind in kinds], np.int64)
        self.is_hashed = is_hashed(kinds)
        self.is_broadcast = isinstance(pact, Broadcast)
        self._route = pact if isinstance(pact, Route) else None
        self.is_routed = self._route is not None
        self._keys_of_workers = np.array([key_of_worker(peer, peers) for peer in range(peers)], np.int64)
        self.most_rows = most_rows(plane, schema, describe)
        self.key = -1
        self.whole_rows = -1
        """No number of rows always fits into a message."""

    @property
    def workers(self) -> int:
        """Over how many workers rows are spread: those that there were when it was made."""
        return len(self._receivers)

    def prepared(self, batch: Batch) -> _Rows:
        """What is to be written of a batch. SchemaError, UsageError for what says no worker's number."""
        selected = batch.select(self.schema)
        if not all([column.flags.c_contiguous for column in selected.columns]):
            selected = selected.copy()
        rows = _Rows(selected)
        if self.is_hashed:
            rows.keys = np.empty(batch.rows, np.int64)
            heaps = heap_addresses(rows.batch)
            hash_keys(rows.columns[self._keys], heaps[self._keys], self._floats, rows.keys)
        elif self.left_behind:
            rows.keys = np.ascontiguousarray(batch.words(self.left_behind))
        elif self._keys:
            rows.keys = selected.columns[self._keys[0]].view(np.int64)
        elif self._route is not None:
            peers = len(self._keys_of_workers)
            rows.keys = self._keys_of_workers[worker_numbers(self._route, batch, peers, self._describe)]
        return rows

    def piece(self, columns: _Rows, start: int, rows: int) -> int:
        """Where a piece of rows from `start` on ends that is one message; ConfigError if not one fits."""
        stop = min(rows, start + self.most_rows)
        limit_words = self._plane.message_limit_words
        fitting = int(rows_that_fit(columns.columns, columns.heaps, start, stop, limit_words))
        if fitting == start:
            raise ConfigError(
                f"{self._describe()}: a row's text does not fit queues of {8 * 4 * limit_words} bytes, of which "
                f"a message may take a quarter; use larger ones (Config.queue_bytes)"
            )
        return fitting

    def write(self, columns: _Rows, start: int, stop: int, number: int, stamp: int) -> int:
        """Write rows into the queues of those that get them; returns how many messages, below 0 if one lacks room."""
        plane = self._plane
        self._refused = 0, 0
        if not self.is_broadcast:
            sent = int(
                partition_texts(
                    columns.columns, columns.heaps, columns.keys, start, stop,
                    self._receivers, plane.routes, self._counts, number, stamp,
                )
            )  # fmt: skip
            if sent < 0:
                self._refused = -1 - sent, int(self._counts[0, -1 - sent])
            return sent
        size = message_size(columns.columns, columns.heaps, start, stop)
        for worker, queue in enumerate(plane.living):
            if not has_room(queue, size):
                self._refused = worker, size
                return -1
        for worker in range(len(plane.living)):
            send_texts(columns.columns, columns.heaps, start, stop, plane.outgoing, worker, number, stamp)
        return len(plane.living)

    def is_full(self) -> bool:
        """Whether the queue that had no room for the last piece still has none: to be asked before that is tried again,
        since to find out what a piece takes is to look at all of its rows."""
        worker, words = self._refused
        return words > 0 and not has_room(self._receivers[worker], words)

    def copied(self, columns: _Rows, start: int, stop: int) -> _Rows:
        """The same rows in memory of their own."""
        return _Rows(columns.batch.slice(start, stop).copy(), columns.keys[start:stop].copy())

    def size_bytes(self, columns: _Rows) -> int:
        """How much they are."""
        heaps = 0 if columns.is_common else sum([heap.nbytes for heap in columns.batch.heaps if heap is not None])
        return heaps + 8 * columns.batch.rows * len(columns.batch.columns)
