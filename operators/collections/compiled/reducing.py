"""Reducing in the inner loop: how the output of keys changes; outside of loops, a part of a batch at once."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    FAILED,
    NEEDS_ROOM,
    Compiled,
    Words,
    address_of,
    column_of,
    deallocate,
    drop,
    elements_at,
    entry,
    frontier_at,
    messages_waiting,
    record_at,
    retain,
    rows_of,
    send_by,
    state_as,
    table_at,
    take,
    time_of,
    time_of_token,
)
from tokenring.operators.collections.compiled.arranging import often_at, send_sealed
from tokenring.operators.collections.compiled.blocks import Blocks, copy_of, merge_on
from tokenring.operators.collections.compiled.faults import Faults, FaultState, Tell, fault_row
from tokenring.operators.collections.compiled.rights import Rights, keep_only, keep_right
from tokenring.operators.collections.updates import (
    LARGE,
    TOTAL_WORDS,
    Spine,
    SpineState,
    add_block,
    both_of,
    change_keys,
    columns_of,
    consolidate_behind,
    least_times,
    new_block,
    reader_of,
    seal_block,
    set_times,
    split,
    times_of,
)
from tokenring.operators.collections.words import KIND_WORDS
from tokenring.operators.mechanisms import Beginning, drop_first


class Reducing(Beginning):
    """`source`, `target`: where the spines' states are; `source_reader`, `target_reader`: who reads them. `keys`: how
    many columns are keys. `what`, `most`, `totals`, `kinds`: as `change_keys` has them. `work`, `rows`, `at`, `held`:
    what is left to be looked at of a large batch: a block of keys and times, its rows, those that were looked at, its
    token. `least`: what earlier times of the source are taken for. `gathered`: the block of the changes of large
    batches whose keys follow each other, so many rows of them in order, in room for so many; none of their keys is
    looked at before they are sealed. `depth`: how many coordinates times have. Where they have several, `rights` and a
    block `waiting` of so many (key, time, 1): at these times, which are not finished, keys are to be looked at as
    well."""

    source: int
    target: int
    source_reader: int
    target_reader: int
    keys: int
    what: int
    most: int
    totals: int
    total_count: int
    kinds: int
    work: int
    rows: int
    at: int
    held: int
    least: int
    gathered: int
    gathered_rows: int
    gathered_room: int
    faults: FaultState
    depth: int
    rights: Rights
    waiting: int
    waiting_rows: int


_AT_ONCE = 1 << 13  # rows of a batch that are looked at in one run, and those of the same key
_MOST_GATHERED = 1 << 20  # changes that are sealed at once: batches of a run each would be merged seven times more


@kernel
def _changes(state: Reducing, asked_at: Words, frontier: Words) -> tuple[Words, Words]:
    """How the output of keys changes at times, the rows of a table (keys, time, 1; rows), and the times that are not
    finished, likewise; faults are noted."""
    keys = state.keys
    source = record_at(state.source, SpineState)
    totals = table_at(state.totals, state.total_count, TOTAL_WORDS)
    kinds = table_at(state.kinds, source.data - keys, KIND_WORDS)
    changes, later, faults = change_keys(
        state.source, state.least, state.target, keys, asked_at, state.what, state.most, totals, kinds, frontier,
        state.faults.tells_all,
    )  # fmt: skip
    for row in range(faults.shape[1]):
        fault = fault_row(state.faults)
        for column in range(len(faults)):
            fault[column] = faults[column, row]
    return changes, later


@kernel
def _look_at(world: int, me: int, state: Reducing, looked_at: Words) -> None:
    """Send, and keep, the changes at some keys' times, the rows of a table (keys and a time, rows); note faults."""
    keys, rows = state.keys, looked_at.shape[1]
    with_ones = np.empty((keys + 2, rows), np.int64)
    with_ones[: keys + 1] = looked_at
    with_ones[keys + 1] = 1
    changes, _ = _changes(state, with_ones, np.empty((0, 1), np.int64))
    if changes.shape[1] == 0:
        return
    if state.gathered_rows > 0 or state.rows >= LARGE:
        _gather(world, me, state, changes)
        return
    address, rows = seal_block(changes)
    _send_and_keep(world, me, state, address, changes.shape, rows)


@kernel
def _send_and_keep(world: int, me: int, state: Reducing, address: int, shape: tuple[int, int], rows: int) -> None:
    """Send the first rows of a block of this shape, and have the target keep it."""
    slot, target = state.held, record_at(state.target, SpineState)
    if rows > 0:
        send_by(world, me, slot, copy_of(world, me, address, shape, rows))
    add_block(target, address, shape[1], rows)


