"""Rows as updates: each at its message's time, or at that of a column, once, or as often as another says."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine.compiled import (
    DONE,
    FAILED,
    Compiled,
    address_of,
    addresses_of,
    answer,
    bare_message,
    claim,
    column_of,
    entry,
    fail,
    keys_of,
    point_to,
    record_of,
    rows_of,
    state_of,
    take,
    time_of,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms import Beginning, drop_first

# Words of the state. POSITIONS: the address of where the DATA columns are; TIME_AT, TIMES_AT: where times and
# multiplicities are, or -1. NUMBER: of the next row, where rows are numbered; else -1.
_FIRST, _DATA, _POSITIONS, _TIME_AT, _TIMES_AT, _NUMBER = range(6)
_WORDS = 6


@entry
def stamp(world, me):  # type: ignore[no-untyped-def]
    """Answer each message with its rows as updates."""
    state = state_of(world, me, _WORDS)
    drop_first(world, me, record_of(state, Beginning))
    words, chosen = world_at(world), state[_DATA]
    positions = words_at(state[_POSITIONS], chosen)
    data = chosen + (state[_NUMBER] >= 0)
    while True:
        message = take(world, me, 0)
        if message == 0:
            return DONE
        rows = rows_of(message)
        if rows == 0:
            continue
        columns = addresses_of(message)
        made = bare_message(words, data + 2, rows)
        for column in range(chosen):
            point_to(made, column, columns[positions[column]])
        if state[_NUMBER] >= 0:
            address = claim(words, 8 * rows)
            numbers = words_at(address, rows)
            for row in range(rows):
                numbers[row] = state[_NUMBER] + row
            state[_NUMBER] += rows
            point_to(made, chosen, address)
        if state[_TIME_AT] >= 0:
            times = column_of(message, state[_TIME_AT])
            for row in range(rows):
                if times[row] < time_of(message):
                    fail(world, me, -1, times[row], time_of(message), 0)
                    return FAILED
            point_to(made, data, columns[state[_TIME_AT]])
        elif keys_of(message) != 0:  # a burst: each row has its own message's time
            point_to(made, data, keys_of(message))
        else:
            address = claim(words, 8 * rows)
            words_at(address, rows)[:] = time_of(message)
            point_to(made, data, address)
        if state[_TIMES_AT] >= 0:
            point_to(made, data + 1, columns[state[_TIMES_AT]])
        else:
            address = claim(words, 8 * rows)
            words_at(address, rows)[:] = 1
            point_to(made, data + 1, address)
        answer(world, me, 0, 0, made)


def stamping(
    positions: Sequence[int],
    time: int | None,
    times: int | None,
    early: Callable[[int, int], Exception],
    number: int | None,
) -> Compiled:
    """The operator. positions: of the columns that are data; time, times: of those two; early: the error for a row at a
    time before its message's; number: of the first row, where a column behind data numbers them."""
    chosen = np.array(positions, np.int64)
    state = np.zeros(_WORDS, np.int64)
    state[_DATA], state[_POSITIONS] = len(chosen), address_of(chosen)
    state[_TIME_AT], state[_TIMES_AT] = [-1 if position is None else position for position in (time, times)]
    state[_NUMBER] = -1 if number is None else number
    return Compiled(stamp, state, (chosen,), explain=lambda _, operands: early(operands[0], operands[1]))
