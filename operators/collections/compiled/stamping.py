"""Rows as updates: each at its message's time, or at that of a column, once, or as often as another says."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import MAX_TIME
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    Compiled,
    address_of,
    addresses_of,
    answer,
    bare_message,
    column_of,
    entry,
    fail,
    keys_of,
    lease,
    point_to,
    rows_of,
    state_as,
    take,
    time_of,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms import Beginning, drop_first


class Stamping(Beginning):
    """`positions`: where the positions of the `data` columns are; `time_at`, `times_at`: where times and multiplicities
    are, or -1. `number`: of the next row, where rows are numbered; else -1."""

    data: int
    positions: int
    time_at: int
    times_at: int
    number: int


@entry
def stamp(world: int, me: int) -> int:
    """Answer each message with its rows as updates."""
    state = state_as(world, me, Stamping)
    drop_first(world, me, state)
    words, chosen = world_at(world), state.data
    positions = words_at(state.positions, chosen)
    data = chosen + (state.number >= 0)
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
        if state.number >= 0:
            address = lease(words, 8 * rows)
            numbers = words_at(address, rows)
            for row in range(rows):
                numbers[row] = state.number + row
            state.number += rows
            point_to(made, chosen, address)
        if state.time_at >= 0:
            times = column_of(message, state.time_at)
            for row in range(rows):
                if times[row] < time_of(message) or times[row] > MAX_TIME:
                    fail(world, me, -1, times[row], time_of(message), 0)
                    return FAILED
            point_to(made, data, columns[state.time_at])
        elif keys_of(message) != 0:  # a burst: each row has its own message's time
            point_to(made, data, keys_of(message))
        else:
            address = lease(words, 8 * rows)
            words_at(address, rows)[:] = time_of(message)
            point_to(made, data, address)
        if state.times_at >= 0:
            point_to(made, data + 1, columns[state.times_at])
        else:
            address = lease(words, 8 * rows)
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
    state = Stamping()
    state.data, state.positions = len(chosen), address_of(chosen)
    state.time_at, state.times_at = [-1 if position is None else position for position in (time, times)]
    state.number = -1 if number is None else number
    return Compiled(stamp, state.words, (chosen,), explain=lambda _, operands: early(operands[0], operands[1]))