@kernel
def _gather(world: int, me: int, state: Reducing, changes: Words) -> None:
    """Put changes of keys behind those that are gathered, in order and added up."""
    columns, rows = changes.shape
    if state.gathered_rows + rows > state.gathered_room:
        _seal_gathered(world, me, state)
        state.gathered_room = max(_MOST_GATHERED, rows)
        state.gathered = new_block(columns, state.gathered_room)
    gathered = table_at(state.gathered, columns, state.gathered_room)
    state.gathered_rows = consolidate_behind(changes, gathered, state.gathered_rows)


@kernel
def _seal_gathered(world: int, me: int, state: Reducing) -> None:
    """Send what is gathered, and have the target keep it."""
    if state.gathered == 0:
        return
    rows, columns = state.gathered_rows, columns_of(record_at(state.target, SpineState))
    if rows > 0:
        address = new_block(columns, rows)
        sealed, gathered = table_at(address, columns, rows), table_at(state.gathered, columns, state.gathered_room)
        for column in range(columns):
            sealed[column] = gathered[column, :rows]
        _send_and_keep(world, me, state, address, (columns, rows), rows)
    deallocate(state.gathered)
    state.gathered = state.gathered_rows = state.gathered_room = 0


@kernel
def _follows(world: int, state: Reducing, message: int) -> bool:
    """Whether a message is of the time of what is gathered, and all of its keys come behind."""
    if time_of(message) != time_of_token(world, state.held):
        return False
    columns, last = columns_of(record_at(state.target, SpineState)), state.gathered_rows - 1
    gathered = table_at(state.gathered, columns, state.gathered_room)
    for column in range(state.keys):
        word, first = gathered[column, last], column_of(message, column)[0]
        if word != first:
            return word < first
    return False


@kernel
def _end(world: int, me: int, state: Reducing) -> None:
    """Seal what is gathered, and give its right back."""
    _seal_gathered(world, me, state)
    drop(world, me, state.held)


@kernel
def _begin(world: int, me: int, state: Reducing, message: int) -> None:
    """Keep what is to be looked at of a batch, and the right to answer it."""
    keys, rows = state.keys, rows_of(message)
    is_held = state.gathered_rows > 0
    if is_held and not _follows(world, state, message):
        _end(world, me, state)
        is_held = False
    state.work, state.rows, state.at = new_block(keys + 1, rows), rows, 0
    work = table_at(state.work, keys + 1, rows)
    for column in range(keys):
        work[column] = column_of(message, column)
    work[keys] = column_of(message, record_at(state.source, SpineState).data)
    if not is_held:
        state.held = retain(world, me, 0, 0)


@kernel
def _some(state: Reducing) -> Words:
    """The next rows to be looked at, whole keys."""
    keys, rows, start = state.keys, state.rows, state.at
    work = table_at(state.work, keys + 1, rows)
    stop = min(rows, start + _AT_ONCE)
    while stop < rows:
        is_same = True
        for column in range(keys):
            is_same &= work[column, stop] == work[column, stop - 1]
        if not is_same:
            break
        stop += 1
    state.at = stop
    return work[:, start:stop].copy()


@kernel
def _take_all(world: int, me: int, state: Reducing) -> Words:
    """Take the batches that came: the keys and times of their rows, (keys, time, 1; rows)."""
    source, keys, depth = record_at(state.source, SpineState), state.keys, state.depth
    messages = np.empty(messages_waiting(world, me, 0), np.int64)
    taken = rows = 0
    while taken < len(messages):
        message = take(world, me, 0)
        if message == 0:
            break
        reader_of(source, state.source_reader).taken += 1
        keep_right(world, me, state.rights, message, depth)
        messages[taken] = message
        rows += rows_of(message)
        taken += 1
    looked_at, at = np.ones((keys + depth + 1, rows), np.int64), 0
    for number in range(taken):
        count = rows_of(messages[number])
        for column in range(keys):
            looked_at[column, at : at + count] = column_of(messages[number], column)
        for coordinate in range(depth):
            looked_at[keys + coordinate, at : at + count] = column_of(messages[number], source.data + coordinate)
        at += count
    return looked_at


