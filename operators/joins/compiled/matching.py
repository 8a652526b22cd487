"""Pairs of a compiled join: found by the kernels of joins, sent as they are, so many at a time."""

import numpy as np

from tokenring.engine import MAX_TIME, kernel
from tokenring.engine.compiled import column_of, fail, rows_of, table_at, time_of
from tokenring.operators.joins.compiled.kept_rows import heads_of, links_of, meta_of
from tokenring.operators.joins.compiled.results import scratch, side_at
from tokenring.operators.joins.compiled.sending import send_pairs
from tokenring.operators.joins.compiled.words import (
    ALONE,
    AT_MOST,
    BOUNDED,
    DUE_AFTER,
    END_AFTER,
    ENDED,
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
    BARRED,
    EVERY,
    HAS_ROW,
    LATEST,
    LEFT,
    MATCHES,
    NEWEST,
    NO_ROW,
    PLACE,
    ROW,
    TIME,
    due_of,
    meet_at_slots,
    probe,
)


@kernel
def reach_of(state, side):  # type: ignore[no-untyped-def]
    """How rows of a side match in time."""
    return state[REACH + side * REACH_WORDS : REACH + (side + 1) * REACH_WORDS]


@kernel
def ends_of(reach, message):  # type: ignore[no-untyped-def]
    """The column that says where the rows' extents end, and how long after it."""
    if reach[UNTIL_COLUMN] >= 0:
        return column_of(message, reach[UNTIL_COLUMN]), np.int64(0)
    return column_of(message, reach[TIME_COLUMN]), reach[END_AFTER]


@kernel
def due_together(world, me, state, side, message):  # type: ignore[no-untyped-def]
    """When a message's rows are due together, -1 if each is on its own; whether none is late, else that is noted."""
    reach, time = reach_of(state, side), time_of(message)
    least, most = MAX_TIME, -MAX_TIME
    for own in column_of(message, reach[TIME_COLUMN]):
        least, most = min(least, own), max(most, own)
    due = due_of(most + reach[END_AFTER], reach[DUE_AFTER], time) if reach[TOGETHER] else -1
    if least < time + reach[FIRST_AFTER]:
        fail(world, me, TOO_LATE, time, least, 0)
        return due, False
    return due, True


@kernel
def extents_of(world, state, side, message, rows, together):  # type: ignore[no-untyped-def]
    """(starts, ends, dues) of rows of a message, all of them if `rows` has no length. together: of `due_together`."""
    reach, time = reach_of(state, side), time_of(message)
    times, (until, end_after) = column_of(message, reach[TIME_COLUMN]), ends_of(reach, message)
    count = len(rows) if len(rows) > 0 else len(times)
    starts, ends, dues = scratch(world, count), scratch(world, count), scratch(world, count)
    for i in range(count):
        row = rows[i] if len(rows) > 0 else i
        starts[i], ends[i] = times[row] + reach[START_AFTER], until[row] + end_after
        dues[i] = together if together >= 0 else due_of(ends[i], reach[DUE_AFTER], time)
    return starts, ends, dues


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
def _send_found(world, me, state, side, message, rows, places, latest):  # type: ignore[no-untyped-def]
    """Send pairs of rows that have one each, in order."""
    if len(rows) > 0 and state[PAIRS]:
        state[SENT] += len(rows)
        all_have = len(rows) == rows_of(message) and latest <= time_of(message)
        some = rows[:0] if all_have else rows
        send_pairs(world, me, state, side, message, some, places, latest, time_of(message))


@kernel
def match_one_in_time(world, me, state, side, message, slots):  # type: ignore[no-untyped-def]
    """Send the pairs that these rows make with the rows of the side that is unique, which expire. Returns the rows that
    are to be kept: their match may still come, or they are sent alone when they are due."""
    other, reach, theirs = side_at(JOINED, 1 - side), reach_of(state, side), reach_of(state, 1 - side)
    rows, places, kept = scratch(world, len(slots)), scratch(world, len(slots)), scratch(world, len(slots))
    ends, end_after = ends_of(reach, message)
    found, waiting, latest = meet_at_slots(
        slots, links_of(state, other), theirs[END_AFTER] - theirs[START_AFTER],
        column_of(message, reach[TIME_COLUMN]), reach[START_AFTER], ends, end_after,
        state[ALONE + 1 - side] != 0, state[ALONE + side] != 0, rows, places, kept,
    )  # fmt: skip
    _send_found(world, me, state, side, message, rows[:found], places[:found], latest)
    return kept[:waiting]


@kernel
def match_one(world, me, state, side, message, slots):  # type: ignore[no-untyped-def]
    """Send the pairs that these rows make with the rows of the side that is unique. Returns the rows whose match may
    still come, and those that will have none."""
    other = side_at(JOINED, 1 - side)
    rows, places, waiting = scratch(world, len(slots)), scratch(world, len(slots)), scratch(world, len(slots))
    never = scratch(world, len(slots))
    heads, links = heads_of(state, other), links_of(state, other)
    ended, found, waits, nevers, latest = state[ENDED + 1 - side] != 0, 0, 0, 0, -1
    for row in range(len(slots)):  # no step depends on a comparison that a processor could guess wrong
        head = heads[slots[row]]
        has_one, has_none = head >= HAS_ROW, (head == BARRED) | ((head == NO_ROW) & ended)
        rows[found], places[found], never[nevers], waiting[waits] = row, head - HAS_ROW, row, row
        found += has_one
        nevers += has_none
        waits += not (has_one | has_none)
    if meta_of(state, other)[NEWEST] > time_of(message):
        for place in places[:found]:
            latest = max(latest, links[place, TIME])
    _send_found(world, me, state, side, message, rows[:found], places[:found], latest)
    return waiting[:waits], never[:nevers]
