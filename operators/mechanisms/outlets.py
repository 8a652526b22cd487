"""Outlets of sources in the worker's inner loop: how each mechanism sends, and says what is still to come."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COMPLETE, OperatorContext, Probe, Schema, kernel
from tokenring.engine.compiled import (
    Record,
    addresses_of,
    bare_message,
    column_of,
    downgrade,
    drop,
    frontier_of,
    gathered,
    give_keys,
    point_to,
    records_at,
    rows_of,
    send,
    send_at,
    send_each,
    time_of_token,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms.interface import Progress
from tokenring.operators.mechanisms.marks import Mark, MarkProgress, send_mark


class CompiledOutlet(Record):
    """One output of a source. `output`: its number, of the token that stands in the same place of the operator's state.
    `times`: the position, plus one, of the column of rows' own times, each of which is to be a message; 0: rows are one
    message. `has_marks`: whether it promises by marks, the last one `mark`, and not by its token."""

    output: int
    times: int
    has_marks: int
    mark: Mark


class Watched(Record):
    """A frontier that a source looks at: that of a location, or the word at `address`, if there is one."""

    location: int
    address: int


def watch(watched: Watched, progress: Progress, context: OperatorContext) -> None:
    """Let a source look at a probe's frontier, and run when it moves."""
    if isinstance(progress, MarkProgress):
        watched.address = progress.run_on_advance(context)
    else:
        assert isinstance(progress, Probe), "tokens have no other"
        watched.location = progress.location
        context.run_on_advance(progress)


@kernel
def frontier_watched(world: int, watched: Watched) -> int:
    """Where it is."""
    return words_at(watched.address, 1)[0] if watched.address != 0 else frontier_of(world_at(world), watched.location)


@kernel
def outlets_at(address: int, count: int) -> Sequence[CompiledOutlet]:
    """A source's outlets."""
    return records_at(address, count, CompiledOutlet)


@kernel
def time_of_outlet(world: int, outlet: CompiledOutlet, slot: int) -> int:
    """The least time at which it still sends. slot: of its token, here as everywhere."""
    return outlet.mark.time if outlet.has_marks != 0 else time_of_token(world, slot)


@kernel
def in_order_of(world: int, message: int, position: int) -> int:
    """The same rows in order of an int64 column, those alike in their own."""
    times = column_of(message, position)
    for row in range(1, len(times)):
        if times[row] < times[row - 1]:
            order = np.argsort(times, kind="mergesort")
            width = len(addresses_of(message))
            made = bare_message(world_at(world), width, rows_of(message))
            for column in range(width):
                point_to(made, column, gathered(world_at(world), column_of(message, column), order))
            return made
    return message


@kernel
def send_out(world: int, me: int, outlet: CompiledOutlet, slot: int, message: int) -> None:
    """Send a new message of rows whose own times are the outlet's or later."""
    if outlet.times == 0:
        send(world, me, slot, message, time_of_token(world, slot))
        return
    message = in_order_of(world, message, outlet.times - 1)
    if outlet.has_marks == 0:
        send_each(world, me, slot, message, outlet.times - 1)
    elif rows_of(message) > 0:
        give_keys(message, addresses_of(message)[outlet.times - 1], True)
        send_at(world, me, outlet.output, message, time_of_token(world, slot))


@kernel
def promise(world: int, me: int, outlet: CompiledOutlet, slot: int, time: int) -> None:
    """Promise nothing before `time` any more."""
    if outlet.has_marks != 0:
        send_mark(world, outlet.mark, time)
    else:
        downgrade(world, me, slot, time)


@kernel
def close_outlet(world: int, me: int, outlet: CompiledOutlet, slot: int) -> None:
    """Promise nothing any more, once."""
    if outlet.has_marks != 0:
        send_mark(world, outlet.mark, COMPLETE)
    drop(world, me, slot)


def new_outlets(schemas: Sequence[Schema], columns: Sequence[str]) -> np.ndarray:
    """Outlets, a CompiledOutlet each. columns: of rows' own times, each of which is to be a message; "" for one message
    whatever they are."""
    outlets = CompiledOutlet.new_table(len(schemas))
    outlets["output"] = np.arange(len(schemas))
    outlets["times"] = [
        schema.position(column) + 1 if column else 0 for schema, column in zip(schemas, columns, strict=True)
    ]
    return outlets
