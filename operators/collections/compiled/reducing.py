"""Reducing in the inner loop, at times of one coordinate: how the output of keys changes, a part of a batch at once."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    NEEDS_ROOM,
    Compiled,
    address_of,
    column_of,
    deallocate,
    drop,
    entry,
    frontier_at,
    record_of,
    retain,
    rows_of,
    send,
    state_of,
    table_at,
    take,
    time_of,
    time_of_token,
    words_at,
)
from tokenring.operators.collections.compiled.blocks import Blocks, copy_of, merge_on
from tokenring.operators.collections.compiled.faults import (
    FAULT_COUNT,
    FAULT_WORDS,
    FAULTS,
    TELLS_ALL,
    Faults,
    Tell,
    fault_row,
)
from tokenring.operators.collections.updates import (
    DATA,
    LARGE,
    READ_SINCE,
    SPINE_WORDS,
    TAKEN,
    TOTAL_WORDS,
    UPPER,
    Spine,
    add_block,
    change_keys,
    columns_of,
    consolidate_behind,
    new_block,
    reader_of,
    seal_block,
)
from tokenring.operators.collections.words import KIND_WORDS
from tokenring.operators.mechanisms import Beginning, drop_first

# Words of the state. SOURCE, TARGET: where the spines' words are; SOURCE_READER, TARGET_READER: who reads them. KEYS:
# how many columns are keys. WHAT, MOST, TOTALS, TOTAL_COUNT, KINDS: as `change_keys` has it. WORK, ROWS, AT, HELD: what
# is left to be looked at of a large batch: a block of keys and times, its rows, those that were looked at, its token.
# LEAST: what earlier times of the source are taken for.
# GATHERED: the block of the changes of large batches whose keys follow each other, GATHERED_ROWS of them in order, in
# room for GATHERED_ROOM; none of their keys is looked at before they are sealed. FAULTS_AT: where the words of faults
# begin.
(
    _FIRST, _SOURCE, _TARGET, _SOURCE_READER, _TARGET_READER, _KEYS, _WHAT, _MOST, _TOTALS, _TOTAL_COUNT, _KINDS, _WORK,
    _ROWS, _AT, _HELD, _LEAST, _GATHERED, _GATHERED_ROWS, _GATHERED_ROOM, _FAULTS_AT,
) = range(20)  # fmt: skip
_WORDS = _FAULTS_AT + FAULT_WORDS
_AT_ONCE = 1 << 13  # rows of a batch that are looked at in one run, and those of the same key
_MOST_GATHERED = 1 << 20  # changes that are sealed at once: batches of a run each would be merged seven times more


@kernel
def _look_at(world, me, state, looked_at):  # type: ignore[no-untyped-def]
    """Send, and keep, the changes at some keys' times, the rows of a table (keys and a time, rows); note faults."""
    keys, rows = state[_KEYS], looked_at.shape[1]
    with_ones = np.empty((keys + 2, rows), np.int64)
    with_ones[: keys + 1] = looked_at
    with_ones[keys + 1] = 1
    source, target = words_at(state[_SOURCE], SPINE_WORDS), words_at(state[_TARGET], SPINE_WORDS)
    totals = table_at(state[_TOTALS], state[_TOTAL_COUNT], TOTAL_WORDS)
    kinds = table_at(state[_KINDS], source[DATA] - keys, KIND_WORDS)
    changes, _, faults = change_keys(
        source, state[_LEAST], target, keys, with_ones, state[_WHAT], state[_MOST], totals, kinds,
        np.empty((0, 1), np.int64), state[_FAULTS_AT + TELLS_ALL],
    )  # fmt: skip
    for row in range(faults.shape[1]):
        fault = fault_row(state, _FAULTS_AT)
        for column in range(keys + 2):
            fault[column] = faults[column, row]
    if changes.shape[1] == 0:
        return
    if state[_GATHERED_ROWS] > 0 or state[_ROWS] >= LARGE:
        _gather(world, me, state, changes)
        return
    address, rows = seal_block(changes)
    _send_and_keep(world, me, state, address, changes.shape, rows)


@kernel
def _send_and_keep(world, me, state, address, shape, rows):  # type: ignore[no-untyped-def]
    """Send the first rows of a block of this shape, and have the target keep it."""
    slot, target = state[_HELD], words_at(state[_TARGET], SPINE_WORDS)
    if rows > 0:
        send(world, me, slot, copy_of(world, me, address, shape, rows), time_of_token(world, slot))
    add_block(target, address, shape[1], rows)


@kernel
def _gather(world, me, state, changes):  # type: ignore[no-untyped-def]
    """Put changes of keys behind those that are gathered, in order and added up."""
    columns, rows = changes.shape
    if state[_GATHERED_ROWS] + rows > state[_GATHERED_ROOM]:
        _seal_gathered(world, me, state)
        state[_GATHERED_ROOM] = max(_MOST_GATHERED, rows)
        state[_GATHERED] = new_block(columns, state[_GATHERED_ROOM])
    gathered = table_at(state[_GATHERED], columns, state[_GATHERED_ROOM])
    state[_GATHERED_ROWS] = consolidate_behind(changes, gathered, state[_GATHERED_ROWS])


