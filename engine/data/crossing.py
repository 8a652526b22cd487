"""Where messages cross between Python and compiled operators: by reference, which holds until the round's end."""

from collections.abc import Iterator
from typing import Any

import numpy as np

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.data.burst import OWN_TIMES, Burst
from tokenring.engine.data.channel import Edge
from tokenring.engine.native import (
    AT_ONE_TIME,
    EDGE_NUMBER,
    HEADER_WORDS,
    KEYS,
    ROUND,
    ROWS,
    TIME,
    WIDTH,
    World,
    array_at,
    hand_over,
    next_for_python,
    waiting_at,
    was_handed_on,
)
from tokenring.engine.progress import ChangeLog
from tokenring.shm.kernels import address_of


class CompiledInbox:
    """What stands in place of a deque as the queue of a compiled operator's input."""

    __slots__ = ("_addresses", "_kept", "_world", "port")

    def __init__(self, world: World, port: int, width: int, kept: "KeptColumns") -> None:
        """port: the row of the input in the world's tables, of so many columns."""
        self._world = world
        self.port = port
        self._addresses = np.zeros(width, np.int64)
        self._kept = kept

    def append(self, message: tuple[Any, Batch, bool]) -> None:
        """A message that is counted comes from Python, or from a peer by way of Python."""
        time, batch, _ = message
        columns = batch.columns
        addresses = self._addresses
        for position, column in enumerate(columns):
            addresses[position] = address_of(column)
        keys, at_one_time = 0, 0
        kept: tuple[np.ndarray, ...] = columns
        if time.__class__ is Burst:
            kept = (*columns, time.keys)
            keys, at_one_time, time = address_of(time.keys), time.time != OWN_TIMES, time.least
        self._kept.until_round_ends(kept)
        hand_over(self._world.address, self.port, time, batch.rows, addresses, keys, at_one_time)

    def times(self) -> list[int]:
        """The times of the messages that wait."""
        return waiting_at(self._world.address, self.port)

    def __len__(self) -> int:
        return int(self._world.inputs["waiting"][self.port])

    def __iter__(self) -> Iterator[tuple[Any, Any, bool]]:
        """For explanations: (time, None, False) each."""
        return iter([(time, None, False) for time in self.times()])


class KeptColumns:
    """Columns of Python's that compiled operators read in this round."""

    __slots__ = ("_columns", "_round", "_view")

    def __init__(self, world: World) -> None:
        self._view = world.view
        self._columns: list[tuple[np.ndarray, ...]] = []
        self._round = -1

    def until_round_ends(self, columns: tuple[np.ndarray, ...]) -> None:
        """Keep these."""
        if self._view[ROUND] != self._round:
            self._columns.clear()
            self._round = self._view[ROUND]
        self._columns.append(columns)

    def let_go(self) -> None:
        """Keep none, if their round is over."""
        if self._columns and self._view[ROUND] != self._round:
            self._columns.clear()


class CompiledEdges:
    """The edges of one worker from compiled operators to what is Python's: by number, what messages are handed to."""

    def __init__(self, world: World, log: ChangeLog, lent: list[Batch]) -> None:
        """lent: the batches whose bytes are given back at the round's end, unless somebody keeps them."""
        self._world = world
        self._log = log
        self._lent = lent
        self._told = np.zeros(HEADER_WORDS, np.int64)
        self._view = self._told.data
        self._edges: dict[int, tuple[Edge, Schema]] = {}

    def add(self, number: int, edge: Edge, schema: Schema) -> None:
        """Let messages of an edge of the world's tables go on to `edge`."""
        self._edges[number] = edge, schema
        if HEADER_WORDS + len(schema) > len(self._told):
            self._told = np.zeros(HEADER_WORDS + len(schema), np.int64)
            self._view = self._told.data

    def forget(self, number: int) -> None:
        """The edge's dataflow is finished."""
        self._edges.pop(number, None)

    def hand_on(self) -> None:
        """Hand all messages that wait for Python to who reads them."""
        address = self._world.address
        while next_for_python(address, self._told):
            told = self._view
            edge, schema = self._edges[told[EDGE_NUMBER]]
            rows = told[ROWS]
            columns = []
            for position in range(told[WIDTH]):
                words = array_at(told[HEADER_WORDS + position], rows)
                words.flags.writeable = False
                columns.append(words if schema.all_int64 else words.view(schema.dtypes[position]))
            batch = Batch.wrap(schema, tuple(columns), rows)
            batch.lend(self._lent)
            if told[KEYS]:
                keys = array_at(told[KEYS], rows).copy()
                burst = Burst(keys, told[TIME] if told[AT_ONE_TIME] else OWN_TIMES)
                edge.push_each(burst, batch)
                burst.log_each(self._log, was_handed_on(address, told[EDGE_NUMBER]), -1)
            else:
                time = told[TIME]
                edge.push(time, batch)
                self._log.add(was_handed_on(address, told[EDGE_NUMBER]), time, -1)