@kernel
def _wait_for(state: Reducing, waiting: Words) -> None:
    """Keep these keys and times, (keys, time, 1; rows), each once, to be looked at once they are finished."""
    if state.waiting != 0:
        deallocate(state.waiting)
    state.waiting, state.waiting_rows = 0, 0
    if waiting.shape[1] > 0:
        columns = len(waiting)
        kept = np.empty_like(waiting)
        rows = consolidate_behind(waiting, kept, 0)
        state.waiting, state.waiting_rows = new_block(columns, rows), rows
        table_at(state.waiting, columns, rows)[:] = kept[:, :rows]
        table_at(state.waiting, columns, rows)[columns - 1] = 1


@kernel
def _reduce_in_loop(world: int, me: int, state: Reducing) -> int:
    """Look at the keys of what came, and of what waited, at the times that are finished, which have several
    coordinates; DONE or FAILED."""
    source, target = record_at(state.source, SpineState), record_at(state.target, SpineState)
    keys, depth = state.keys, state.depth
    taken = _take_all(world, me, state)
    if taken.shape[1] == 0 and state.waiting_rows == 0:
        return DONE
    upper = elements_at(world, me, 0)
    if messages_waiting(world, me, 0) == 0:  # else batches that were sealed are not taken yet
        upper = both_of(times_of(source.upper_times, depth), upper)
    waiting = np.empty((keys + depth + 1, state.waiting_rows), np.int64)
    waiting[:] = table_at(state.waiting, keys + depth + 1, state.waiting_rows)
    due, left = split(waiting, keys, upper)
    asked_at = np.concatenate((taken, due), axis=1)
    if asked_at.shape[1] > 0:
        changes, later = _changes(state, asked_at, upper)
        left = np.concatenate((left, later), axis=1)
        _wait_for(state, left)
        set_times(target.upper_times, upper)
        if send_sealed(world, me, state.rights, target, changes) != DONE:
            return FAILED
    set_times(reader_of(source, state.source_reader).times, upper)
    set_times(reader_of(target, state.target_reader).times, upper)
    keep_only(world, me, state.rights, least_times(left, keys, depth))
    return DONE


@entry
def reduce(world: int, me: int) -> int:
    """Look at the keys of each batch that came, at the times of its updates."""
    state = state_as(world, me, Reducing)
    drop_first(world, me, state)
    if state.depth > 1:
        status = _reduce_in_loop(world, me, state)
        return NEEDS_ROOM if status == DONE and state.faults.count > 0 else status
    source, target = record_at(state.source, SpineState), record_at(state.target, SpineState)
    looked_at = 0
    while True:
        if state.work == 0:
            message = take(world, me, 0)
            if message == 0:
                break
            reader_of(source, state.source_reader).taken += 1
            _begin(world, me, state, message)
        if looked_at >= _AT_ONCE:
            return NEEDS_ROOM if state.faults.count > 0 else AGAIN
        some = _some(state)
        looked_at += some.shape[1]
        _look_at(world, me, state, some)
        if state.at == state.rows:
            deallocate(state.work)
            state.work = 0
            if state.gathered_rows == 0:
                _end(world, me, state)
    frontier = frontier_at(world, me, 0)
    if state.gathered_rows > 0 and frontier > time_of_token(world, state.held):
        _end(world, me, state)
    target.upper = reader_of(source, state.source_reader).since = frontier
    reader_of(target, state.target_reader).since = frontier
    merge_on(world, me, state.target)
    return NEEDS_ROOM if state.faults.count > 0 else DONE


def reducing(
    source: Spine, target: Spine, readers: tuple[int, int], keys: int,
    reduction: tuple[int, int, np.ndarray, np.ndarray], tell: Tell,
) -> Compiled:  # fmt: skip
    """The operator. readers: its numbers as a reader of source and target; keys: how many columns are keys; reduction:
    what is made of a key's rows; tell: takes keys of whose rows nothing can be made."""
    what, most, totals, kinds = reduction
    state = Reducing()
    state.source, state.target = source.address, target.address
    state.source_reader, state.target_reader, state.keys = *readers, keys
    state.what, state.most, state.totals, state.total_count = what, most, address_of(totals), len(totals)
    state.kinds, state.least, state.depth = address_of(kinds), source.least, target.depth
    faults = Faults(state.faults, keys + target.depth + 1, tell)
    kept = (state, "work"), (state, "gathered"), (state.faults, "rows"), (state.rights, "slots"), (state, "waiting")
    owners = source, target, totals, kinds, Blocks(*kept)
    return Compiled(reduce, state.words, owners, faults.tell, often_at(target.depth))
