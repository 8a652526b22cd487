"""look_up in the worker's inner loop: rows of both sides wait, chained by time, with a token each time."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Compiled,
    Record,
    Words,
    address_of,
    column_of,
    downgrade,
    drop,
    end_of_message,
    entry,
    frontier_at,
    new_message,
    part_of,
    peek,
    records_at,
    retain,
    room,
    rows_of,
    send,
    state_as,
    take,
    time_of,
    world_at,
)
from tokenring.operators.joins.compiled.kept_rows import (
    KeptRows,
    LinkedSide,
    free_of,
    has_room,
    keep_rows,
    kept_column,
    links_of,
    side_counts,
)
from tokenring.operators.joins.compiled.keyed import rows_but
from tokenring.operators.joins.compiled.results import scratch
from tokenring.operators.joins.kept import Side
from tokenring.operators.mechanisms import Beginning, drop_first
from tokenring.operators.state import RowStore, gather, give_place, grown, take_place

_NEXT = 0  # word of links: the next row of that time
_ASKED, _KNOWN = range(2)


class OpenTime(Record):
    """A time that is not finished: its token; by side its first row, its last, and how many it has."""

    time: int
    slot: int
    begin: Words = room(2)
    end: Words = room(2)
    rows: Words = room(2)


class LookUp(Beginning):
    """`open`: the address of an OpenTime for each of `count` times, in the order in which they came; `capacity`: for
    how many there is room. `key`: of the rows that ask; `table_key`, `table_value`: of those that are known. `wanted`,
    `wanted_times`, `wanted_side`: how many rows, and times, there was no room for, and on which side."""

    open: int
    capacity: int
    count: int
    key: int
    table_key: int
    table_value: int
    wanted: int
    wanted_times: int
    wanted_side: int
    asking: KeptRows
    known: KeptRows


@kernel
def _times_of(state: LookUp) -> Sequence[OpenTime]:
    return records_at(state.open, state.capacity, OpenTime)


@kernel
def _side_of(state: LookUp, side: int) -> KeptRows:
    return state.asking if side == _ASKED else state.known


@kernel
def _move(one: OpenTime, other: OpenTime) -> None:
    """Have a time where another was."""
    other.time, other.slot = one.time, one.slot
    other.begin[:], other.end[:], other.rows[:] = one.begin, one.end, one.rows


@kernel
def _number_of(state: LookUp, time: int) -> int:
    """The row of a time that is open, the latest looked at first; -1 if it is not."""
    times = _times_of(state)
    for number in range(state.count - 1, -1, -1):
        if times[number].time == time:
            return number
    return -1


@kernel
def _chain(world: int, state: LookUp, side: int, number: int, message: int) -> None:
    """Keep a message's rows, behind those of its time."""
    kept = _side_of(state, side)
    links, free, counts = links_of(kept), free_of(kept), side_counts(kept)
    here = _times_of(state)[number]
    rows = rows_of(message)
    places = scratch(world, rows)
    for i in range(rows):
        place = take_place(free, counts)
        links[place, _NEXT] = -1
        if here.rows[side] == 0:
            here.begin[side] = place
        else:
            links[here.end[side], _NEXT] = place
        here.end[side] = place
        here.rows[side] += 1
        places[i] = place
    keep_rows(kept, message, rows_but(world, rows, places[:0]), places)


@kernel
def _places_of(world: int, state: LookUp, side: int, number: int) -> Words:
    """The places of a time's rows, which can be read until more are kept."""
    kept = _side_of(state, side)
    here = _times_of(state)[number]
    places = scratch(world, here.rows[side])
    place = here.begin[side]
    for i in range(len(places)):
        places[i] = place
        give_place(free_of(kept), side_counts(kept), place)
        place = links_of(kept)[place, _NEXT]
    return places


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
def _answer(world: int, me: int, state: LookUp, number: int) -> None:
    """All rows of a time, in one message, and its token goes."""
    here = _times_of(state)[number]
    asked, known = _places_of(world, state, _ASKED, number), _places_of(world, state, _KNOWN, number)
    if len(asked) > 0:
        made = new_message(world, me, 0, len(asked))
        width = state.asking.columns
        for column in range(width):
            gather(kept_column(state.asking, column), asked, column_of(made, column))
        keys, values = scratch(world, len(known)), scratch(world, len(known))
        gather(kept_column(state.known, state.table_key), known, keys)
        gather(kept_column(state.known, state.table_value), known, values)
        _look_up(column_of(made, state.key), keys, values, column_of(made, width))
        send(world, me, here.slot, made, here.time)
    drop(world, me, here.slot)


@entry
def looking_up(world: int, me: int) -> int:
    """Let what came wait, then answer the rows of finished times."""
    state = state_as(world, me, LookUp)
    drop_first(world, me, state)
    for side in range(2):
        while True:
            message = peek(world, me, side)
            if message == 0:
                break
            rows = rows_of(message)
            of_times = 1 if end_of_message(message, 0) == rows else rows
            fits = has_room(world, _side_of(state, side), message, rows)
            if not fits or state.count + of_times > state.capacity:
                state.wanted, state.wanted_times, state.wanted_side = rows, of_times, side
                return NEEDS_ROOM
            take(world, me, side)
            start = 0
            while start < rows:
                end = end_of_message(message, start)
                part = part_of(world_at(world), message, start, end)
                number = _number_of(state, time_of(part))
                if number < 0:
                    number = state.count
                    state.count += 1
                    here = _times_of(state)[number]
                    here.rows[:] = 0
                    here.time, here.slot = time_of(part), retain(world, me, side, 0)
                    downgrade(world, me, here.slot, time_of(part))
                _chain(world, state, side, number, part)
                start = end
    before, kept = min(frontier_at(world, me, _ASKED), frontier_at(world, me, _KNOWN)), 0
    times = _times_of(state)
    for number in range(state.count):
        if times[number].time < before:
            _answer(world, me, state, number)
        else:
            _move(times[number], times[kept])
            kept += 1
    state.count = kept
    return DONE


def compiled_look_up(rows: Schema, key: str, table: Schema) -> Compiled:
    """What `look_up` makes of rows of words, on one worker."""
    tables = [Side(RowStore(schema), False) for schema in (rows, table)]
    sides = [LinkedSide(side, np.arange(len(schema))) for side, schema in zip(tables, (rows, table), strict=True)]
    state = LookUp()
    times = [np.zeros((0, OpenTime.size), np.int64)]
    state.key, state.table_key, state.table_value = rows.position(key), 0, 1

    def link() -> None:
        state.open, state.capacity = address_of(times[0]), len(times[0])
        for side, kept in zip(sides, (state.asking, state.known), strict=True):
            side.link(kept)

    def make_room() -> None:
        tables[state.wanted_side].reserve(state.wanted)
        times[0] = grown(times[0], state.count + state.wanted_times, axis=0)
        link()

    link()
    return Compiled(looking_up, state.words, (*sides, times), make_room)
