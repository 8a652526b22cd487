"""Joining in the inner loop: each batch of a side is paired with what the other side had by then."""

import numpy as np

from tokenring.engine import WORDS, kernel, void
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    FAILED,
    Compiled,
    address_of,
    allocate,
    answer,
    column_of,
    deallocate,
    drop,
    entry,
    fail,
    frontier_at,
    new_message,
    record_of,
    retain,
    rows_of,
    send,
    state_of,
    table_at,
    take,
    time_of_token,
    words_at,
)
from tokenring.operators.collections.compiled.blocks import table_of_message
from tokenring.operators.collections.updates import (
    MADE,
    PAIR_WORDS,
    READ_SINCE,
    SPINE_WORDS,
    TAKEN,
    TOO_OFTEN,
    Spine,
    columns_of,
    distinct_keys,
    pair_some,
    reader_of,
    rows_of_keys,
    too_often,
)
from tokenring.operators.collections.words import with_keys
from tokenring.operators.mechanisms import Beginning, drop_first

# Words of the state. SPINES: where those of the left and the right are; LEASTS: the times that earlier ones are taken
# for; READERS: who reads them; KEYS: how many columns are keys; WORK, LAST: the list of batches whose pairs were not
# all sent; NULLS, NULL_COUNT: of the key, a table as `with_keys` has it.
_FIRST, _SPINES, _READERS, _LEASTS, _KEYS, _WORK, _LAST, _NULLS, _NULL_COUNT = 0, 1, 3, 5, 7, 8, 9, 10, 11
_WORDS = 12
# Words in front of a work's block: the next work; the token for it; which side it came on; how many keys, rows of its
# own, and rows of the other side there are; how many pairs are left; where they go on.
_NEXT, _TOKEN, _SIDE, _NUMBER, _MINE, _OTHERS, _LEFT, _STATE = range(8)
_WORK_WORDS = _STATE + PAIR_WORDS
_MOST_PAIRS = 1 << 14  # in a message
_MOST_MESSAGES = 16  # in one run


@kernel
def _spine(state, side):  # type: ignore[no-untyped-def]
    return words_at(state[_SPINES + side], SPINE_WORDS)


@kernel
def _count_pairs(bounds, other_bounds, number):  # type: ignore[no-untyped-def]
    pairs = 0
    for key in range(number):
        pairs += (bounds[key + 1] - bounds[key]) * (other_bounds[key + 1] - other_bounds[key])
    return pairs


@kernel
def _copy_table(table, columns, rows, at):  # type: ignore[no-untyped-def]
    """Copy the first rows of a table's first columns to an address; where they end."""
    target = table_at(at, columns, rows)
    for column in range(columns):
        target[column] = table[column, :rows]
    return at + 8 * columns * rows


@kernel
def _put_off(world, me, state, side, asked, number, mine, bounds, others, other_bounds, pairs):  # type: ignore[no-untyped-def]
    """Keep a batch, and what was found for it, until its pairs are sent."""
    keys, rows, found = state[_KEYS], mine.shape[1], others.shape[1]
    words = _WORK_WORDS + keys * number + 2 * (number + 1) + len(mine) * rows + len(others) * found
    address = allocate(8 * words)
    if address == 0:
        raise MemoryError("no memory for a join's pairs")
    work = words_at(address, _WORK_WORDS)
    work[:] = 0
    work[_TOKEN], work[_SIDE], work[_LEFT] = retain(world, me, side, 0), side, pairs
    work[_NUMBER], work[_MINE], work[_OTHERS] = number, rows, found
    at = _copy_table(asked, keys, number, address + 8 * _WORK_WORDS)
    words_at(at, number + 1)[:] = bounds[: number + 1]
    words_at(at + 8 * (number + 1), number + 1)[:] = other_bounds[: number + 1]
    at = _copy_table(mine, len(mine), rows, at + 16 * (number + 1))
    _copy_table(others, len(others), found, at)
    if state[_WORK] == 0:
        state[_WORK] = address
    else:
        words_at(state[_LAST], 1)[_NEXT] = address
    state[_LAST] = address


@kernel
def _fail_at(world, me, target, progress):  # type: ignore[no-untyped-def]
    """Note that the pair behind those that were made would be there too often; FAILED."""
    fail(world, me, -1, target[len(target) - 2, progress[MADE]], 0, 0)
    return FAILED


