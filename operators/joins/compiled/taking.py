"""Messages of a compiled join: their rows are matched with the other side's and kept, as `Matcher.take` does it."""

from tokenring.engine import COMPLETE, MAX_TIME, kernel
from tokenring.engine.compiled import DONE, FAILED, NEEDS_ROOM, column_of, fail, rows_of, table_at, time_of, words_at
from tokenring.operators.joins.compiled.kept_rows import (
    free_of,
    has_room,
    heads_of,
    heap_of,
    keep_rows,
    links_of,
    meta_of,
    rows_kept,
)
from tokenring.operators.joins.compiled.keyed import chosen_rows, number_keys, rows_but, rows_with, rows_without_key
from tokenring.operators.joins.compiled.results import scratch, side_at
from tokenring.operators.joins.compiled.sending import send_alone, send_due, send_pairs
from tokenring.operators.joins.compiled.words import (
    ALONE,
    BOUNDED,
    DUE_AFTER,
    END_AFTER,
    ENDED,
    FIRST_AFTER,
    JOINED,
    KEYS,
    LEAST,
    MATCHES,
    ONCE,
    REACH,
    REACH_WORDS,
    ROOM,
    ROOM_ROWS,
    SEEN,
    START_AFTER,
    TIME_COLUMN,
    TOGETHER,
    TOO_LATE,
    TWICE,
    UNIQUE,
    UNTIL_COLUMN,
    WANTED,
    WANTED_SIDE,
    capacity_of,
)
from tokenring.operators.joins.kept import (
    A_PLACE,
    A_ROW,
    AT_ONCE,
    EVERY,
    FAR,
    LATEST,
    LEFT,
    RIGHT,
    ROW,
    TIME,
    add,
    add_bounded,
    probe,
    take_chains,
)


@kernel
def _extents(world, me, state, side, message):  # type: ignore[no-untyped-def]
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
def _match(world, me, state, side, message, slots, starts, ends, matched):  # type: ignore[no-untyped-def]
    """Send the pairs that these rows make with the other side's; returns how many there are."""
    other = side_at(JOINED, 1 - side)
    once = EVERY if not state[ONCE] else A_ROW if side == LEFT else A_PLACE
    cursor = scratch(world, 3)
    cursor[0], cursor[1], cursor[2] = 0, -1, -1
    room = table_at(state[ROOM], ROOM_ROWS, AT_ONCE)
    rows, places = room[0], room[1]
    pairs = 0
    while cursor[ROW] < len(slots):
        found = probe(
            cursor, slots, heads_of(state, other), links_of(state, other), state[BOUNDED] != 0, once, starts, ends,
            matched, rows, places,
        )  # fmt: skip
        pairs += found
        if found > 0 and state[MATCHES]:
            some, there = rows[:found], places[:found]
            send_pairs(world, me, state, side, message, some, there, cursor[LATEST], time_of(message))
    return pairs


@kernel
def _first_of_keys(state, slots, time, chosen):  # type: ignore[no-untyped-def]
    """Choose the first row of each key that the right side has no row of yet; the others may be earlier than the one.
    Returns how many are chosen."""
    right = side_at(JOINED, RIGHT)
    heads, links = heads_of(state, right), links_of(state, right)
    count = 0
    for row in range(len(slots)):
        place = heads[slots[row]]
        if place >= 0:
            links[place, TIME] = min(links[place, TIME], time)
        elif place == -1:
            heads[slots[row]] = -2  # chosen already
            chosen[count] = row
            count += 1
    for i in range(count):
        heads[slots[chosen[i]]] = -1
    return count


@kernel
def _keep(world, state, side, message, slots, chosen, unique, places):  # type: ignore[no-untyped-def]
    """Keep chosen rows for ever; returns how many there was a place for, fewer where `unique` and a key has a row."""
    at = side_at(JOINED, side)
    done = add(
        heads_of(state, at), links_of(state, at), free_of(state, at), meta_of(state, at), slots, chosen,
        time_of(message), unique, places,
    )  # fmt: skip
    keep_rows(state, at, message, chosen[:done], places[:done])
    return done


