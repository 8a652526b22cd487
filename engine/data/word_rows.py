"""Rows of whole words on their way to other workers: copied column by column, by one key or to everybody."""

from collections.abc import Callable

import numpy as np

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.data.plane import DataPlane
from tokenring.engine.errors import ConfigError
from tokenring.engine.graph import Broadcast, Exchange, Pact
from tokenring.shm.queues import HEADER_WORDS, PAD, partition_for, send_for

Columns = tuple[np.ndarray, ...]


class WordRows:
    """Carries batches as tuples of columns, all int64."""

    __slots__ = (
        *("_all_int64", "_copy", "_counts", "_partition", "_plane", "_receivers", "is_broadcast", "key", "keys"),
        *("select", "whole_rows"),
    )

    def __init__(
        self, plane: DataPlane, carried: Schema, schema: Schema, pact: Pact, describe: Callable[[], str]
    ) -> None:
        """carried: the schema of the batches; schema: of what crosses. ConfigError, which `describe()` begins, if a
        queue is too small for it.
        """
        self._plane = plane
        self._receivers, self._counts = plane.living, plane.counts
        self.select = tuple(carried.position(name) for name in schema.names)
        self.keys = pact.keys if isinstance(pact, Exchange) else ()
        """The names of the key's columns: one, or none."""
        self.key = schema.position(self.keys[0]) if self.keys else -1
        """The column to route by."""
        self.is_broadcast = isinstance(pact, Broadcast)
        self._partition = partition_for(len(schema))
        self._copy = send_for(len(schema))
        self._all_int64 = schema.all_int64
        self.whole_rows = most_rows(plane, schema, describe)
        """So many rows always fit into one message."""

    @property
    def workers(self) -> int:
        """Over how many workers rows are spread: those that there were when it was made."""
        return len(self._receivers)

    def prepared(self, batch: Batch) -> Columns:
        """What is to be written of a batch."""
        source = batch.columns
        columns = tuple([source[position] for position in self.select])
        if not self._all_int64:
            columns = tuple([column.view(np.int64) for column in columns])
        return columns

    def piece(self, columns: Columns, start: int, rows: int) -> int:
        """Where a piece of rows from `start` on ends that is one message."""
        return min(rows, start + self.whole_rows)

    def write(self, columns: Columns, start: int, stop: int, number: int, stamp: int) -> int:
        """Write rows into the queues of those that get them; returns how many messages, below 0 if one lacks room."""
        plane = self._plane
        if self.is_broadcast:
            return plane.broadcast(self._copy, columns, start, stop, number, stamp)
        sent = self._partition(
            columns, self.key, start, stop, self._receivers, plane.routes, self._counts, number, stamp
        )
        return int(sent)

    def is_full(self) -> bool:
        """Trying costs no more than asking would."""
        return False

    def copied(self, columns: Columns, start: int, stop: int) -> Columns:
        """The same rows in memory of their own."""
        return tuple([column[start:stop].copy() for column in columns])

    def size_bytes(self, columns: Columns) -> int:
        """How much they are."""
        return sum([column.nbytes for column in columns])


def most_rows(plane: DataPlane, schema: Schema, describe: Callable[[], str]) -> int:
    """How many rows of columns of words fit into a message; ConfigError if none do."""
    share_words = plane.message_limit_words - HEADER_WORDS
    rows = share_words // len(schema) // PAD * PAD
    if rows < PAD:
        raise ConfigError(
            f"{describe()}: messages of {len(schema)} columns do not fit queues of "
            f"{8 * 4 * plane.message_limit_words} bytes; "
            f"use queues of at least {_power_of_two_from(8 * 4 * (HEADER_WORDS + PAD * len(schema)))} bytes "
            f"(Config.queue_bytes)"
        )
    return rows


def _power_of_two_from(value: int) -> int:
    return 1 << (value - 1).bit_length()
