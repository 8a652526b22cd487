"""What a random compiled operator does: takes messages or leaves them, forwards, holds, downgrades, drops, sends anew.

It notes what it does in a journal that all workers share, which is read to the oracle before that judges anything.
"""

from __future__ import annotations

import numpy as np

from tokenring.engine import COMPLETE
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    Compiled,
    address_of,
    answer,
    column_of,
    downgrade,
    drop,
    entry,
    frontier_at,
    new_message,
    retain,
    rows_of,
    send,
    state_of,
    take,
    words_at,
)
from tokenring.engine.native.layout import message_at
from tokenring.engine.native.messages import time_of
from tokenring.shm.kernels import kernel

COUNT, DRAINING, NEXT_ROW, NOTES = 0, 1, 2, 4
NOTE_WORDS, MOST_NOTES = 8, 1 << 15
ARRIVED, SENT, FINISHED, HELD, MOVED, GONE = range(6)

# Words of the state, behind the slots of the tokens it begins with.
_SEED, _JOURNAL, _NUMBER, _INPUTS, _OUTPUTS, _WORKER, _ROWS, _HOLDS, _BEGAN, _LIST = range(4, 14)
_MOST_HELD = 30
_WORDS = _LIST + 3 * _MOST_HELD
_ROWS_AT_MOST = 150


@kernel
def _draw(state, below):  # type: ignore[no-untyped-def]
    """A pseudo-random number."""
    state[_SEED] = (state[_SEED] * 1103515245 + 12345) & 0x7FFFFFFF
    return (state[_SEED] >> 12) % below


@kernel
def _note(state, kind, first, second, third, fourth, fifth):  # type: ignore[no-untyped-def]
    journal = words_at(state[_JOURNAL], NOTES + NOTE_WORDS * MOST_NOTES)
    at = NOTES + NOTE_WORDS * journal[COUNT]
    journal[at], journal[at + 1], journal[at + 2] = kind, state[_NUMBER], state[_WORKER]
    journal[at + 3], journal[at + 4], journal[at + 5], journal[at + 6] = first, second, third, fourth
    journal[at + 7] = fifth
    journal[COUNT] += 1


@kernel
def _time_of_row(message, i):  # type: ignore[no-untyped-def]
    header = message_at(message)
    if header.keys != 0 and header.at_one_time == 0:
        return words_at(header.keys, i + 1)[i]
    return header.time


@kernel
def _hold(state, slot, output, time):  # type: ignore[no-untyped-def]
    at = _LIST + 3 * state[_HOLDS]
    state[at], state[at + 1], state[at + 2] = slot, output, time
    state[_HOLDS] += 1


@kernel
def _fresh(world, me, state, output):  # type: ignore[no-untyped-def]
    """A message of one row that was never sent before."""
    journal = words_at(state[_JOURNAL], NOTES)
    row = journal[NEXT_ROW]
    journal[NEXT_ROW] += 1
    made = new_message(world, me, output, 1)
    halves = np.empty(1, np.float64)
    halves[0] = row / 2
    column_of(made, 0)[0] = row % 41 - 20
    column_of(made, 1)[0] = row
    column_of(made, 2)[0] = halves.view(np.int64)[0]
    column_of(made, 3)[0] = 3 * row
    return made


@entry
def behave(world, me):  # type: ignore[no-untyped-def]
    """One call."""
    state = state_of(world, me, _WORDS)
    if state[_BEGAN] == 0:
        state[_BEGAN] = 1
        for output in range(state[_OUTPUTS]):
            _hold(state, state[output], output, 0)
    left = False
    for port in range(state[_INPUTS]):
        if _draw(state, 10) == 0:
            left = True
            continue
        while True:
            message = take(world, me, port)
            if message == 0:
                break
            rows, frontier = rows_of(message), frontier_at(world, me, port)
            keys, ids = column_of(message, 0), column_of(message, 1)
            for i in range(rows):
                _note(state, ARRIVED, port, ids[i], keys[i], _time_of_row(message, i), frontier)
            for output in range(state[_OUTPUTS]):
                choice = _draw(state, 20)
                if choice < 9 and state[_ROWS] >= rows:
                    state[_ROWS] -= rows
                    answer(world, me, port, output, message)
                    for i in range(rows):
                        _note(state, SENT, output, ids[i], 0, _time_of_row(message, i), 0)
                elif choice < 15 and state[_HOLDS] < _MOST_HELD:
                    time = time_of(message)
                    _hold(state, retain(world, me, port, output), output, time)
                    _note(state, HELD, output, 0, 0, time, 0)
            for i in range(rows):
                _note(state, FINISHED, port, ids[i], 0, _time_of_row(message, i), 0)
            if _draw(state, 10) == 0:
                left = True
                break
    is_draining = words_at(state[_JOURNAL], NOTES)[DRAINING]
    held = state[_HOLDS] - 1
    while held >= 0:
        at = _LIST + 3 * held
        slot, output, time = state[at], state[at + 1], state[at + 2]
        choice = _draw(state, 20)
        if is_draining:
            choice = 10 + choice // 2
        if choice < 4 and state[_ROWS] > 0:
            state[_ROWS] -= 1
            later = time + _draw(state, 3)
            made = _fresh(world, me, state, output)
            send(world, me, slot, made, later)
            _note(state, SENT, output, column_of(made, 1)[0], 0, later, 0)
        elif choice < 14:
            later = time + _draw(state, 4)
            downgrade(world, me, slot, later)
            state[at + 2] = later
            _note(state, MOVED, output, time, 0, later, 0)
        elif choice < 18:
            drop(world, me, slot)
            _note(state, GONE, output, 0, 0, time, 0)
            last = _LIST + 3 * (state[_HOLDS] - 1)
            state[at], state[at + 1], state[at + 2] = state[last], state[last + 1], state[last + 2]
            state[_HOLDS] -= 1
        held -= 1
    if left or (state[_HOLDS] > 0 and (is_draining or _draw(state, 10) < 5)):
        return AGAIN
    return DONE


def new_journal() -> np.ndarray:
    """Nothing done yet."""
    journal = np.zeros(NOTES + NOTE_WORDS * MOST_NOTES, np.int64)
    journal[NEXT_ROW] = 1 << 40
    return journal


def compiled(journal: np.ndarray, seed: int, worker: int, number: int, inputs: int, outputs: int) -> Compiled:
    """An operator on one worker."""
    state = np.zeros(_WORDS, np.int64)
    state[_SEED], state[_JOURNAL], state[_NUMBER], state[_WORKER] = seed, address_of(journal), number, worker
    state[_INPUTS], state[_OUTPUTS], state[_ROWS] = inputs, outputs, _ROWS_AT_MOST
    return Compiled(behave, state, (journal,))


def frontier_in(word: int) -> tuple[tuple[int, ...], ...]:
    """A frontier as the oracle has it."""
    return () if word == COMPLETE else ((word,),)
