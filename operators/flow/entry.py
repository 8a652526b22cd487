"""The entry of a region in the worker's inner loop: messages go on by reference; what is too large goes in pieces.

Messages that may not go in yet stay where they are, untaken, so that those who send them see them under way. Of one
that is too large a copy is kept with a token, and sent piece by piece at its times.
"""

import numpy as np

from tokenring.engine import COMPLETE, kernel
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
    record_at,
    retain,
    round_of,
    rows_of,
    send,
    state_as,
    take,
    time_of,
    time_of_token,
    wake_at,
    words_at,
    world_at,
)
from tokenring.operators.flow.gate import (
    BYTES,
    TIMES,
    Gate,
    GateState,
    escape,
    is_first,
    renew,
    renew_early,
    room_for,
    was_let_in,
)
from tokenring.operators.mechanisms import Beginning, drop_first


class EntryState(Beginning):
    """`gate`: where the gate's state is. `share`: let in in the generation `seen`, in units. What is kept: `kept_rows`
    rows of `width` columns at `kept`, behind them their times if `kept_keys`, from row `start` on; `slot`: its token;
    `used`: the round in which some of them were last sent. `run`: let in in the round `run_round`. `looks`: how often
    in turn nothing could be let in. `lacks`: words that there was no room for. `number`: of the entry in its gate."""

    gate: int
    width: int
    share: int
    seen: int
    slot: int
    kept: int
    kept_capacity: int
    kept_rows: int
    kept_keys: int
    start: int
    used: int
    last_time: int
    lacks: int
    run: int
    run_round: int
    looks: int
    escaped: int
    number: int


_FULL = -2
_LOOKS_AT_ONCE = 64  # after so many an entry lets its worker sleep in between
_WAIT_NS, _MOST_WAIT_NS = 10_000, 500_000


@kernel
def _units_at(state: EntryState, gate: GateState, rows: int, time: int) -> int:
    """How much rows of one time count; the time is noted."""
    if gate.unit == TIMES:
        is_new = time != state.last_time
        state.last_time = time
        return int(is_new)
    return rows * 8 * state.width if gate.unit == BYTES else rows


@kernel
def _units_of(state: EntryState, gate: GateState, message: int) -> int:
    """How much a message counts, which may be many; the last of its times is noted."""
    rows = rows_of(message)
    if gate.unit != TIMES or keys_of(message) == 0:
        return _units_at(state, gate, rows, time_of(message))
    keys = words_at(keys_of(message), rows)
    units = start = 0
    while start < rows:
        units += _units_at(state, gate, 0, keys[start])
        start = end_of_message(message, start)
    return units


@kernel
def _fits_whole(state: EntryState, gate: GateState, message: int, room: int) -> bool:
    """Whether a message may go in where there is room for so much."""
    rows = rows_of(message)
    if gate.unit == TIMES:
        last = state.last_time
        units = _units_of(state, gate, message)
        state.last_time = last
        return units <= room
    return (rows * 8 * state.width if gate.unit == BYTES else rows) <= room


