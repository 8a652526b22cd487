"""What a random compiled operator does: takes messages or leaves them, forwards, holds, moves, clones, drops, sends;
in loops as at the root.

It notes what it does in a journal that all workers share, which is read to the oracle before that judges anything.
"""

from __future__ import annotations

import numpy as np

from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    Compiled,
    Record,
    Words,
    answer,
    clone,
    column_of,
    downgrade,
    downgrade_to,
    drop,
    elements_at,
    entry,
    inner_of,
    inner_of_token,
    keys_of,
    new_message,
    record_at,
    records_at,
    retain,
    room,
    rows_of,
    send,
    send_by,
    state_as,
    take,
    time_of,
    time_of_token,
    words_at,
)
from tokenring.engine.native.layout import message_at
from tokenring.shm.kernels import kernel

MOST_NOTES = 1 << 15
COORDINATES = 4
ARRIVED, SENT, FINISHED, HELD, MOVED, GONE, AT, OPEN = range(8)
"""Kinds of notes: AT is the time that the next one moves from, OPEN an element of the frontier that the next sees."""
_MOST_HELD = 30
_ROWS_AT_MOST = 150


class Note(Record):
    """What was done: by operator `number` on `worker`, at `port`, of row `row` with `key`, at a time."""

    kind: int
    number: int
    worker: int
    port: int
    row: int
    key: int
    time: Words = room(COORDINATES)


class Journal(Record):
    """`count` notes. `draining`: whether the run is to end; `next_row`: the number of the next new row."""

    count: int
    draining: int
    next_row: int
    notes: Words = room(Note.size * MOST_NOTES)


class Held(Record):
    """A token, and which output it is for."""

    slot: int
    output: int


class Conduct(Record):
    """An operator's state, its held tokens last. `depth`: how many coordinates times have there."""

    tokens: Words = room(4)
    seed: int
    journal: int
    number: int
    inputs: int
    outputs: int
    worker: int
    depth: int
    rows: int
    holds: int
    began: int
    held: Words = room(Held.size * _MOST_HELD)


@kernel
def _behind(time: Words) -> Words:
    """The coordinates behind the first."""
    inner = np.zeros(COORDINATES - 1, np.int64)
    inner[: len(time) - 1] = time[1:]
    return inner


@kernel
def _draw(state: Conduct, below: int) -> int:
    """A pseudo-random number."""
    state.seed = (state.seed * 1103515245 + 12345) & 0x7FFFFFFF
    return (state.seed >> 12) % below


@kernel
def _journal(state: Conduct) -> Journal:
    return record_at(state.journal, Journal)


@kernel
def _note(state: Conduct, kind: int, port: int, row: int, key: int, time: int, inner: Words) -> None:
    journal = _journal(state)
    note = records_at(journal.notes.ctypes.data, MOST_NOTES, Note)[journal.count]
    note.kind, note.number, note.worker = kind, state.number, state.worker
    note.port, note.row, note.key = port, row, key
    note.time[0] = time
    note.time[1:] = inner
    journal.count += 1


@kernel
def _note_token(world: int, state: Conduct, kind: int, held: Held) -> None:
    """Note something at a token's time."""
    inner = inner_of_token(world, held.slot)
    _note(state, kind, held.output, 0, 0, time_of_token(world, held.slot), inner)


@kernel
def _time_of_row(message: int, row: int) -> int:
    if keys_of(message) != 0 and message_at(message).at_one_time == 0:
        return words_at(keys_of(message), row + 1)[row]
    return time_of(message)


@kernel
def _held(state: Conduct, number: int) -> Held:
    return records_at(state.held.ctypes.data, _MOST_HELD, Held)[number]


@kernel
def _hold(state: Conduct, slot: int, output: int) -> Held:
    held = _held(state, state.holds)
    held.slot, held.output = slot, output
    state.holds += 1
    return held


@kernel
def _fresh(world: int, me: int, state: Conduct, output: int) -> int:
    """A message of one row that was never sent before."""
    row = _journal(state).next_row
    _journal(state).next_row += 1
    made = new_message(world, me, output, 1)
    halves = np.empty(1, np.float64)
    halves[0] = row / 2
    column_of(made, 0)[0] = row % 41 - 20
    column_of(made, 1)[0] = row
    column_of(made, 2)[0] = halves.view(np.int64)[0]
    column_of(made, 3)[0] = 3 * row
    return made


