"""look_up in the worker's inner loop: messages of both sides are set aside until their time is finished on both."""

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    Compiled,
    Words,
    addresses_of,
    bare_message,
    column_of,
    drop,
    elements_at,
    entry,
    let_go_aside,
    point_to,
    rows_of,
    send_by,
    slot_aside,
    state_as,
    world_at,
)
from tokenring.operators.joins.compiled.results import scratch
from tokenring.operators.mechanisms import Beginning, drop_first
from tokenring.operators.time import compared, end_of_time, finished_aside, set_all_aside, together

_ASKED, _KNOWN = range(2)


class LookUp(Beginning):
    """`key`: the column of the rows that ask; `table_key`, `table_value`: those of the table. `depth`: how many
    coordinates times have."""

    key: int
    table_key: int
    table_value: int
    depth: int


@kernel
def _look_up(keys: Words, known: Words, values: Words, found: Words) -> None:
    """Write what is known of each key, the last that came; 0 of what is not."""
    order = np.argsort(known, kind="mergesort")
    for i in range(len(keys)):
        low, high = 0, len(order)
        while low < high:
            middle = (low + high) >> 1
            if known[order[middle]] <= keys[i]:
                low = middle + 1
            else:
                high = middle
        found[i] = values[order[low - 1]] if low > 0 and known[order[low - 1]] == keys[i] else 0


@kernel
def _answer(world: int, me: int, state: LookUp, asked: Words, known: Words) -> None:
    """All rows that ask at one time, as one message, by what is known then."""
    rows = together(world, asked)
    width, nothing = len(addresses_of(rows)), scratch(world, 0)
    keys, values = nothing, nothing
    if len(known) > 0:
        table = together(world, known)
        keys, values = column_of(table, state.table_key), column_of(table, state.table_value)
    found = scratch(world, rows_of(rows))
    _look_up(column_of(rows, state.key), keys, values, found)
    made = bare_message(world_at(world), width + 1, len(found))
    for column in range(width):
        point_to(made, column, addresses_of(rows)[column])
    point_to(made, width, found.ctypes.data)
    send_by(world, me, slot_aside(asked[0]), made)


@kernel
def _let_go(world: int, me: int, side: int, messages: Words) -> None:
    for message in messages:
        drop(world, me, slot_aside(message))
        let_go_aside(world, me, side, message)


@entry
def looking_up(world: int, me: int) -> int:
    """Let what came wait, then answer the rows of finished times."""
    state = state_as(world, me, LookUp)
    drop_first(world, me, state)
    for side in range(2):
        set_all_aside(world, me, side)
    depth = state.depth
    elements = np.concatenate((elements_at(world, me, _ASKED), elements_at(world, me, _KNOWN)))
    asked = finished_aside(world, me, _ASKED, elements, depth)
    known = finished_aside(world, me, _KNOWN, elements, depth)
    at, first = 0, 0
    while at < len(asked):
        end = end_of_time(asked, at, depth)
        while first < len(known) and compared(known[first], asked[at], depth) < 0:
            first += 1
        last = first
        while last < len(known) and compared(known[last], asked[at], depth) == 0:
            last += 1
        _answer(world, me, state, asked[at:end], known[first:last])
        at, first = end, last
    _let_go(world, me, _ASKED, asked)
    _let_go(world, me, _KNOWN, known)
    return DONE


def compiled_look_up(rows: Schema, key: str, depth: int) -> Compiled:
    """What `look_up` makes of rows, and of a table (key, value), at times of so many coordinates, on one worker."""
    state = LookUp()
    state.key, state.table_key, state.table_value, state.depth = rows.position(key), 0, 1, depth
    return Compiled(looking_up, state.words)
