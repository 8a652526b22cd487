"""Joins that send rows alone once the other side is finished, where state moves: rows move, and rights stay behind.

A row that waits for the end is sent at its message's time. A right to that time cannot go with it to another worker:
state moves at a later time, when nothing earlier can be sent any more. So the join itself holds no right for such rows.
It tells all workers how many wait, by their messages' times, and what holds the rights is behind it: on each worker an
operator with a token at the least of these times. When the end has come the join sends its rows there, and their times.

Why no right is missing: a row that begins to wait is told of by a message of its own time, which holds that time back
until it is counted. Whatever else is told of that time may be counted earlier or later: where the count is not above 0
although rows wait, there is such a message under way, to every worker.
"""

from collections import defaultdict
from collections.abc import Callable
from functools import partial

import numpy as np
from sortedcontainers import SortedDict

from tokenring.engine import (
    COMPLETE,
    Batch,
    Broadcast,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    Stream,
    Time,
    Token,
    TokenRef,
)
from tokenring.engine.columns import free_name
from tokenring.operators.joins.compiled import compiled_join
from tokenring.operators.joins.kept import LEFT, RIGHT, JoinedColumns, join_tables
from tokenring.operators.migrate import hears_of_ends, state_moves
from tokenring.operators.rows import union

_TIME = "#time"
WAITS = Schema("time rows worker")
"""So many rows more of a message's time wait (below 0: fewer). worker: which sends them, -1 if they matched."""


def declare_moving(
    columns: JoinedColumns,
    sides: tuple[Stream, Stream],
    needs: tuple[tuple[str, ...], tuple[str, ...]],
    unique: int,
) -> Stream:
    """The operators of a join without extents whose rows are sent alone. The arguments: of `declare`."""
    builder = sides[LEFT].operator(columns.operator, Notify.ALWAYS)
    hears_of_ends(builder)
    for side in (LEFT, RIGHT):
        builder.input(sides[side], Exchange(columns.key(side), needs[side]))
    state_moves(builder, join_tables(columns, False), pends=True)  # what came is looked at by the right that comes
    pairs, late, waits = builder.output(columns.schema), builder.output(_late(columns.schema)), builder.output(WAITS)
    arriving = sides[LEFT].schema.select(needs[LEFT]), sides[RIGHT].schema.select(needs[RIGHT])
    builder.build_compiled(
        lambda context: compiled_join(columns, arriving, None, unique, True, context.worker_index), texts=True
    )
    alone = late.operator(f"{columns.operator}.alone", Notify.ALWAYS)
    alone.input(late)
    alone.input(waits, Broadcast())
    sent = alone.output(columns.schema)
    alone.build(partial(_alone, columns.schema))
    return union(pairs, sent, name=f"{columns.operator}.all")


def _late(schema: Schema) -> Schema:
    return Schema.of(schema.spec() | {free_name(_TIME, schema.positions): "int64"})


class _Rights:
    """How many rows wait by their messages' times, and a token at the least of these."""

    def __init__(self) -> None:
        self._counts: SortedDict = SortedDict()
        self.token: Token | None = None

    def add(self, time: Time, rows: int, reference: TokenRef | None = None) -> None:
        """So many rows more wait. reference: of a message at that time, where rows begin to."""
        count = self._counts.get(time, 0) + rows
        if count:
            self._counts[time] = count
        else:
            self._counts.pop(time, None)
        if count > 0 and reference is not None and (self.token is None or time < self.token.time):
            earlier = reference.retain()
            if self.token is not None:
                self.token.drop()
            self.token = earlier

    def go_on(self) -> None:
        """Hold nothing that is not needed."""
        if self.token is None:
            return
        least = next((time for time, count in self._counts.items() if count > 0), COMPLETE)
        if least == COMPLETE:
            self.token.drop()
            self.token = None
        elif least > self.token.time:
            self.token.downgrade(least)


def _alone(schema: Schema, context: OperatorContext, token: Token) -> Callable[..., None]:
    token.drop()
    rights, rows = _Rights(), defaultdict[Time, list[Batch]](list)

    def logic(late: InputPort, waits: InputPort, output: OutputPort) -> None:
        for _, batch in late:
            times = batch.columns[-1]
            for time in np.unique(times).tolist():
                rows[time].append(batch.filter(times == time).select(schema).copy())
        for reference, batch in waits:
            for time, count, worker in zip(*[batch[name].tolist() for name in WAITS.names], strict=True):
                if worker != context.worker_index:  # its own are counted when they are sent
                    rights.add(time, count, reference if time == reference.time else None)
        held = rights.token
        if held is not None:
            for time in sorted([time for time in rows if time >= held.time]):
                for batch in rows.pop(time):
                    output.give(held, batch, time)
                    rights.add(time, -batch.rows)
        rights.go_on()

    return logic
