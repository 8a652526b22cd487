"""Pairs of a compiled join: found by the kernels of joins, sent as they are, so many at a time."""

from tokenring.engine import MAX_TIME, kernel
from tokenring.engine.compiled import column_of, fail, table_at, time_of
from tokenring.operators.joins.compiled.kept_rows import heads_of, links_of, meta_of
from tokenring.operators.joins.compiled.results import scratch, side_at
from tokenring.operators.joins.compiled.sending import send_pairs
from tokenring.operators.joins.compiled.words import (
    AT_MOST,
    BOUNDED,
    DUE_AFTER,
    END_AFTER,
    FIRST_AFTER,
    GO_ON,
    JOINED,
    ONCE,
    PAIRS,
    REACH,
    REACH_WORDS,
    ROOM,
    ROOM_ROWS,
    SENT,
    START_AFTER,
    TIME_COLUMN,
    TOGETHER,
    TOO_LATE,
    UNTIL_COLUMN,
    WHERE,
)
from tokenring.operators.joins.kept import (
    A_PLACE,
    A_ROW,
    AT_ONCE,
    EVERY,
    FAR,
    LATEST,
    LEFT,
    MATCHES,
    PLACE,
    ROW,
    meet,
    probe,
)


@kernel
def extents_of(world, me, state, side, message):  # type: ignore[no-untyped-def]
    """(starts, ends, dues) of a message's rows; whether none is late, else that is noted."""
    reach = state[REACH + side * REACH_WORDS : REACH + (side + 1) * REACH_WORDS]
    time, times = time_of(message), column_of(message, reach[TIME_COLUMN])
    rows = len(times)
    starts, ends, dues = scratch(world, rows), scratch(world, rows), scratch(world, rows)
    least, last = MAX_TIME, 0
    for i in range(rows):
        least = min(least, times[i])
        starts[i], ends[i] = times[i] + reach[START_AFTER], times[i] + reach[END_AFTER]
    if reach[UNTIL_COLUMN] >= 0:
        ends[:] = column_of(message, reach[UNTIL_COLUMN])
    for i in range(rows):
        dues[i] = min(max(min(ends[i], FAR) + reach[DUE_AFTER], time), MAX_TIME)
        last = max(last, dues[i])
    if reach[TOGETHER]:
        dues[:] = last
    if least < time + reach[FIRST_AFTER]:
        fail(world, me, TOO_LATE, time, least, 0)
        return starts, ends, dues, False
    return starts, ends, dues, True


@kernel
def empty_extents(world, state, side, message, starts, ends, fates):  # type: ignore[no-untyped-def]
    """Let rows of the unique side that can match nothing do so, and not be sent."""
    flags = column_of(message, state[WHERE + side])
    for row in range(len(flags)):
        if flags[row] != 1:
            starts[row], ends[row], fates[row] = MAX_TIME, -MAX_TIME, MATCHES


@kernel
def match_any(world, me, state, side, message, slots, starts, ends, matched):  # type: ignore[no-untyped-def]
    """Send the pairs that these rows make with the other side's, or many of them: then GO_ON is the place to go on at.
    Returns how many rows have all of theirs."""
    other = side_at(JOINED, 1 - side)
    once = EVERY if not state[ONCE] else A_ROW if side == LEFT else A_PLACE
    cursor = scratch(world, 3)
    cursor[0], cursor[1], cursor[2] = 0, state[GO_ON], -1
    if state[GO_ON] >= 0:
        matched[0] = MATCHES
    room = table_at(state[ROOM], ROOM_ROWS, AT_ONCE)
    rows, places = room[0], room[1]
    state[GO_ON] = -1
    while cursor[ROW] < len(slots):
        if state[SENT] >= AT_MOST:
            state[GO_ON] = cursor[PLACE]
            break
        found = probe(
            cursor, slots, heads_of(state, other), links_of(state, other), state[BOUNDED] != 0, once, starts, ends,
            matched, rows, places,
        )  # fmt: skip
        if found > 0 and state[PAIRS]:
            state[SENT] += found
            some, there = rows[:found], places[:found]
            send_pairs(world, me, state, side, message, some, there, cursor[LATEST], time_of(message))
    return cursor[ROW]


@kernel
def match_one(world, me, state, side, message, slots, starts, ends, fates):  # type: ignore[no-untyped-def]
    """Send the pairs that these rows make with the rows of the side that is unique."""
    other = side_at(JOINED, 1 - side)
    cursor, rows, places = scratch(world, 3), scratch(world, len(slots)), scratch(world, len(slots))
    found = meet(
        cursor, slots, heads_of(state, other), links_of(state, other), meta_of(state, other), state[BOUNDED] != 0,
        starts, ends, time_of(message), fates, rows, places,
    )  # fmt: skip
    if found > 0 and state[PAIRS]:
        state[SENT] += found
        send_pairs(world, me, state, side, message, rows[:found], places[:found], cursor[LATEST], time_of(message))