@kernel
def _send_kept(world: int, me: int, state: EntryState, gate: GateState, room: int) -> int:
    """Send a piece of what is kept, of one time, as far as there is room, one row at least; how much it counts."""
    start, whole, width = state.start, state.kept_rows, state.width
    stop = whole
    time = time_of_token(world, state.slot)
    if state.kept_keys != 0:
        keys = words_at(state.kept + 8 * whole * width, whole)
        time = keys[start]
        stop = start
        while stop < whole and keys[stop] == time:
            stop += 1
        downgrade(world, me, state.slot, time)
    if gate.unit != TIMES:
        stop = min(stop, start + max(1, room // (8 * width) if gate.unit == BYTES else room))
    made = bare_message(world_at(world), width, stop - start)
    for column in range(width):
        point_to(made, column, state.kept + 8 * (whole * column + start))
    send(world, me, state.slot, made, time)
    state.start = stop
    state.used = round_of(world)
    if stop == whole:
        drop(world, me, state.slot)
        state.kept_rows = 0
    return _units_at(state, gate, stop - start, time)


@kernel
def _keep(world: int, me: int, state: EntryState, message: int) -> None:
    """Keep the rows of the message at hand, with a token."""
    rows, width = rows_of(message), state.width
    kept = words_at(state.kept, rows * (width + 1))
    for column in range(width):
        kept[rows * column : rows * (column + 1)] = column_of(message, column)
    keys = keys_of(message)
    state.kept_keys = keys != 0 and end_of_message(message, 0) < rows
    if state.kept_keys != 0:
        kept[rows * width : rows * (width + 1)] = words_at(keys, rows)
    state.slot = retain(world, me, 0, 0)
    state.kept_rows, state.start = rows, 0


@kernel
def _let_in(world: int, me: int, state: EntryState, gate: GateState, room: int, must: bool) -> int:
    """Let in what there is room for, of what is kept or of the next message: DONE if there is nothing more, NEEDS_ROOM,
    AGAIN if it must wait until the round ends, since what was kept is still read; _FULL if it is to wait for the next
    generation, and nothing must be let in; else -1."""
    if state.kept_rows > 0:
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
            words = rows_of(message) * (state.width + 1)
            if not must and state.share > 0 and _fits_whole(state, gate, message, room_for(state.gate, 0, 0)):
                return _FULL  # it need not be taken apart
            if state.used == round_of(world):
                return AGAIN
            if words > state.kept_capacity:
                state.lacks = words
                return NEEDS_ROOM
            take(world, me, 0)
            _keep(world, me, state, message)
            units = _send_kept(world, me, state, gate, room)
    state.share += units
    state.run += units
    state.looks = 0
    was_let_in(world, state.gate, units)
    return -1


@kernel
def _next_time(world: int, me: int, state: EntryState) -> int:
    """The time of what is to be let in next; COMPLETE if there is nothing."""
    if state.kept_rows > 0:
        if state.kept_keys != 0:
            return words_at(state.kept + 8 * (state.kept_rows * state.width + state.start), 1)[0]
        return time_of_token(world, state.slot)
    message = peek(world, me, 0)
    return COMPLETE if message == 0 else time_of(message)


@entry
def let_in(world: int, me: int) -> int:
    """Let in what the gate has room for; look again while something is held back."""
    state = state_as(world, me, EntryState)
    drop_first(world, me, state)
    gate = record_at(state.gate, GateState)
    if state.run_round != round_of(world):
        state.run_round, state.run = round_of(world), 0
        renew_early(world, state.gate)
    while True:
        time = _next_time(world, me, state)
        is_turn = is_first(state.gate, state.number, time)
        if time == COMPLETE:
            return DONE
        if not is_turn:
            break
        if state.seen != gate.generation:
            state.seen, state.share = gate.generation, 0
        room = room_for(state.gate, state.share, state.run)
        if room > 0:
            told = _let_in(world, me, state, gate, room, False)
            if told >= 0:
                return told
            if told != _FULL:
                continue
        if not renew(world, state.gate):
            break
    if state.run > 0:
        return AGAIN
    now_ns = monotonic_now_ns()
    rows = escape(world, state.gate, now_ns, state.escaped)
    state.escaped = gate.escapes
    if rows > 0:
        told = _let_in(world, me, state, gate, rows * 8 * state.width if gate.unit == BYTES else rows, True)
        if told >= 0:
            return told
    state.looks += 1
    if state.looks < _LOOKS_AT_ONCE:
        return AGAIN
    wake_at(world, me, now_ns + min(_MOST_WAIT_NS, _WAIT_NS * (state.looks - _LOOKS_AT_ONCE + 1)))
    return DONE


def compiled_entry(gate: Gate, number: int, width: int) -> Compiled:
    """The entry's logic on one worker."""
    state = EntryState()
    state.gate, state.width, state.seen, state.used, state.run_round = gate.address, width, -1, -1, -1
    state.number, state.last_time = number, -1
    kept = [np.zeros(0, np.int64)]

    def make_room() -> None:
        kept[0] = np.zeros(state.lacks, np.int64)
        state.kept, state.kept_capacity = address_of(kept[0]), len(kept[0])

    return Compiled(let_in, state.words, (gate, kept), make_room, view=gate.view)
