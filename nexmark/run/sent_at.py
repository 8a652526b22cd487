"""Rows of results that change, where state may move, with the times at which they were sent.

A key's rows come from one worker in their order until its bin moves at a time T: that worker has sent all rows before T
by then, the next one sends those of T and later. So of what several workers have last of a key, the newest is that of
the greatest time, and who merges results needs no more than that: no rows wait, and none cross.
"""


import numpy as np

from tokenring.engine import Notify, OperatorBuilder, OperatorContext, Schema, Stream
from tokenring.engine.compiled import (
    DONE,
    Compiled,
    address_of,
    alias_of,
    answer,
    entry,
    keys_of,
    latest_of,
    lease,
    peek,
    point_to,
    rows_of,
    state_as,
    take,
    time_of,
    words_at,
    world_at,
)
from tokenring.nexmark.queries import SENT_AT
from tokenring.operators.mechanisms import Beginning, drop_first


class SentAt(Beginning):
    """Where the positions of the columns are, and how many come."""

    positions: int
    width: int


@entry
def _note_times(world: int, me: int) -> int:
    state, graph = state_as(world, me, SentAt), world_at(world)
    drop_first(world, me, state)
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        rows = rows_of(message)
        made = alias_of(graph, message, state.positions, state.width + 1)
        if latest_of(message) > time_of(message):  # a burst, whose keys are its messages' times
            point_to(made, state.width, keys_of(message))
        else:
            column = lease(graph, 8 * rows)
            point_to(made, state.width, column)
            words_at(column, rows)[:] = time_of(message)
        take(world, me, 0)
        answer(world, me, 0, 0, made)


def with_sent_at(stream: Stream) -> Stream:
    """The rows, with one column more: SENT_AT, the time of each."""
    width = len(stream.schema)
    positions = np.array([*range(width), 0], np.int64)
    schema = Schema.of(stream.schema.spec() | {SENT_AT: "int64"})
    builder: OperatorBuilder[Stream] = OperatorBuilder(stream.scope, "sent_at", Notify.NEVER)  # it has no bins
    builder.input(stream)
    made = builder.output(schema)

    def compiled(context: OperatorContext) -> Compiled:
        state = SentAt()
        state.positions, state.width = address_of(positions), width
        return Compiled(_note_times, state.words, (state, positions))

    builder.build_compiled(compiled, texts=True)
    made.updates = stream.updates
    return made
