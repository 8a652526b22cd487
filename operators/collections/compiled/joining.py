"""Joining in the inner loop: each batch of a side is paired with what the other side had by then."""

import numpy as np

from tokenring.engine import WORDS, kernel, void
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    FAILED,
    Compiled,
    Record,
    Words,
    address_of,
    allocate,
    answer,
    column_of,
    deallocate,
    drop,
    elements_at,
    entry,
    frontier_at,
    messages_waiting,
    new_message,
    record_at,
    record_of,
    retain,
    room,
    rows_of,
    send_by,
    state_as,
    table_at,
    take,
    words_at,
)
from tokenring.operators.collections.compiled.arranging import fail_at, often_at
from tokenring.operators.collections.compiled.blocks import table_of_message
from tokenring.operators.collections.updates import (
    PAIR_WORDS,
    TOO_OFTEN,
    Lag,
    Paired,
    Spine,
    SpineState,
    both_of,
    columns_of,
    distinct_keys,
    is_over,
    pair_some,
    reader_of,
    rows_of_keys,
    set_times,
    times_of,
)
from tokenring.operators.collections.words import with_keys
from tokenring.operators.mechanisms import Beginning, drop_first


class Joining(Beginning):
    """By side: where the spine's state is, who reads it, and the time that earlier ones are taken for. `keys`: how many
    columns are keys; `depth`: how many coordinates times have; `lag`, `is_time`: of saying what is asked for, where
    they have several; `work`, `last`: the list of batches whose pairs were not all sent; `nulls`: of the key, a table
    as `with_keys` has it, and how many rows it has."""

    spines: Words = room(2)
    readers: Words = room(2)
    leasts: Words = room(2)
    keys: int
    depth: int
    lag: Lag
    is_time: int
    work: int
    last: int
    nulls: int
    null_count: int


class Work(Record):
    """What a work's block begins with: the next work; the token for it; which side it came on; how many keys, rows of
    its own, and rows of the other side there are; how many pairs are left; where they go on, a Paired."""

    next: int
    token: int
    side: int
    number: int
    mine: int
    others: int
    left: int
    paired: Words = room(PAIR_WORDS)


_WORK_WORDS = Work.size
_MOST_PAIRS = 1 << 14  # in a message
_MOST_MESSAGES = 16  # in one run


@kernel
def _spine(state: Joining, side: int) -> SpineState:
    return record_at(state.spines[side], SpineState)


@kernel
def _count_pairs(bounds: Words, other_bounds: Words, number: int) -> int:
    pairs = 0
    for key in range(number):
        pairs += (bounds[key + 1] - bounds[key]) * (other_bounds[key + 1] - other_bounds[key])
    return pairs


@kernel
def _copy_table(table: Words, columns: int, rows: int, at: int) -> int:
    """Copy the first rows of a table's first columns to an address; where they end."""
    target = table_at(at, columns, rows)
    for column in range(columns):
        target[column] = table[column, :rows]
    return at + 8 * columns * rows


@kernel
def _put_off(
    world: int, me: int, state: Joining, side: int, asked: Words, number: int, mine: Words, bounds: Words,
    others: Words, other_bounds: Words, pairs: int,
) -> None:  # fmt: skip
    """Keep a batch, and what was found for it, until its pairs are sent."""
    keys, rows, found = state.keys, mine.shape[1], others.shape[1]
    words = _WORK_WORDS + keys * number + 2 * (number + 1) + len(mine) * rows + len(others) * found
    address = allocate(8 * words)
    if address == 0:
        raise MemoryError("no memory for a join's pairs")
    words_at(address, _WORK_WORDS)[:] = 0
    work = record_at(address, Work)
    work.token, work.side, work.left = retain(world, me, side, 0), side, pairs
    work.number, work.mine, work.others = number, rows, found
    at = _copy_table(asked, keys, number, address + 8 * _WORK_WORDS)
    words_at(at, number + 1)[:] = bounds[: number + 1]
    words_at(at + 8 * (number + 1), number + 1)[:] = other_bounds[: number + 1]
    at = _copy_table(mine, len(mine), rows, at + 16 * (number + 1))
    _copy_table(others, len(others), found, at)
    if state.work == 0:
        state.work = address
    else:
        record_at(state.last, Work).next = address
    state.last = address


@kernel
def _fail_at(world: int, me: int, state: Joining, target: Words, paired: Words) -> int:
    """Note that the pair behind those that were made would be there too often; FAILED."""
    made = record_of(paired, Paired).made
    return fail_at(world, me, target[:, made : made + 1], state.depth)


