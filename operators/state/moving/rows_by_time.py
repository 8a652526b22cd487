"""RowsByTime: rows that wait for times of theirs, as state that moves, and is saved."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import COMPLETE, Batch, InputPort, Schema, Time
from tokenring.operators.migrate import Leaving, Table

_TIME = "time"


def times_table(rows: Schema, key: Sequence[str] = ()) -> Table:
    """The table of rows that wait. key: the columns that they are exchanged by; where there are none, whoever has rows
    of a time may have the others."""
    schema = Schema.of({f"row {name}": kind for name, kind in rows.spec().items()} | {_TIME: "int64"})
    return Table(schema, tuple([f"row {name}" for name in key]) or (_TIME,), is_anywhere=not key)


class RowsByTime:
    """Rows of each time that wait on one worker, in the order in which they came."""

    def __init__(self, rows: Schema, table: Table) -> None:
        """table: that of `times_table`."""
        self._rows, self._table = rows, table
        self._waiting: SortedDict = SortedDict()  # time -> batches
        self.times = self._waiting.keys()
        """The times that rows wait for, in order."""

    @property
    def least(self) -> Time:
        """The least of the times; COMPLETE if nothing waits."""
        return self._waiting.peekitem(0)[0] if self._waiting else COMPLETE

    def add(self, time: Time, rows: Batch) -> None:
        """Let rows, of their own memory, wait."""
        self._waiting.setdefault(time, []).append(rows)

    def pop(self) -> tuple[Time, Batch]:
        """The rows of the least time wait no more."""
        time, batches = self._waiting.popitem(0)
        return time, Batch.concatenate(batches)

    def finished(self, rows: InputPort) -> Iterator[tuple[Time, Batch]]:
        """Let what has come at an input wait; and no more, in order, the rows of each time that is finished there."""
        for reference, batch in rows:
            self.add(reference.time, batch.copy())
        while self.least < rows.frontier:
            yield self.pop()

    def take_out(self, leaving: Leaving) -> Sequence[Batch]:
        """See Moves."""
        schema = self._table.schema
        taken = [Batch(schema, {name: [] for name in schema.names})]
        for time in [*self._waiting]:
            rows = Batch.concatenate(self._waiting.pop(time))
            heaps = (*rows.heaps, None) if schema.has_text else ()
            timed = Batch.wrap(schema, (*rows.columns, np.full(rows.rows, time)), rows.rows, heaps, rows)
            leaves = leaving.rows(timed, self._table.key)
            taken.append(timed.filter(leaves))
            if not leaves.all():
                self.add(time, rows.filter(~leaves))
        return [Batch.concatenate(taken)]

    def put_in(self, tables: Sequence[Batch]) -> Time:
        """See Moves."""
        times = tables[0].words(_TIME)
        order = np.argsort(times, kind="stable")
        rows, times = tables[0].take(order), times[order]
        heaps = rows.heaps[:-1] if self._rows.has_text else ()
        rows = Batch.wrap(self._rows, rows.columns[:-1], rows.rows, heaps, rows)
        begins = [0, *(np.flatnonzero(np.diff(times)) + 1).tolist(), len(times)]
        for begin, end in pairwise(begins):
            if begin < end:
                self.add(int(times[begin]), rows.slice(begin, end).copy())
        return int(times[0]) if len(times) else COMPLETE
