"""Updates that came and are not finished: gathered from messages, with a token for the least of their times, and taken
out as the frontier passes them.
"""

import ctypes
from typing import Any

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    Words,
    address_of,
    addresses_of,
    column_of,
    deallocate,
    downgrade,
    drop,
    peek,
    retain,
    rows_of,
    signed,
    table_at,
    take,
    time_of_token,
    words_at,
)
from tokenring.operators.collections.compiled.rights import Rights, keep_right
from tokenring.operators.collections.updates import LARGE, consolidate_dealt, deal, finished_rows, new_block
from tokenring.operators.collections.words import KIND_WORDS, Entering, KindRow, enter_columns
from tokenring.operators.mechanisms import Beginning


class Pending(Beginning):
    """What states begin with. `block`: the updates, of so many columns, in room for how many, and how many there are.
    Where times have one coordinate, `least`: the least of their times; `held`: the token for them; else `rights`.
    `depth`: how many coordinates they have. `texts`, `kinds`, `heaps`: as `enter_columns` has them."""

    block: int
    room: int
    rows: int
    columns: int
    least: int
    held: int
    depth: int
    rights: Rights
    texts: int
    kinds: int
    heaps: int


_FIRST_ROWS = 64
_NEVER = 1 << 62


@kernel
def _make_room(state: Pending, rows: int) -> None:
    """Have room for so many more rows."""
    needed = state.rows + rows
    if needed > state.room:
        room, columns = max(_FIRST_ROWS, needed, 2 * state.room), state.columns
        address = new_block(columns, room)
        if state.block != 0:
            before, after = table_at(state.block, columns, state.room), table_at(address, columns, room)
            for column in range(columns):
                after[column, : state.rows] = before[column, : state.rows]
            deallocate(state.block)
        state.block, state.room = address, room


@kernel
def _gather(state: Pending, message: int) -> bool:
    """Put a message's rows behind those that are pending; whether there was room for their texts."""
    rows, columns = rows_of(message), state.columns
    _make_room(state, rows)
    return enter_columns(
        state.texts, addresses_of(message), words_at(state.heaps, columns),
        table_at(state.kinds, columns, KIND_WORDS), rows, table_at(state.block, columns, state.room), state.rows,
    )  # fmt: skip


@kernel
def _hold(world: int, me: int, state: Pending, least: int) -> None:
    """Hold a token at the least time that is pending."""
    state.least = min(state.least, least)
    if state.held >= 0 and time_of_token(world, state.held) <= least:
        return
    slot = retain(world, me, 0, 0)
    downgrade(world, me, slot, least)
    if state.held >= 0:
        drop(world, me, state.held)
    state.held = slot


@kernel
def gather_all(world: int, me: int, state: Pending) -> bool:
    """Take in what came; False if texts have no room, which is to be cured before the call is repeated."""
    while True:
        message = peek(world, me, 0)
        if message == 0:
            return True
        if not _gather(state, message):
            return False
        take(world, me, 0)
        if rows_of(message) > 0:
            state.rows += rows_of(message)
            if state.depth == 1:
                _hold(world, me, state, column_of(message, state.columns - 2).min())
            else:
                keep_right(world, me, state.rights, message, state.depth)


@kernel
def _free_large(state: Pending) -> None:
    """Nothing is pending: give a large block back."""
    if state.room >= LARGE:
        deallocate(state.block)
        state.block = state.room = 0


@kernel
def are_all_finished(state: Pending, frontier: Words) -> bool:
    """Whether all that is pending is before a frontier, int64 (elements, coordinates)."""
    marks = finished_rows(times_pending(state), state.rows, frontier)
    for row in range(len(marks)):
        if not marks[row]:
            return False
    return True


@kernel
def are_all_before(state: Pending, frontier: int) -> bool:
    """The same where times have one coordinate."""
    times = times_pending(state)
    for row in range(state.rows):
        if times[0, row] >= frontier:
            return False
    return True