@kernel
def _take_batches(world, me, state, side):  # type: ignore[no-untyped-def]
    """Look up the batches that came on one side in what was taken of the other; DONE or FAILED. Few pairs are sent at
    once."""
    keys, own, other = state[_KEYS], _spine(state, side), _spine(state, 1 - side)
    columns, others_columns = columns_of(own), columns_of(other)
    while True:
        message = take(world, me, side)
        if message == 0:
            return DONE
        reader_of(own, state[_READERS + side])[TAKEN] += 1
        whole = np.empty((columns, rows_of(message)), np.int64)
        for column in range(columns):
            whole[column] = column_of(message, column)
        table = with_keys(whole, table_at(state[_NULLS], state[_NULL_COUNT], 2))
        rows = table.shape[1]
        asked, bounds = np.empty((keys, rows), np.int64), np.empty(rows + 1, np.int64)
        number = distinct_keys(table, rows, keys, asked, bounds)
        before = reader_of(other, state[_READERS + 1 - side])[TAKEN]
        others, other_bounds = rows_of_keys(other, state[_LEASTS + 1 - side], before, keys, asked, number)
        pairs = _count_pairs(bounds, other_bounds, number)
        if pairs == 0:
            continue
        mine = table[keys:]
        if state[_WORK] != 0 or pairs > _MOST_PAIRS:
            _put_off(world, me, state, side, asked, number, mine, bounds, others, other_bounds, pairs)
            continue
        made, progress = new_message(world, me, 0, pairs), np.zeros(PAIR_WORDS, np.int64)
        target = table_of_message(made, columns + others_columns - keys - 2)
        status = pair_some(asked, number, 1, side == 0, mine, bounds, others, other_bounds, pairs, progress, target)
        if status == TOO_OFTEN:
            return _fail_at(world, me, target, progress)
        answer(world, me, side, 0, made)


@kernel
def _send_some(world, me, state):  # type: ignore[no-untyped-def]
    """Send some pairs of the first work, which goes with the last of them; DONE or FAILED."""
    address, keys = state[_WORK], state[_KEYS]
    work = words_at(address, _WORK_WORDS)
    number, rows, found, side = work[_NUMBER], work[_MINE], work[_OTHERS], work[_SIDE]
    columns, others_columns = columns_of(_spine(state, side)), columns_of(_spine(state, 1 - side))
    at = address + 8 * _WORK_WORDS
    asked = table_at(at, keys, number)
    at += 8 * keys * number
    bounds, other_bounds = words_at(at, number + 1), words_at(at + 8 * (number + 1), number + 1)
    at += 16 * (number + 1)
    mine = table_at(at, columns - keys, rows)
    others = table_at(at + 8 * (columns - keys) * rows, others_columns - keys, found)
    some = min(_MOST_PAIRS, work[_LEFT])
    made = new_message(world, me, 0, some)
    target = table_of_message(made, columns + others_columns - keys - 2)
    status = pair_some(asked, number, 1, side == 0, mine, bounds, others, other_bounds, some, work[_STATE:], target)
    if status == TOO_OFTEN:
        return _fail_at(world, me, target, work[_STATE:])
    send(world, me, work[_TOKEN], made, time_of_token(world, work[_TOKEN]))
    work[_LEFT] -= some
    if work[_LEFT] > 0:
        return DONE
    drop(world, me, work[_TOKEN])
    state[_WORK] = work[_NEXT]
    deallocate(address)
    return DONE


@entry
def join(world, me):  # type: ignore[no-untyped-def]
    """Look up what came on both sides, and send pairs."""
    state = state_of(world, me, _WORDS)
    drop_first(world, me, record_of(state, Beginning))
    for side in range(2):
        if _take_batches(world, me, state, side) != DONE:
            return FAILED
    for side in range(2):  # each is asked for at the times at which the other may come
        reader_of(_spine(state, side), state[_READERS + side])[READ_SINCE] = frontier_at(world, me, 1 - side)
    for _ in range(_MOST_MESSAGES):
        if state[_WORK] == 0:
            return DONE
        if _send_some(world, me, state) != DONE:
            return FAILED
    return AGAIN if state[_WORK] != 0 else DONE


@kernel(void(WORDS))
def _free_works(state):  # type: ignore[no-untyped-def]
    while state[_WORK] != 0:
        address = state[_WORK]
        state[_WORK] = words_at(address, 1)[_NEXT]
        deallocate(address)


class _Works:
    """The batches of a join that wait, as long as it is there."""

    def __init__(self, state: np.ndarray) -> None:
        self._state = state

    def __del__(self) -> None:
        _free_works(self._state)


def joining(left: Spine, right: Spine, readers: tuple[int, int], keys: int, nulls: np.ndarray) -> Compiled:
    """The operator. readers: its numbers as a reader of both; keys: how many columns are keys; nulls: of these, as
    `with_keys` has them."""
    state = np.zeros(_WORDS, np.int64)
    state[_SPINES : _SPINES + 2] = address_of(left.words), address_of(right.words)
    state[_LEASTS : _LEASTS + 2] = left.least, right.least
    state[_READERS : _READERS + 2], state[_KEYS] = readers, keys
    state[_NULLS], state[_NULL_COUNT] = address_of(nulls), len(nulls)
    owners = left, right, nulls, _Works(state)
    return Compiled(join, state, owners, explain=lambda _, operands: too_often(operands[:1]))
