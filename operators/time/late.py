"""Late rows: those whose result may have been sent before they came."""

from collections.abc import Callable
from typing import Any

import numpy as np

from tokenring.engine import (
    COLUMN,
    COMPLETE,
    WORDS,
    AnyStream,
    Batch,
    InputPort,
    Notify,
    OperatorBuilder,
    OperatorContext,
    OutputPort,
    Token,
    TokenRef,
    int64,
    kernel,
)
from tokenring.engine.compiled import Words
from tokenring.operators.migrate import saving_of, state_moves
from tokenring.operators.time.own_times import go_by_message_times

Due = Callable[[np.ndarray], np.ndarray]
"""From times, int64 (rows,), to the least time at which each row's result may be sent; COMPLETE where 64 bits do not
have it, so that the row is not late, and the operator may refuse it."""
SENT_EARLIER = "send such rows at earlier times (results of windows come at their ends: go by their window_end)"
"""The cure for late rows that every operator has."""
Split = Callable[[AnyStream, str, Due, str], tuple[AnyStream, AnyStream]]
"""What makes two streams of one, see `split_by_messages`."""


@kernel
def start_of_pane(time: int, step: int, offset: int) -> int:
    """When the pane of a time starts, of those that start at multiples of `step` plus `offset`, 0 <= offset <= 2**62;
    -COMPLETE of times before all, which 64 bits may not have it of."""
    if time < step + offset - COMPLETE:
        return -COMPLETE
    return (time - offset) // step * step + offset


@kernel(int64(COLUMN, int64, int64, int64, WORDS))
def fill_ends(times: Words, step: int, offset: int, lateness: int, ends: Words) -> int:
    """Write the end of each time's pane (see start_of_pane) plus `lateness`, COMPLETE if that is behind the end of 64
    bits; returns the least. Times mostly grow: few divisions."""
    least = COMPLETE
    start, end = 0, 0
    for i in range(len(times)):
        time = times[i]
        if time < start or time >= end:
            start = start_of_pane(time, step, offset)
            end = min(start, COMPLETE - step) + step
            least = min(least, end)
        ends[i] = min(end, COMPLETE - lateness) + lateness
    return min(least, COMPLETE - lateness) + lateness


def behind(times: np.ndarray, after: int) -> np.ndarray:
    """Times that much later, 0 or more; COMPLETE where that is behind the end of 64 bits: int64 (rows,)."""
    later: np.ndarray = np.minimum(times, COMPLETE - after) + after
    return later


def behind_own(times: np.ndarray) -> np.ndarray:
    """When rows that count until their own time has passed are late."""
    return behind(times, 1)


def split_by_messages(stream: AnyStream, name: str, due: Due, time: str) -> tuple[AnyStream, AnyStream]:
    """The rows in time, and the late ones: those with `due` of their column `time` at or before their message's time.
    What is late depends on the messages only, not on how far frontiers happen to have come."""
    go_by_message_times(f"{name}.late", stream, "leave late= out, or ")
    builder = stream.operator(f"{name}.late", Notify.NEVER)
    builder.input(stream)
    state_moves(builder)
    in_time, late = split_outputs(builder, stream)

    def construct(context: OperatorContext, to_time: Token, to_late: Token) -> Callable[..., None]:
        to_time.drop()
        to_late.drop()

        def logic(rows: InputPort, in_time: OutputPort, late: OutputPort) -> None:
            for reference, batch in rows:
                give_split(reference, batch, due(batch.words(time)) <= reference.time, in_time, late)

        return logic

    builder.build(construct)
    return in_time, late


def split_outputs(builder: OperatorBuilder[Any], stream: AnyStream) -> tuple[AnyStream, AnyStream]:
    """The two outputs of what splits a stream."""
    in_time, late = builder.output(stream.schema), builder.output(stream.schema)
    in_time.updates = late.updates = None if stream.updates is None else stream.updates.unknown()
    return in_time, late


def give_split(reference: TokenRef, batch: Batch, missed: np.ndarray, in_time: OutputPort, late: OutputPort) -> None:
    """Send a message's rows that came in time, and those that have `missed` it, bool (rows,)."""
    if missed.any():
        late.give(reference, batch.filter(missed))
        batch = batch.filter(~missed)
    in_time.give(reference, batch)


def split_late(
    stream: AnyStream, name: str, side: str, due: Due, time: str, late: bool,
    split: Split[AnyStream] = split_by_messages,
) -> tuple[AnyStream, Any]:  # fmt: skip
    """The rows in time, and the late ones, as `split` tells them apart by their column `time`. late: whether they are
    wanted; else all rows go on together, but where a run under recovery goes on without what operator `name` fails at.
    side: of a join."""
    if late:
        return split(stream, name + side, due, time)
    saving = saving_of(stream.scope)
    if saving is not None:
        saving.leave_out |= {name, f"{name}.local"}
    given_up = () if saving is None else saving.given_up & {name, f"{name}.local"}  # either may come upon one first
    if not given_up:
        return stream, None
    in_time, missed = split(stream, name + side, due, time)
    saving.dead_letters.take_late(missed, min(given_up))
    return in_time, None
