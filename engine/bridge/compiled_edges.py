"""Messages from compiled operators to what is Python's: lent, as those from peers are, until the round's end."""

import numpy as np

from tokenring.engine.columns import Batch, Heaps, Schema
from tokenring.engine.data import Burst, Edge
from tokenring.engine.native import HEADER_WORDS, OWN_TIMES, Message, World, array_at, next_for_python, was_handed_on
from tokenring.engine.progress import ChangeLog
from tokenring.engine.texts import heap_of_words
from tokenring.engine.times import AnyTime


class CompiledEdges:
    """The edges of one worker from compiled operators to what is Python's: by number, what messages are handed to."""

    def __init__(self, world: World, log: ChangeLog, lent: list[Batch]) -> None:
        """lent: the batches whose bytes are given back at the round's end, unless somebody keeps them."""
        self._world = world
        self._log = log
        self._lent = lent
        self._told = np.zeros(HEADER_WORDS, np.int64)
        self._header = Message(self._told)
        self._view = self._told.data
        self._edges: dict[int, tuple[Edge, Schema, Heaps, int]] = {}

    def add(self, number: int, edge: Edge, schema: Schema, depth: int) -> None:
        """Let messages of an edge of the world's tables, at times of so many coordinates, go on to `edge`."""
        heaps: Heaps = ()
        if schema.has_text:
            heaps = tuple([heap_of_words() if kind.is_text else None for kind in schema.kinds])
        self._edges[number] = edge, schema, heaps, depth
        if HEADER_WORDS + len(schema) > len(self._told):
            self._told = np.zeros(HEADER_WORDS + len(schema), np.int64)
            self._header, self._view = Message(self._told), self._told.data

    def forget(self, number: int) -> None:
        """The edge's dataflow is finished."""
        self._edges.pop(number, None)

    def hand_on(self) -> None:
        """Hand all messages that wait for Python to who reads them."""
        address = self._world.address
        while next_for_python(address, self._told):
            told = self._header
            edge, schema, heaps, depth = self._edges[told.edge_number]
            rows = told.rows
            columns = []
            for position in range(told.width):
                words = array_at(self._view[HEADER_WORDS + position], rows)
                words.flags.writeable = False
                columns.append(words if schema.all_int64 else words.view(schema.dtypes[position]))
            batch = Batch.wrap(schema, tuple(columns), rows, heaps)
            batch.lend(self._lent)
            if told.keys:
                keys = array_at(told.keys, rows).copy()
                burst = Burst(keys, told.time if told.at_one_time else OWN_TIMES)
                try:
                    edge.push_each(burst, batch)
                finally:  # a stage that raises has had it
                    burst.log_each(self._log, was_handed_on(address, told.edge_number), -1)
            else:
                time: AnyTime = told.time
                if depth > 1:
                    time = (told.time, *told.inner.tolist()[: depth - 1])
                try:
                    edge.push(time, batch)
                finally:
                    self._log.add(was_handed_on(address, told.edge_number), time, -1)
