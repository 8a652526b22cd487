"""Changes that leave collections: from a time on, and each at its own time where somebody goes by messages' times."""

from tokenring.engine import kernel
from tokenring.engine.compiled import (
    DONE,
    Compiled,
    addresses_of,
    answer,
    column_of,
    entry,
    give_keys,
    lease,
    part_of,
    rows_of,
    send_at,
    send_with,
    state_as,
    take,
    time_of,
    words_at,
    world_at,
)
from tokenring.operators.mechanisms import Beginning, drop_first, in_order_of


class Telling(Beginning):
    """`times`: the column of rows' times, behind which their other coordinates are, of `depth` in all. `since`: rows
    before it are left out. `is_apart`: whether those of different times are."""

    times: int
    depth: int
    since: int
    is_apart: int


@entry
def tell(world: int, me: int) -> int:
    """Hand on rows."""
    state = state_as(world, me, Telling)
    drop_first(world, me, state)
    while True:
        message = take(world, me, 0)
        if message == 0:
            return DONE
        if state.since == 0 and state.is_apart == 0:
            answer(world, me, 0, 0, message)
        elif state.depth > 1:
            _tell_tuples(world, me, state, message)
        else:
            _tell_integers(world, me, state, message)


@kernel
def _tell_integers(world: int, me: int, state: Telling, message: int) -> None:
    rows, first, least = rows_of(message), 0, max(time_of(message), state.since)
    message = in_order_of(world, message, state.times)
    times = column_of(message, state.times)
    while first < rows and times[first] < state.since:
        first += 1
    if first == rows:
        return
    told = part_of(world_at(world), message, first, rows)
    if state.is_apart != 0:
        give_keys(told, addresses_of(told)[state.times])
        send_at(world, me, 0, told, times[first])
    else:
        send_at(world, me, 0, told, least)


@kernel
def _tell_tuples(world: int, me: int, state: Telling, message: int) -> None:
    """Rows are in order of their coordinates."""
    graph, start, rows = world_at(world), 0, rows_of(message)
    others = words_at(lease(graph, 24), 3)
    while start < rows:
        stop = start + 1
        while stop < rows and _is_at_once(message, state, start, stop):
            stop += 1
        others[:] = 0
        for at in range(1, state.depth):
            others[at - 1] = column_of(message, state.times + at)[start]
        told = part_of(graph, message, start, stop)
        send_with(world, me, 0, told, column_of(message, state.times)[start], others)
        start = stop


@kernel
def _is_at_once(message: int, state: Telling, one: int, other: int) -> bool:
    for at in range(state.times, state.times + state.depth):
        column = column_of(message, at)
        if column[one] != column[other]:
            return False
    return True


def telling(times: int, depth: int, since: int, is_apart: bool) -> Compiled:
    """The operator."""
    state = Telling()
    state.times, state.depth, state.since, state.is_apart = times, depth, since, is_apart
    return Compiled(tell, state.words)