@kernel
def _keep_for_ever(world, me, state, side, message, slots, matched, pairs):  # type: ignore[no-untyped-def]
    """Keep, of rows that match at any time, those that still can; forget those of the other side that cannot."""
    time = time_of(message)
    if state[ALONE + 1 - side]:
        seen = words_at(state[SEEN + side], capacity_of(state))
        for slot in slots:
            seen[slot] = 1
    unmatched = rows_with(world, matched, 0)
    if state[ENDED + 1 - side]:
        if state[ALONE + side] and len(unmatched) > 0:
            send_alone(world, me, state, side, message, unmatched, time)
        if side != state[UNIQUE]:
            return True
    elif state[ALONE + side]:
        at = side_at(JOINED, side)
        before = state[LEAST + side] if rows_kept(state, at) > 0 else COMPLETE
        state[LEAST + side] = min(before, time)
    places = scratch(world, len(slots))
    if state[UNIQUE] >= 0 and side != state[UNIQUE]:
        _keep(world, state, side, message, slots, unmatched, False, places)
        return True
    everything = rows_but(world, len(slots), slots[:0])
    done = _keep(world, state, side, message, slots, everything, side == state[UNIQUE], places)
    if done < len(slots):
        fail(world, me, TWICE, side, slots[done], 0)
        return False
    if side == state[UNIQUE] and pairs > 0:
        other = side_at(JOINED, 1 - side)
        take_chains(
            heads_of(state, other), links_of(state, other), free_of(state, other), meta_of(state, other),
            slots[rows_with(world, matched, 1)], scratch(world, pairs),
        )  # fmt: skip
    return True


@kernel
def _keep_bounded(world, state, side, message, slots, starts, ends, dues, matched):  # type: ignore[no-untyped-def]
    """Keep all rows until they are due."""
    at = side_at(JOINED, side)
    places = scratch(world, len(slots))
    add_bounded(
        heads_of(state, at), links_of(state, at), free_of(state, at), meta_of(state, at), heap_of(state, at), slots,
        starts, ends, dues, matched, time_of(message), places,
    )  # fmt: skip
    keep_rows(state, at, message, rows_but(world, len(slots), slots[:0]), places)


@kernel
def _send_without_key(world, me, state, side, message, rows):  # type: ignore[no-untyped-def]
    """Rows whose key has a null can match nothing. Whether none is late."""
    if not state[BOUNDED]:
        send_alone(world, me, state, side, message, rows, time_of(message))
        return True
    _, _, dues, in_time = _extents(world, me, state, side, message)
    if in_time:
        send_due(world, me, state, side, message, rows, dues[rows])
    return in_time


@kernel
def take_rows(world, me, state, side, message):  # type: ignore[no-untyped-def]
    """Take the rows of a message of one time: send the pairs that they complete, and keep them. Where there is no room
    nothing was sent."""
    if not has_room(state, side_at(JOINED, side), rows_of(message)):
        state[WANTED], state[WANTED_SIDE] = rows_of(message), side
        return NEEDS_ROOM
    whole, without = message, rows_without_key(world, state, KEYS, side, message)
    if len(without) > 0:
        message = chosen_rows(world, whole, rows_but(world, rows_of(whole), without))
    slots = scratch(world, rows_of(message))
    if not number_keys(world, state, KEYS, side, message, slots):
        state[WANTED] = 0
        return NEEDS_ROOM
    if len(without) > 0 and state[ALONE + side]:
        if not _send_without_key(world, me, state, side, whole, without):
            return FAILED
    if len(slots) == 0:
        return DONE
    starts, ends, dues = slots[:0], slots[:0], slots[:0]
    if state[BOUNDED]:
        starts, ends, dues, in_time = _extents(world, me, state, side, message)
        if not in_time:
            return FAILED
    elif state[ONCE] and side == RIGHT:
        chosen = scratch(world, len(slots))
        chosen = chosen[: _first_of_keys(state, slots, time_of(message), chosen)]
        message, slots = chosen_rows(world, message, chosen), slots[chosen]
    matched = scratch(world, len(slots))
    matched[:] = 0
    pairs = _match(world, me, state, side, message, slots, starts, ends, matched)
    if state[BOUNDED]:
        _keep_bounded(world, state, side, message, slots, starts, ends, dues, matched)
    elif not _keep_for_ever(world, me, state, side, message, slots, matched, pairs):
        return FAILED
    return DONE
