"""Pairs of a join: found by the kernels of joins, sent as they are, so many at a time."""

from tokenring.engine import COMPLETE, MAX_TIME, kernel
from tokenring.engine.compiled import Words, column_of, fail, record_of, rows_of, signed, table_at, time_of
from tokenring.operators.joins.compiled.kept_rows import heads_of, links_of, side_counts
from tokenring.operators.joins.compiled.results import scratch, side_of
from tokenring.operators.joins.compiled.sending import send_pairs
from tokenring.operators.joins.compiled.words import AT_MOST, ROOM_ROWS, TOO_LATE, Join, TimeReach
from tokenring.operators.joins.kept import (
    A_PLACE,
    A_ROW,
    AT_ONCE,
    BARRED,
    EVERY,
    HAS_ROW,
    LEFT,
    MATCHES,
    NO_ROW,
    Cursor,
    due_of,
    link_at,
    meet_at_slots,
    probe,
)

_CURSOR_WORDS = Cursor.size


@kernel
def reach_of(state: Join, side: int) -> TimeReach:
    """How rows of a side match in time."""
    return state.left_reach if side == LEFT else state.right_reach


@kernel
def ends_of(reach: TimeReach, message: int) -> tuple[Words, int]:
    """The column that says where the rows' extents end, and how long after it."""
    if reach.until_column >= 0:
        return column_of(message, reach.until_column), signed(0)
    return column_of(message, reach.time_column), reach.end_after


@kernel
def due_together(world: int, me: int, state: Join, side: int, message: int) -> tuple[int, bool]:
    """When a message's rows are due together, -1 if each is on its own; whether none is late, nor one whose extent ends
    behind the end of 64 bits, else that is noted."""
    reach, time = reach_of(state, side), time_of(message)
    least, most = MAX_TIME, -MAX_TIME
    for own in column_of(message, reach.time_column):
        least, most = min(least, own), max(most, own)
    due = due_of(most + reach.end_after, reach.due_after, time) if reach.together else -1
    if least < time + reach.first_after:
        fail(world, me, TOO_LATE, time, least, 0)
        return due, False
    if most >= COMPLETE - max(reach.end_after, 0):
        fail(world, me, TOO_LATE, time, most, 0)
        return due, False
    return due, True


@kernel
def extents_of(
    world: int, state: Join, side: int, message: int, rows: Words, together: int
) -> tuple[Words, Words, Words]:
    """(starts, ends, dues) of rows of a message, all of them if `rows` has no length. together: of `due_together`."""
    reach, time = reach_of(state, side), time_of(message)
    times, (until, end_after) = column_of(message, reach.time_column), ends_of(reach, message)
    count = len(rows) if len(rows) > 0 else len(times)
    starts, ends, dues = scratch(world, count), scratch(world, count), scratch(world, count)
    for i in range(count):
        row = rows[i] if len(rows) > 0 else i
        starts[i], ends[i] = times[row] + reach.start_after, until[row] + end_after
        dues[i] = together if together >= 0 else due_of(ends[i], reach.due_after, time)
    return starts, ends, dues


@kernel
def empty_extents(world: int, state: Join, side: int, message: int, starts: Words, ends: Words, fates: Words) -> None:
    """Let rows of the unique side that can match nothing do so, and not be sent."""
    flags = column_of(message, state.where[side])
    for row in range(len(flags)):
        if flags[row] != 1:
            starts[row], ends[row], fates[row] = MAX_TIME, -MAX_TIME, MATCHES


@kernel
def match_any(
    world: int, me: int, state: Join, side: int, message: int, slots: Words, starts: Words, ends: Words, matched: Words
) -> int:
    """Send the pairs that these rows make with the other side's, or many of them: then GO_ON is the place to go on at.
    Returns how many rows have all of theirs."""
    other = side_of(state.results, 1 - side)
    once = EVERY if not state.once else A_ROW if side == LEFT else A_PLACE
    cursor = record_of(scratch(world, _CURSOR_WORDS), Cursor)
    cursor.row, cursor.place = 0, state.go_on
    if state.go_on >= 0:
        matched[0] = MATCHES
    room = table_at(state.space, ROOM_ROWS, AT_ONCE)
    rows, places = room[0], room[1]
    state.go_on = -1
    while cursor.row < len(slots):
        if state.sent >= AT_MOST:
            state.go_on = cursor.place
            break
        found = probe(
            cursor, slots, heads_of(other), links_of(other), state.bounded != 0, once, starts, ends,
            matched, rows, places,
        )  # fmt: skip
        if found > 0 and state.pairs:
            state.sent += found
            some, there = rows[:found], places[:found]
            send_pairs(world, me, state, side, message, some, there, cursor.latest, time_of(message))
    return cursor.row


@kernel
def _send_found(
    world: int, me: int, state: Join, side: int, message: int, rows: Words, places: Words, latest: int
) -> None:
    """Send pairs of rows that have one each, in order."""
    if len(rows) > 0 and state.pairs:
        state.sent += len(rows)
        all_have = len(rows) == rows_of(message) and latest <= time_of(message)
        some = rows[:0] if all_have else rows
        send_pairs(world, me, state, side, message, some, places, latest, time_of(message))


@kernel
def match_one_in_time(world: int, me: int, state: Join, side: int, message: int, slots: Words) -> Words:
    """Send the pairs that these rows make with the rows of the side that is unique, which expire. Returns the rows that
    are to be kept: their match may still come, or they are sent alone when they are due."""
    other, reach, theirs = side_of(state.results, 1 - side), reach_of(state, side), reach_of(state, 1 - side)
    rows, places, kept = scratch(world, len(slots)), scratch(world, len(slots)), scratch(world, len(slots))
    ends, end_after = ends_of(reach, message)
    found, waiting, latest = meet_at_slots(
        slots, links_of(other), theirs.end_after - theirs.start_after,
        column_of(message, reach.time_column), reach.start_after, ends, end_after,
        state.alone[1 - side] != 0, state.alone[side] != 0, rows, places, kept,
    )  # fmt: skip
    _send_found(world, me, state, side, message, rows[:found], places[:found], latest)
    return kept[:waiting]


@kernel
def match_one(world: int, me: int, state: Join, side: int, message: int, slots: Words) -> tuple[Words, Words]:
    """Send the pairs that these rows make with the rows of the side that is unique. Returns the rows whose match may
    still come, and those that will have none."""
    other = side_of(state.results, 1 - side)
    rows, places, waiting = scratch(world, len(slots)), scratch(world, len(slots)), scratch(world, len(slots))
    never = scratch(world, len(slots))
    heads, links = heads_of(other), links_of(other)
    ended, found, waits, nevers, latest = state.ended[1 - side] != 0, 0, 0, 0, -1
    for row in range(len(slots)):  # no step depends on a comparison that a processor could guess wrong
        head = heads[slots[row]]
        has_one, has_none = head >= HAS_ROW, (head == BARRED) | ((head == NO_ROW) & ended)
        rows[found], places[found], never[nevers], waiting[waits] = row, head - HAS_ROW, row, row
        found += has_one
        nevers += has_none
        waits += not (has_one | has_none)
    if side_counts(other).newest > time_of(message):
        for place in places[:found]:
            latest = max(latest, link_at(links, place).time)
    _send_found(world, me, state, side, message, rows[:found], places[:found], latest)
    return waiting[:waits], never[:nevers]
