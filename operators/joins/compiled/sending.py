"""What a join sends: pairs as they are found, and rows alone, each of the times that they are sent at."""

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
def _of_next_time(rows: Words, times: Words, last: int, some: Words) -> tuple[int, int]:
    """Write down the rows of the least time behind `last`: how many, and that time."""
    at, count = COMPLETE, 0
    for time in times:
        if last < time < at:
            at = time
    for i in range(len(rows)):
        if times[i] == at:
            some[count] = rows[i]
            count += 1
    return count, at


@kernel
def send_alone_at(world: int, me: int, state: Join, side: int, places: Words, times: Words) -> None:
    """Rows of one side that are kept, each at its time, by the right of the message at hand of the other."""
    some = scratch(world, len(places))
    sent, last = 0, -1
    while sent < len(places):
        count, at = _of_next_time(places, times, last, some)
        send_at(world, me, 0, alone_of(world, me, state.results, side, 0, some[:count]), at)
        sent, last = sent + count, at


@kernel
def send_due(world: int, me: int, state: Join, side: int, message: int, rows: Words, dues: Words) -> None:
    """Rows of one side that match nothing: at the ends of their windows, or all at the least of their times."""
    some = scratch(world, len(rows))
    sent, last = 0, -1
    while sent < len(rows):
        count, at = _of_next_time(rows, dues, last, some)
        if not state.exact:
            send_alone(world, me, state, side, message, rows, at)
            return
        send_alone(world, me, state, side, message, some[:count], at)
        sent, last = sent + count, at