@kernel
def seal_pending(state: Pending) -> tuple[int, int]:
    """All that is pending, which is much, in order and added up, in a block with room for all: (its address, how many,
    or TOO_OFTEN, as `add_up` has it). No more memory is used at once than twice what comes of it."""
    rows, columns = state.rows, state.columns
    address = new_block(columns, rows)
    dealt = table_at(address, columns, rows)
    bounds = deal(table_at(state.block, columns, state.room), rows, dealt)
    state.rows, state.least = 0, _NEVER
    _free_large(state)
    target = new_block(columns, rows)
    made = consolidate_dealt(dealt, bounds, table_at(target, columns, rows))
    deallocate(address)
    return target, made


@kernel
def give_pending(state: Pending) -> tuple[int, int, int]:
    """All that is pending, in the block in which it was gathered, the caller's from now on: (its address, its room, how
    many rows there are)."""
    address, room, rows = state.block, state.room, state.rows
    state.block, state.room, state.rows, state.least = 0, 0, 0, _NEVER
    return address, room, rows


@kernel
def take_back(state: Pending, address: int, room: int) -> None:
    """Have a block that `give_pending` gave again, to gather in, unless there is another."""
    if state.block == 0:
        state.block, state.room = address, room
    else:
        deallocate(address)


@kernel
def times_pending(state: Pending) -> Words:
    """The times of what is pending, int64 (coordinates, room)."""
    columns, depth = state.columns, state.depth
    return table_at(state.block, columns, state.room)[columns - 1 - depth : columns - 1]


@kernel
def take_finished(state: Pending, frontier: Words) -> Words:
    """Take the rows that are before a frontier, int64 (elements, coordinates), out of those pending: a table of their
    own, int64 (columns, rows)."""
    rows, columns = state.rows, state.columns
    pending = table_at(state.block, columns, state.room)
    marks = finished_rows(times_pending(state), rows, frontier)
    times, count = pending[columns - 2], 0
    for row in range(rows):
        count += marks[row]
    finished = np.empty((columns, count), np.int64)
    if count == rows:
        for column in range(columns):
            finished[column] = pending[column, :rows]
        state.rows, state.least = 0, _NEVER
        _free_large(state)
        return finished
    places = np.empty(rows, np.int64)
    due, left, kept, least = 0, rows - count, 0, signed(_NEVER)
    for row in range(rows):
        if marks[row]:
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
    state.rows, state.least = left, least
    return finished


@kernel
def take_before(state: Pending, frontier: int) -> Words:
    """The same where times have one coordinate."""
    upto = np.empty((1, 1), np.int64)
    upto[0, 0] = frontier
    return take_finished(state, upto)


@kernel
def hold_least(world: int, me: int, state: Pending) -> None:
    """All that was taken out is sent: hold the token for what is left."""
    if state.rows == 0:
        drop(world, me, state.held)
        state.held = -1
    else:
        downgrade(world, me, state.held, state.least)


def pending_of(words: np.ndarray) -> np.ndarray:
    """A copy of what is pending in a state, int64 (columns, rows)."""
    state = Pending(words)
    rows, room, columns = state.rows, state.room, state.columns
    if rows == 0:
        return np.empty((columns, 0), np.int64)
    block = (ctypes.c_int64 * (columns * room)).from_address(state.block)
    return np.ctypeslib.as_array(block).reshape(columns, room)[:, :rows].copy()


def begin_pending(state: Pending, entering: Entering, depth: int = 1) -> tuple[Any, ...]:
    """Write the words of a state; what is to last as long as it. entering: makes tables of messages; depth: how many
    coordinates times have."""
    heaps = np.ascontiguousarray(KindRow.of_table(entering.kinds)["base"])
    state.columns, state.held, state.least, state.depth = len(entering.kinds), -1, _NEVER, depth
    state.texts, state.kinds, state.heaps = entering.texts_address, address_of(entering.kinds), address_of(heaps)
    return entering, heaps
