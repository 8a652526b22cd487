"""Updates of a loop that go round: each is the same a round later."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine import WORDS, int64, kernel
from tokenring.engine.compiled import (
    DONE,
    FAILED,
    Compiled,
    Words,
    addresses_of,
    alias_of,
    answer,
    column_of,
    entry,
    fail,
    lease,
    point_to,
    rows_of,
    state_as,
    take,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms import Beginning, drop_first


class GoingRound(Beginning):
    """`at`: the column of rounds, of so many; `most`: the last round there may be."""

    at: int
    width: int
    most: int


@entry
def go_round(world: int, me: int) -> int:
    """Answer each message with its updates a round later."""
    state = state_as(world, me, GoingRound)
    drop_first(world, me, state)
    graph = world_at(world)
    while True:
        message = take(world, me, 0)
        if message == 0:
            return DONE
        rounds, rows = column_of(message, state.at), rows_of(message)
        address = lease(graph, 8 * rows)
        later = words_at(address, rows)
        is_beyond = False
        for row in range(rows):
            is_beyond |= rounds[row] >= state.most
            later[row] = rounds[row] + 1
        if is_beyond:
            fail(world, me, -1, message, 0, 0)
            return FAILED
        made = alias_of(graph, message, 0, state.width)
        point_to(made, state.at, address)
        answer(world, me, 0, 0, made)


@kernel(int64(int64, WORDS))
def _put_addresses(message: int, target: Words) -> int:
    """Write the addresses of a message's columns; how many rows it has."""
    target[:] = addresses_of(message)[: len(target)]
    return rows_of(message)


def going_round(at: int, width: int, most: int, beyond: Callable[[Sequence[int], int], Exception]) -> Compiled:
    """The operator. at: the column of rounds, of so many; most: the last round there may be; beyond: the error for a
    message in which one is later, by its columns' addresses and its rows."""
    state = GoingRound()
    state.at, state.width, state.most = at, width, most

    def explain(_: int, operands: tuple[int, int, int]) -> Exception:
        addresses = np.zeros(width, np.int64)
        rows = int(_put_addresses(operands[0], addresses))
        return beyond(addresses.tolist(), rows)

    return Compiled(go_round, state.words, explain=explain)
