"""What a join sends: pairs as they are found, and rows alone, each of the times that they are sent at."""

import numpy as np

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import Words, send, send_at
from tokenring.operators.joins.compiled.kept_rows import message_time
from tokenring.operators.joins.compiled.results import alone_of, pairs_of, scratch, side_of
from tokenring.operators.joins.compiled.words import Join


@kernel
def send_pairs(
    world: int, me: int, state: Join, side: int, message: int, rows: Words, places: Words, latest: int, time: int
) -> None:
    """Pairs of rows of a message with the other side's, at the later of their messages' times. latest: of the other
    side's. rows: of no length if all have one, in order, and `latest` is not after `time`."""
    if latest <= time:
        send_at(world, me, 0, pairs_of(world, me, state.results, side, message, rows, places), time)
        return
    other = side_of(state.results, 1 - side)
    some, there = scratch(world, len(rows)), scratch(world, len(rows))
    sent, last = 0, -1
    while sent < len(rows):  # times of messages that are ahead of this one: few
        at, count = COMPLETE, 0
        for place in places:
            later = max(time, message_time(other, place))
            if last < later < at:
                at = later
        for i in range(len(rows)):
            if max(time, message_time(other, places[i])) == at:
                some[count], there[count] = rows[i], places[i]
                count += 1
        send_at(world, me, 0, pairs_of(world, me, state.results, side, message, some[:count], there[:count]), at)
        sent, last = sent + count, at


@kernel
def send_alone(world: int, me: int, state: Join, side: int, message: int, rows: Words, time: int) -> None:
    """Rows of one side that match nothing: those of the message at hand, or where that is 0, of what is kept, with the
    token."""
    made = alone_of(world, me, state.results, side, message, rows)
    if message != 0:
        send_at(world, me, 0, made, time)
    else:
        send(world, me, state.held, made, time)


@kernel
def end_of_time(times: Words, order: Words, start: int) -> int:
    """Behind which of `order`, in which times ascend, those end that are at the time of number `start`."""
    stop = start + 1
    while stop < len(order) and times[order[stop]] == times[order[start]]:
        stop += 1
    return stop


@kernel
def send_alone_at(world: int, me: int, state: Join, side: int, places: Words, times: Words) -> None:
    """Rows of one side that are kept, each at its time, by the right of the message at hand of the other."""
    order, start = np.argsort(times, kind="mergesort"), 0
    while start < len(order):
        stop = end_of_time(times, order, start)
        made = alone_of(world, me, state.results, side, 0, places[order[start:stop]])
        send_at(world, me, 0, made, times[order[start]])
        start = stop


@kernel
def send_due(world: int, me: int, state: Join, side: int, message: int, rows: Words, dues: Words) -> None:
    """Rows of one side that match nothing: each at its time, or all at the least of these."""
    if not state.is_apart:
        send_alone(world, me, state, side, message, rows, dues.min())
        return
    order, start = np.argsort(dues, kind="mergesort"), 0
    while start < len(order):
        stop = end_of_time(dues, order, start)
        send_alone(world, me, state, side, message, rows[order[start:stop]], dues[order[start]])
        start = stop
