"""The entry of a region in the worker's inner loop: messages go on by reference; what is too large goes in pieces.

Messages that may not go in yet stay where they are, untaken, so that those who send them see them under way. Of one
that is too large a copy is kept with a token, and sent piece by piece at its times.
"""

import numpy as np

from tokenring.engine import COMPLETE, int64, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    NEEDS_ROOM,
    Compiled,
    address_of,
    answer,
    bare_message,
    column_of,
    downgrade,
    drop,
    end_of_message,
    entry,
    keys_of,
    monotonic_now_ns,
    peek,
    point_to,
    retain,
    round_of,
    rows_of,
    send,
    state_of,
    take,
    time_of,
    time_of_token,
    wake_at,
    words_at,
    world_at,
)
from tokenring.operators.flow.gate import (
    BYTES,
    ESCAPES,
    GATE_WORDS,
    GENERATION,
    TIMES,
    UNIT,
    Gate,
    escape,
    is_first,
    renew,
    renew_early,
    room_for,
    was_let_in,
)

# SHARE: let in in the generation SEEN, in units. What is kept: KEPT_ROWS rows of WIDTH columns at KEPT, behind them
# their times if KEPT_KEYS, from row START on; USED: the round in which some of them were last sent. RUN: let in in the
# round RUN_ROUND. LOOKS: how often in turn nothing could be let in. NUMBER: of the entry in its gate.
(
    FIRST,
    GATE,
    WIDTH,
    SHARE,
    SEEN,
    SLOT,
    KEPT,
    KEPT_CAPACITY,
    KEPT_ROWS,
    KEPT_KEYS,
    START,
    USED,
    LAST_TIME,
    LACKS,
    RUN,
    RUN_ROUND,
    LOOKS,
    ESCAPED,
    NUMBER,
    WORDS,
) = range(20)

_FULL = -2
_LOOKS_AT_ONCE = 64  # after so many an entry lets its worker sleep in between
_WAIT_NS, _MOST_WAIT_NS = 10_000, 500_000


@kernel
def _units_at(state, gate, rows, time):  # type: ignore[no-untyped-def]
    """How much rows of one time count; the time is noted."""
    if gate[UNIT] == TIMES:
        is_new = time != state[LAST_TIME]
        state[LAST_TIME] = time
        return int64(is_new)
    return rows * 8 * state[WIDTH] if gate[UNIT] == BYTES else rows


@kernel
def _units_of(state, gate, message):  # type: ignore[no-untyped-def]
    """How much a message counts, which may be many; the last of its times is noted."""
    rows = rows_of(message)
    if gate[UNIT] != TIMES or keys_of(message) == 0:
        return _units_at(state, gate, rows, time_of(message))
    keys = words_at(keys_of(message), rows)
    units = start = 0
    while start < rows:
        units += _units_at(state, gate, 0, keys[start])
        start = end_of_message(message, start)
    return units


@kernel
def _fits_whole(state, gate, message, room):  # type: ignore[no-untyped-def]
    """Whether a message may go in where there is room for so much."""
    rows = rows_of(message)
    if gate[UNIT] == TIMES:
        last = state[LAST_TIME]
        units = _units_of(state, gate, message)
        state[LAST_TIME] = last
        return units <= room
    return (rows * 8 * state[WIDTH] if gate[UNIT] == BYTES else rows) <= room


