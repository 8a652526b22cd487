"""Messages from Python to compiled operators: by reference, which holds until the round's end."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from tokenring.engine.columns import Batch, Schema, heap_address
from tokenring.engine.data import Burst
from tokenring.engine.native import OWN_TIMES, World, bring_texts, hand_over, waiting_at, words_of_time
from tokenring.engine.times import first_time
from tokenring.shm.kernels import address_of


class CompiledInbox:
    """What stands in place of a deque as the queue of a compiled operator's input."""

    __slots__ = ("_addresses", "_depth", "_heaps", "_kept", "_reads_texts", "_time", "_world", "port")

    def __init__(
        self, world: World, port: int, schema: Schema, depth: int, kept: "KeptColumns", reads_texts: bool
    ) -> None:
        """port: the row of the input in the world's tables; schema, depth: of what comes, and of its times.
        reads_texts: whether texts are to be where the operator can read them; nulls come in their place if not."""
        self._world = world
        self.port = port
        self._depth = depth
        self._addresses, self._heaps, self._time = kept.scratch(len(schema), depth)
        self._kept = kept
        self._reads_texts = reads_texts

    def append(self, message: tuple[Any, Batch, bool]) -> None:
        """A message that is counted comes from Python, or from a peer by way of Python."""
        time, batch, _ = message
        columns = batch.columns
        addresses = self._addresses
        for position, column in enumerate(columns):
            addresses[position] = address_of(column)
        keys, at_one_time = 0, 0
        kept: tuple[np.ndarray | None, ...] = (*columns, *batch.heaps)  # of which some are in the text space
        if time.__class__ is Burst:
            kept = (*kept, time.keys)
            keys, at_one_time, time = address_of(time.keys), time.time != OWN_TIMES, time.least
        if batch.heaps and not self._reads_texts:
            nulls = self._kept.nulls(batch.rows)
            kept = (*kept, nulls)
            for position, heap in enumerate(batch.heaps):
                if heap is not None:
                    addresses[position] = address_of(nulls)
        self._kept.until_round_ends(kept)
        try:
            if batch.heaps and self._reads_texts:
                for position, heap in enumerate(batch.heaps):
                    self._heaps[position] = 0 if heap is None else heap_address(heap)
                bring_texts(self._world.address, addresses, self._heaps, batch.rows)
            if self._depth > 1:
                self._time[: self._depth] = time
            else:
                self._time[0] = time
            hand_over(self._world.address, self.port, self._time, batch.rows, addresses, keys, at_one_time)
        except MemoryError:
            raise self._world.lacked() from None

    def __len__(self) -> int:
        return int(self._world.inputs["waiting"][self.port])

    def __iter__(self) -> Iterator[tuple[Any, Any, bool]]:
        """For explanations: (time, what knows how many rows there are, False) each."""
        waiting = waiting_at(self._world.inputs, self.port)
        return iter([(time, Waiting(rows), False) for time, rows in waiting])


class Waiting(NamedTuple):
    """A message in the memory of compiled operators, as far as explanations go."""

    rows: int


class KeptColumns:
    """Columns of Python's that compiled operators read in this round, and the bytes of their texts; and what all their
    inboxes write to while they append."""

    __slots__ = ("_columns", "_graph", "_nulls", "_round", "_scratch")

    def __init__(self, world: World) -> None:
        self._graph = world.state
        self._columns: list[tuple[np.ndarray | None, ...]] = []
        self._round = -1
        self._nulls = np.empty(0, np.int64)
        self._scratch: dict[tuple[int, int], tuple[np.ndarray, np.ndarray, np.ndarray]] = {}

    def scratch(self, width: int, depth: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """For messages of so many columns, at times of so many coordinates: the addresses of columns and of heaps,
        int64 (width,), and all coordinates of a time."""
        if (width, depth) not in self._scratch:
            columns = np.zeros((2, width), np.int64)
            self._scratch[width, depth] = columns[0], columns[1], words_of_time(first_time(depth))
        return self._scratch[width, depth]

    def nulls(self, rows: int) -> np.ndarray:
        """A column of nulls in the place of texts, int64 (rows or more,)."""
        if len(self._nulls) < rows:
            self._nulls = np.full(2 * rows, -1)
        return self._nulls

    def until_round_ends(self, columns: tuple[np.ndarray | None, ...]) -> None:
        """Keep these."""
        if self._graph.round != self._round:
            self._columns.clear()
            self._round = self._graph.round
        self._columns.append(columns)

    def let_go(self) -> None:
        """Keep none, if their round is over."""
        if self._columns and self._graph.round != self._round:
            self._columns.clear()