@kernel
def _later(world: int, state: Conduct, slot: int, most: int) -> Words:
    """A time that is the token's or later in some coordinates."""
    time = np.zeros(state.depth, np.int64)
    inner = inner_of_token(world, slot)
    for at in range(state.depth):
        time[at] = time_of_token(world, slot) if at == 0 else inner[at - 1]
        if state.depth == 1 or _draw(state, 2) == 0:
            time[at] += _draw(state, most)
    return time


@kernel
def _downgrade(world: int, me: int, state: Conduct, slot: int, time: Words) -> None:
    if state.depth == 1 and _draw(state, 2) == 0:
        downgrade(world, me, slot, time[0])
    else:
        downgrade_to(world, me, slot, time)


@kernel
def _take(world: int, me: int, state: Conduct, port: int) -> bool:
    """Take messages; whether some were left."""
    while True:
        message = take(world, me, port)
        if message == 0:
            return False
        rows, inner = rows_of(message), inner_of(message)
        keys, ids = column_of(message, 0), column_of(message, 1)
        elements = elements_at(world, me, port)
        for i in range(rows):
            for element in elements:
                _note(state, OPEN, port, 0, 0, element[0], _behind(element))
            _note(state, ARRIVED, port, ids[i], keys[i], _time_of_row(message, i), inner)
        for output in range(state.outputs):
            choice = _draw(state, 20)
            if choice < 9 and state.rows >= rows:
                state.rows -= rows
                answer(world, me, port, output, message)
                for i in range(rows):
                    _note(state, SENT, output, ids[i], 0, _time_of_row(message, i), inner)
            elif choice < 15 and state.holds < _MOST_HELD:
                _note_token(world, state, HELD, _hold(state, retain(world, me, port, output), output))
        for i in range(rows):
            _note(state, FINISHED, port, ids[i], 0, _time_of_row(message, i), inner)
        if _draw(state, 10) == 0:
            return True


@kernel
def _send_anew(world: int, me: int, state: Conduct, held: Held) -> None:
    """Send a new row at the token's time or later: at once at the root, else with a clone that is moved there."""
    state.rows -= 1
    made, time = _fresh(world, me, state, held.output), _later(world, state, held.slot, 3)
    _note(state, SENT, held.output, column_of(made, 1)[0], 0, time[0], _behind(time))
    if state.depth == 1 and _draw(state, 2) == 0:
        send(world, me, held.slot, made, time[0])
        return
    slot = clone(world, me, held.slot)
    _downgrade(world, me, state, slot, time)
    send_by(world, me, slot, made)
    drop(world, me, slot)


@entry
def behave(world: int, me: int) -> int:
    """One call."""
    state = state_as(world, me, Conduct)
    if state.began == 0:
        state.began = 1
        for output in range(state.outputs):
            _hold(state, state.tokens[output], output)
    left = False
    for port in range(state.inputs):
        if _draw(state, 10) == 0 or _take(world, me, state, port):
            left = True
    draining = _journal(state).draining
    number = state.holds - 1
    while number >= 0:
        held = _held(state, number)
        choice = _draw(state, 20)
        if draining:
            choice = 10 + choice // 2
        if choice < 4 and state.rows > 0:
            _send_anew(world, me, state, held)
        elif choice < 14:
            _note_token(world, state, AT, held)
            _downgrade(world, me, state, held.slot, _later(world, state, held.slot, 4))
            _note_token(world, state, MOVED, held)
        elif choice < 18:
            _note_token(world, state, GONE, held)
            drop(world, me, held.slot)
            last = _held(state, state.holds - 1)
            held.slot, held.output = last.slot, last.output
            state.holds -= 1
        elif choice == 18 and not draining and state.holds < _MOST_HELD:
            _note_token(world, state, HELD, _hold(state, clone(world, me, held.slot), held.output))
        number -= 1
    if left or (state.holds > 0 and (draining or _draw(state, 10) < 5)):
        return AGAIN
    return DONE


def new_journal() -> Journal:
    """Nothing done yet."""
    journal = Journal()
    journal.next_row = 1 << 40
    return journal


def compiled(journal: Journal, seed: int, worker: int, number: int, inputs: int, outputs: int, depth: int) -> Compiled:
    """An operator on one worker."""
    state = Conduct()
    state.seed, state.journal, state.number, state.worker = seed, journal.address, number, worker
    state.inputs, state.outputs, state.depth, state.rows = inputs, outputs, depth, _ROWS_AT_MOST
    return Compiled(behave, state.words, (journal,))