@kernel
def _seal_gathered(world, me, state):  # type: ignore[no-untyped-def]
    """Send what is gathered, and have the target keep it."""
    if state[_GATHERED] == 0:
        return
    rows, columns = state[_GATHERED_ROWS], columns_of(words_at(state[_TARGET], SPINE_WORDS))
    if rows > 0:
        address = new_block(columns, rows)
        sealed, gathered = table_at(address, columns, rows), table_at(state[_GATHERED], columns, state[_GATHERED_ROOM])
        for column in range(columns):
            sealed[column] = gathered[column, :rows]
        _send_and_keep(world, me, state, address, (columns, rows), rows)
    deallocate(state[_GATHERED])
    state[_GATHERED] = state[_GATHERED_ROWS] = state[_GATHERED_ROOM] = 0


@kernel
def _follows(world, state, message):  # type: ignore[no-untyped-def]
    """Whether a message is of the time of what is gathered, and all of its keys come behind."""
    if time_of(message) != time_of_token(world, state[_HELD]):
        return False
    columns, last = columns_of(words_at(state[_TARGET], SPINE_WORDS)), state[_GATHERED_ROWS] - 1
    gathered = table_at(state[_GATHERED], columns, state[_GATHERED_ROOM])
    for column in range(state[_KEYS]):
        word, first = gathered[column, last], column_of(message, column)[0]
        if word != first:
            return word < first
    return False


@kernel
def _end(world, me, state):  # type: ignore[no-untyped-def]
    """Seal what is gathered, and give its right back."""
    _seal_gathered(world, me, state)
    drop(world, me, state[_HELD])


@kernel
def _begin(world, me, state, message):  # type: ignore[no-untyped-def]
    """Keep what is to be looked at of a batch, and the right to answer it."""
    keys, rows = state[_KEYS], rows_of(message)
    is_held = state[_GATHERED_ROWS] > 0
    if is_held and not _follows(world, state, message):
        _end(world, me, state)
        is_held = False
    state[_WORK], state[_ROWS], state[_AT] = new_block(keys + 1, rows), rows, 0
    work = table_at(state[_WORK], keys + 1, rows)
    for column in range(keys):
        work[column] = column_of(message, column)
    work[keys] = column_of(message, words_at(state[_SOURCE], SPINE_WORDS)[DATA])
    if not is_held:
        state[_HELD] = retain(world, me, 0, 0)


@kernel
def _some(state):  # type: ignore[no-untyped-def]
    """The next rows to be looked at, whole keys."""
    keys, rows, start = state[_KEYS], state[_ROWS], state[_AT]
    work = table_at(state[_WORK], keys + 1, rows)
    stop = min(rows, start + _AT_ONCE)
    while stop < rows:
        is_same = True
        for column in range(keys):
            is_same &= work[column, stop] == work[column, stop - 1]
        if not is_same:
            break
        stop += 1
    state[_AT] = stop
    return work[:, start:stop].copy()


@entry
def reduce(world, me):  # type: ignore[no-untyped-def]
    """Look at the keys of each batch that came, at the times of its updates."""
    state = state_of(world, me, _WORDS)
    drop_first(world, me, record_of(state, Beginning))
    source, target = words_at(state[_SOURCE], SPINE_WORDS), words_at(state[_TARGET], SPINE_WORDS)
    looked_at = 0
    while True:
        if state[_WORK] == 0:
            message = take(world, me, 0)
            if message == 0:
                break
            reader_of(source, state[_SOURCE_READER])[TAKEN] += 1
            _begin(world, me, state, message)
        if looked_at >= _AT_ONCE:
            return NEEDS_ROOM if state[_FAULTS_AT + FAULT_COUNT] > 0 else AGAIN
        some = _some(state)
        looked_at += some.shape[1]
        _look_at(world, me, state, some)
        if state[_AT] == state[_ROWS]:
            deallocate(state[_WORK])
            state[_WORK] = 0
            if state[_GATHERED_ROWS] == 0:
                _end(world, me, state)
    frontier = frontier_at(world, me, 0)
    if state[_GATHERED_ROWS] > 0 and frontier > time_of_token(world, state[_HELD]):
        _end(world, me, state)
    target[UPPER] = reader_of(source, state[_SOURCE_READER])[READ_SINCE] = frontier
    reader_of(target, state[_TARGET_READER])[READ_SINCE] = frontier
    merge_on(world, me, target)
    return NEEDS_ROOM if state[_FAULTS_AT + FAULT_COUNT] > 0 else DONE


def reducing(
    source: Spine, target: Spine, readers: tuple[int, int], keys: int,
    reduction: tuple[int, int, np.ndarray, np.ndarray], tell: Tell,
) -> Compiled:  # fmt: skip
    """The operator. readers: its numbers as a reader of source and target; keys: how many columns are keys; reduction:
    what is made of a key's rows; tell: takes keys of whose rows nothing can be made."""
    what, most, totals, kinds = reduction
    state = np.zeros(_WORDS, np.int64)
    state[_SOURCE], state[_TARGET] = address_of(source.words), address_of(target.words)
    state[_SOURCE_READER], state[_TARGET_READER], state[_KEYS] = *readers, keys
    state[_WHAT], state[_MOST], state[_TOTALS], state[_TOTAL_COUNT] = what, most, address_of(totals), len(totals)
    state[_KINDS], state[_LEAST] = address_of(kinds), source.least
    faults = Faults(state, _FAULTS_AT, keys + 2, tell)
    owners = source, target, totals, kinds, Blocks(state, [_WORK, _GATHERED, _FAULTS_AT + FAULTS])
    return Compiled(reduce, state, owners, make_room=faults.tell)