@kernel
def _send_kept(world, me, state, gate, room):  # type: ignore[no-untyped-def]
    """Send a piece of what is kept, of one time, as far as there is room, one row at least; how much it counts."""
    start, whole, width = state[START], state[KEPT_ROWS], state[WIDTH]
    stop = whole
    time = time_of_token(world, state[SLOT])
    if state[KEPT_KEYS]:
        keys = words_at(state[KEPT] + 8 * whole * width, whole)
        time = keys[start]
        stop = start
        while stop < whole and keys[stop] == time:
            stop += 1
        downgrade(world, me, state[SLOT], time)
    if gate[UNIT] != TIMES:
        stop = min(stop, start + max(1, room // (8 * width) if gate[UNIT] == BYTES else room))
    made = bare_message(world_at(world), width, stop - start)
    for column in range(width):
        point_to(made, column, state[KEPT] + 8 * (whole * column + start))
    send(world, me, state[SLOT], made, time)
    state[START] = stop
    state[USED] = round_of(world)
    if stop == whole:
        drop(world, me, state[SLOT])
        state[KEPT_ROWS] = 0
    return _units_at(state, gate, stop - start, time)


@kernel
def _keep(world, me, state, message):  # type: ignore[no-untyped-def]
    """Keep the rows of the message at hand, with a token."""
    rows, width = rows_of(message), state[WIDTH]
    kept = words_at(state[KEPT], rows * (width + 1))
    for column in range(width):
        kept[rows * column : rows * (column + 1)] = column_of(message, column)
    keys = keys_of(message)
    state[KEPT_KEYS] = keys != 0 and end_of_message(message, 0) < rows
    if state[KEPT_KEYS]:
        kept[rows * width : rows * (width + 1)] = words_at(keys, rows)
    state[SLOT] = retain(world, me, 0, 0)
    state[KEPT_ROWS], state[START] = rows, 0


@kernel
def _let_in(world, me, state, gate, room, must):  # type: ignore[no-untyped-def]
    """Let in what there is room for, of what is kept or of the next message: DONE if there is nothing more, NEEDS_ROOM,
    AGAIN if it must wait until the round ends, since what was kept is still read; _FULL if it is to wait for the next
    generation, and nothing must be let in; else -1."""
    if state[KEPT_ROWS] > 0:
        units = _send_kept(world, me, state, gate, room)
    else:
        message = peek(world, me, 0)
        if message == 0:
            return DONE
        if _fits_whole(state, gate, message, room):
            take(world, me, 0)
            units = _units_of(state, gate, message)
            answer(world, me, 0, 0, message)
        else:
            words = rows_of(message) * (state[WIDTH] + 1)
            if not must and state[SHARE] > 0 and _fits_whole(state, gate, message, room_for(gate, 0, 0)):
                return _FULL  # it need not be taken apart
            if state[USED] == round_of(world):
                return AGAIN
            if words > state[KEPT_CAPACITY]:
                state[LACKS] = words
                return NEEDS_ROOM
            take(world, me, 0)
            _keep(world, me, state, message)
            units = _send_kept(world, me, state, gate, room)
    state[SHARE] += units
    state[RUN] += units
    state[LOOKS] = 0
    was_let_in(world, gate, units)
    return -1


@kernel
def _next_time(world, me, state):  # type: ignore[no-untyped-def]
    """The time of what is to be let in next; COMPLETE if there is nothing."""
    if state[KEPT_ROWS] > 0:
        if state[KEPT_KEYS]:
            return words_at(state[KEPT] + 8 * (state[KEPT_ROWS] * state[WIDTH] + state[START]), 1)[0]
        return time_of_token(world, state[SLOT])
    message = peek(world, me, 0)
    return COMPLETE if message == 0 else time_of(message)


@entry
def let_in(world, me):  # type: ignore[no-untyped-def]
    """Let in what the gate has room for; look again while something is held back."""
    state = state_of(world, me, WORDS)
    if state[FIRST] >= 0:
        drop(world, me, state[FIRST])
        state[FIRST] = -1
    gate = words_at(state[GATE], GATE_WORDS)
    if state[RUN_ROUND] != round_of(world):
        state[RUN_ROUND], state[RUN] = round_of(world), 0
        renew_early(world, gate)
    while True:
        time = _next_time(world, me, state)
        is_turn = is_first(gate, state[NUMBER], time)
        if time == COMPLETE:
            return DONE
        if not is_turn:
            break
        if state[SEEN] != gate[GENERATION]:
            state[SEEN], state[SHARE] = gate[GENERATION], 0
        room = room_for(gate, state[SHARE], state[RUN])
        if room > 0:
            told = _let_in(world, me, state, gate, room, False)
            if told >= 0:
                return told
            if told != _FULL:
                continue
        if not renew(world, gate):
            break
    if state[RUN] > 0:
        return AGAIN
    now_ns = monotonic_now_ns()
    rows = escape(world, gate, now_ns, state[ESCAPED])
    state[ESCAPED] = gate[ESCAPES]
    if rows > 0:
        told = _let_in(world, me, state, gate, rows * 8 * state[WIDTH] if gate[UNIT] == BYTES else rows, True)
        if told >= 0:
            return told
    state[LOOKS] += 1
    if state[LOOKS] < _LOOKS_AT_ONCE:
        return AGAIN
    wake_at(world, me, now_ns + min(_MOST_WAIT_NS, _WAIT_NS * (state[LOOKS] - _LOOKS_AT_ONCE + 1)))
    return DONE


def compiled_entry(gate: Gate, number: int, width: int) -> Compiled:
    """The entry's logic on one worker."""
    state = np.zeros(WORDS, np.int64)
    state[GATE], state[WIDTH], state[SEEN], state[USED], state[RUN_ROUND] = address_of(gate.words), width, -1, -1, -1
    state[NUMBER], state[LAST_TIME] = number, -1
    kept = [np.zeros(0, np.int64)]

    def make_room() -> None:
        kept[0] = np.zeros(int(state[LACKS]), np.int64)
        state[KEPT], state[KEPT_CAPACITY] = address_of(kept[0]), len(kept[0])

    return Compiled(let_in, state, (gate, kept), make_room, view=gate.view)