@kernel
def _take_batches(world: int, me: int, state: Joining, side: int) -> int:
    """Look up the batches that came on one side in what was taken of the other; DONE or FAILED. Few pairs are sent at
    once."""
    keys, own, other = state.keys, _spine(state, side), _spine(state, 1 - side)
    columns, others_columns = columns_of(own), columns_of(other)
    while True:
        message = take(world, me, side)
        if message == 0:
            return DONE
        reader_of(own, state.readers[side]).taken += 1
        if state.depth > 1 and is_over(state.lag, rows_of(message)):
            state.is_time = 1
        whole = np.empty((columns, rows_of(message)), np.int64)
        for column in range(columns):
            whole[column] = column_of(message, column)
        table = with_keys(whole, table_at(state.nulls, state.null_count, 2))
        rows = table.shape[1]
        asked, bounds = np.empty((keys, rows), np.int64), np.empty(rows + 1, np.int64)
        number = distinct_keys(table, rows, keys, asked, bounds)
        before = reader_of(other, state.readers[1 - side]).taken
        others, other_bounds = rows_of_keys(state.spines[1 - side], state.leasts[1 - side], before, keys, asked, number)
        pairs = _count_pairs(bounds, other_bounds, number)
        if pairs == 0:
            continue
        mine = table[keys:]
        if state.work != 0 or pairs > _MOST_PAIRS:
            _put_off(world, me, state, side, asked, number, mine, bounds, others, other_bounds, pairs)
            continue
        made, paired = new_message(world, me, 0, pairs), np.zeros(PAIR_WORDS, np.int64)
        target = table_of_message(made, columns + others_columns - keys - state.depth - 1)
        status = pair_some(
            asked, number, state.depth, side == 0, mine, bounds, others, other_bounds, pairs, paired, target
        )
        if status == TOO_OFTEN:
            return _fail_at(world, me, state, target, paired)
        answer(world, me, side, 0, made)


@kernel
def _send_some(world: int, me: int, state: Joining) -> int:
    """Send some pairs of the first work, which goes with the last of them; DONE or FAILED."""
    address, keys = state.work, state.keys
    work = record_at(address, Work)
    number, rows, found, side = work.number, work.mine, work.others, work.side
    columns, others_columns = columns_of(_spine(state, side)), columns_of(_spine(state, 1 - side))
    at = address + 8 * _WORK_WORDS
    asked = table_at(at, keys, number)
    at += 8 * keys * number
    bounds, other_bounds = words_at(at, number + 1), words_at(at + 8 * (number + 1), number + 1)
    at += 16 * (number + 1)
    mine = table_at(at, columns - keys, rows)
    others = table_at(at + 8 * (columns - keys) * rows, others_columns - keys, found)
    some = min(_MOST_PAIRS, work.left)
    made = new_message(world, me, 0, some)
    target = table_of_message(made, columns + others_columns - keys - state.depth - 1)
    status = pair_some(
        asked, number, state.depth, side == 0, mine, bounds, others, other_bounds, some, work.paired, target
    )
    if status == TOO_OFTEN:
        return _fail_at(world, me, state, target, work.paired)
    send_by(world, me, work.token, made)
    work.left -= some
    if work.left > 0:
        return DONE
    drop(world, me, work.token)
    state.work = work.next
    deallocate(address)
    return DONE


@kernel
def _say_since(world: int, me: int, state: Joining) -> None:
    """Say of each side when it is asked for at the earliest, now that all that was sealed was taken: at times that the
    other's operator has not finished."""
    for side in range(2):
        upper = times_of(_spine(state, 1 - side).upper_times, state.depth)
        since = both_of(upper, elements_at(world, me, 1 - side))
        set_times(reader_of(_spine(state, side), state.readers[side]).times, since)
    state.is_time = 0


@entry
def join(world: int, me: int) -> int:
    """Look up what came on both sides, and send pairs."""
    state = state_as(world, me, Joining)
    drop_first(world, me, state)
    for side in range(2):
        if _take_batches(world, me, state, side) != DONE:
            return FAILED
    for side in range(2):  # each is asked for at the times at which the other may come
        if state.depth == 1:
            reader_of(_spine(state, side), state.readers[side]).since = frontier_at(world, me, 1 - side)
    if state.is_time != 0 and messages_waiting(world, me, 0) + messages_waiting(world, me, 1) == 0:
        _say_since(world, me, state)
    for _ in range(_MOST_MESSAGES):
        if state.work == 0:
            return DONE
        if _send_some(world, me, state) != DONE:
            return FAILED
    return AGAIN if state.work != 0 else DONE


@kernel(void(WORDS))
def _free_works(words: Words) -> None:
    state = record_of(words, Joining)
    while state.work != 0:
        address = state.work
        state.work = record_at(address, Work).next
        deallocate(address)


class _Works:
    """The batches of a join that wait, as long as it is there."""

    def __init__(self, state: Joining) -> None:
        self._state = state

    def __del__(self) -> None:
        _free_works(self._state.words)


def joining(
    left: Spine, right: Spine, readers: tuple[int, int], keys: int, depth: int, nulls: np.ndarray
) -> Compiled:
    """The operator. readers: its numbers as a reader of both; keys: how many columns are keys; depth: how many
    coordinates times have; nulls: of the keys, as `with_keys` has them."""
    state = Joining()
    state.spines[:] = left.address, right.address
    state.leasts[:] = left.least, right.least
    state.readers[:], state.keys, state.depth = readers, keys, depth
    state.nulls, state.null_count = address_of(nulls), len(nulls)
    owners = left, right, nulls, _Works(state)
    return Compiled(join, state.words, owners, explain=often_at(depth))
