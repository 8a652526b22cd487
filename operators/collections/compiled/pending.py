"""Updates that came and are not finished: gathered from messages, with a token for the least of their times, and taken
out as the frontier passes them.
"""

import ctypes
from typing import Any

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    address_of,
    addresses_of,
    column_of,
    deallocate,
    downgrade,
    drop,
    peek,
    retain,
    rows_of,
    table_at,
    take,
    time_of_token,
    words_at,
)
from tokenring.operators.collections.updates import LARGE, consolidate_dealt, deal, new_block
from tokenring.operators.collections.words import BASE, KIND_WORDS, Entering, enter_columns

# Words of a state, its first ones. PENDING, ROOM, ROWS: the block of the updates, of COLUMNS columns, and LEAST the
# least of their times; HELD: the token for them. TEXTS, KINDS, HEAPS: as `enter_columns` has them.
FIRST, PENDING, ROOM, ROWS, COLUMNS, LEAST, HELD, TEXTS, KINDS, HEAPS = range(10)
PENDING_WORDS = 10
_FIRST_ROWS = 64
_NEVER = 1 << 62


@kernel
def _make_room(state, rows):  # type: ignore[no-untyped-def]
    """Have room for so many more rows."""
    needed = state[ROWS] + rows
    if needed > state[ROOM]:
        room, columns = max(_FIRST_ROWS, needed, 2 * state[ROOM]), state[COLUMNS]
        address = new_block(columns, room)
        if state[PENDING] != 0:
            before, after = table_at(state[PENDING], columns, state[ROOM]), table_at(address, columns, room)
            for column in range(columns):
                after[column, : state[ROWS]] = before[column, : state[ROWS]]
            deallocate(state[PENDING])
        state[PENDING], state[ROOM] = address, room


@kernel
def _gather(state, message):  # type: ignore[no-untyped-def]
    """Put a message's rows behind those that are pending; whether there was room for their texts."""
    rows, columns = rows_of(message), state[COLUMNS]
    _make_room(state, rows)
    return enter_columns(
        state[TEXTS], addresses_of(message), words_at(state[HEAPS], columns),
        table_at(state[KINDS], columns, KIND_WORDS), rows, table_at(state[PENDING], columns, state[ROOM]), state[ROWS],
    )  # fmt: skip


@kernel
def _hold(world, me, state, least):  # type: ignore[no-untyped-def]
    """Hold a token at the least time that is pending."""
    state[LEAST] = min(state[LEAST], least)
    if state[HELD] >= 0 and time_of_token(world, state[HELD]) <= least:
        return
    slot = retain(world, me, 0, 0)
    downgrade(world, me, slot, least)
    if state[HELD] >= 0:
        drop(world, me, state[HELD])
    state[HELD] = slot


@kernel
def gather_all(world, me, state):  # type: ignore[no-untyped-def]
    """Take in what came; False if texts have no room, which is to be cured before the call is repeated."""
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return True
        if not _gather(state, message):
            return False
        take(world, me, 0)
        if rows_of(message) > 0:
            state[ROWS] += rows_of(message)
            _hold(world, me, state, column_of(message, state[COLUMNS] - 2).min())


@kernel
def _free_large(state):  # type: ignore[no-untyped-def]
    """Nothing is pending: give a large block back."""
    if state[ROOM] >= LARGE:
        deallocate(state[PENDING])
        state[PENDING] = state[ROOM] = 0


@kernel
def are_all_finished(state, frontier):  # type: ignore[no-untyped-def]
    """Whether all that is pending is before the frontier."""
    times = table_at(state[PENDING], state[COLUMNS], state[ROOM])[state[COLUMNS] - 2]
    for row in range(state[ROWS]):
        if times[row] >= frontier:
            return False
    return True


@kernel
def seal_pending(state):  # type: ignore[no-untyped-def]
    """All that is pending, which is much, in order and added up, in a block with room for all: (its address, how many,
    or TOO_OFTEN, as `add_up` has it). No more memory is used at once than twice what comes of it."""
    rows, columns = state[ROWS], state[COLUMNS]
    address = new_block(columns, rows)
    dealt = table_at(address, columns, rows)
    bounds = deal(table_at(state[PENDING], columns, state[ROOM]), rows, dealt)
    state[ROWS], state[LEAST] = 0, _NEVER
    _free_large(state)
    target = new_block(columns, rows)
    made = consolidate_dealt(dealt, bounds, table_at(target, columns, rows))
    deallocate(address)
    return target, made


@kernel
def give_pending(state):  # type: ignore[no-untyped-def]
    """All that is pending, in the block in which it was gathered, the caller's from now on: (its address, its room, how
    many rows there are)."""
    address, room, rows = state[PENDING], state[ROOM], state[ROWS]
    state[PENDING], state[ROOM], state[ROWS], state[LEAST] = 0, 0, 0, _NEVER
    return address, room, rows


@kernel
def take_back(state, address, room):  # type: ignore[no-untyped-def]
    """Have a block that `give_pending` gave again, to gather in, unless there is another."""
    if state[PENDING] == 0:
        state[PENDING], state[ROOM] = address, room
    else:
        deallocate(address)


@kernel
def take_finished(state, frontier):  # type: ignore[no-untyped-def]
    """Take the rows that are before the frontier out of those pending: a table of their own, int64 (columns, rows)."""
    rows, columns = state[ROWS], state[COLUMNS]
    pending = table_at(state[PENDING], columns, state[ROOM])
    times = pending[columns - 2]
    count = 0
    for row in range(rows):
        count += times[row] < frontier
    finished = np.empty((columns, count), np.int64)
    if count == rows:
        for column in range(columns):
            finished[column] = pending[column, :rows]
        state[ROWS], state[LEAST] = 0, _NEVER
        _free_large(state)
        return finished
    places = np.empty(rows, np.int64)
    due, left, kept, least = 0, rows - count, 0, np.int64(_NEVER)
    for row in range(rows):
        if times[row] < frontier:
            places[due] = row
            due += 1
        else:
            places[count + kept] = row
            kept += 1
            least = min(least, times[row])
    for column in range(columns):
        for row in range(count):
            finished[column, row] = pending[column, places[row]]
        for row in range(left):  # rows only move to the front
            pending[column, row] = pending[column, places[count + row]]
    state[ROWS], state[LEAST] = left, least
    return finished


@kernel
def hold_least(world, me, state):  # type: ignore[no-untyped-def]
    """All that was taken out is sent: hold the token for what is left."""
    if state[ROWS] == 0:
        drop(world, me, state[HELD])
        state[HELD] = -1
    else:
        downgrade(world, me, state[HELD], state[LEAST])


def pending_of(state: np.ndarray) -> np.ndarray:
    """A copy of what is pending, int64 (columns, rows)."""
    rows, room, columns = int(state[ROWS]), int(state[ROOM]), int(state[COLUMNS])
    if rows == 0:
        return np.empty((columns, 0), np.int64)
    block = (ctypes.c_int64 * (columns * room)).from_address(int(state[PENDING]))
    return np.ctypeslib.as_array(block).reshape(columns, room)[:, :rows].copy()


def begin_pending(state: np.ndarray, entering: Entering) -> tuple[Any, ...]:
    """Write the words of a state; what is to last as long as it. entering: makes tables of messages."""
    heaps = np.ascontiguousarray(entering.kinds[:, BASE])
    state[COLUMNS], state[HELD], state[LEAST] = len(entering.kinds), -1, _NEVER
    state[TEXTS], state[KINDS], state[HEAPS] = entering.texts_address, address_of(entering.kinds), address_of(heaps)
    return entering, heaps
