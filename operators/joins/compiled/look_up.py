"""look_up in the worker's inner loop: rows of both sides wait, chained by time, with a token each time."""

import numpy as np

from tokenring.engine import Schema, kernel
from tokenring.engine.compiled import (
    DONE,
    NEEDS_ROOM,
    Compiled,
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
    retain,
    rows_of,
    send,
    state_of,
    table_at,
    take,
    time_of,
    world_at,
)
from tokenring.operators.folds import gather
from tokenring.operators.joins.compiled.kept_rows import (
    COLUMNS,
    SIDE_WORDS,
    LinkedSide,
    free_of,
    has_room,
    keep_rows,
    kept_column,
    links_of,
    meta_of,
)
from tokenring.operators.joins.compiled.keyed import rows_but
from tokenring.operators.joins.compiled.results import scratch
from tokenring.operators.joins.kept import Side
from tokenring.operators.mechanisms import drop_first
from tokenring.operators.state import RowStore, give_place, grown, take_place

# Words of the state. FIRST: the slot of the token it begins with. OPEN, ROOM, COUNT: the times that are not finished, a
# row each, in the order in which they came. KEY: of the rows that ask; TABLE_KEY, TABLE_VALUE: of those that are known.
# WANTED, WANTED_TIMES, WANTED_SIDE: how many rows, and times, there was no room for, and on which side.
_FIRST, _OPEN, _ROOM, _COUNT, _KEY, _TABLE_KEY, _TABLE_VALUE, _WANTED, _WANTED_TIMES, _WANTED_SIDE \
    = range(10)
_SIDES = _WANTED_SIDE + 1
_STATE_WORDS = _SIDES + 2 * SIDE_WORDS
# Words of a time: its token; by side its first row, its last, and how many it has.
_TIME, _SLOT, _BEGIN, _, _END, _, _ROWS, _ = range(8)
_TIME_WORDS = 8
_NEXT = 0  # word of links: the next row of that time
_ASKED, _KNOWN = range(2)


@kernel
def _number_of(state, time):  # type: ignore[no-untyped-def]
    """The row of a time that is open, the latest looked at first; -1 if it is not."""
    times = table_at(state[_OPEN], state[_ROOM], _TIME_WORDS)
    for number in range(state[_COUNT] - 1, -1, -1):
        if times[number, _TIME] == time:
            return number
    return -1


@kernel
def _chain(world, state, side, number, message):  # type: ignore[no-untyped-def]
    """Keep a message's rows, behind those of its time."""
    at = _SIDES + side * SIDE_WORDS
    links, free, meta = links_of(state, at), free_of(state, at), meta_of(state, at)
    here = table_at(state[_OPEN], state[_ROOM], _TIME_WORDS)[number]
    rows = rows_of(message)
    places = scratch(world, rows)
    for i in range(rows):
        place = take_place(free, meta)
        links[place, _NEXT] = -1
        if here[_ROWS + side] == 0:
            here[_BEGIN + side] = place
        else:
            links[here[_END + side], _NEXT] = place
        here[_END + side] = place
        here[_ROWS + side] += 1
        places[i] = place
    keep_rows(state, at, message, rows_but(world, rows, places[:0]), places)


@kernel
def _places_of(world, state, side, number):  # type: ignore[no-untyped-def]
    """The places of a time's rows, which can be read until more are kept."""
    at = _SIDES + side * SIDE_WORDS
    here = table_at(state[_OPEN], state[_ROOM], _TIME_WORDS)[number]
    places = scratch(world, here[_ROWS + side])
    place = here[_BEGIN + side]
    for i in range(len(places)):
        places[i] = place
        give_place(free_of(state, at), meta_of(state, at), place)
        place = links_of(state, at)[place, _NEXT]
    return places


@kernel
def _look_up(keys, known, values, found):  # type: ignore[no-untyped-def]
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
def _answer(world, me, state, number):  # type: ignore[no-untyped-def]
    """All rows of a time, in one message, and its token goes."""
    here = table_at(state[_OPEN], state[_ROOM], _TIME_WORDS)[number]
    asked, known = _places_of(world, state, _ASKED, number), _places_of(world, state, _KNOWN, number)
    if len(asked) > 0:
        made = new_message(world, me, 0, len(asked))
        width = state[_SIDES + COLUMNS]
        for column in range(width):
            gather(kept_column(state, _SIDES, column), asked, column_of(made, column))
        keys, values = scratch(world, len(known)), scratch(world, len(known))
        gather(kept_column(state, _SIDES + SIDE_WORDS, state[_TABLE_KEY]), known, keys)
        gather(kept_column(state, _SIDES + SIDE_WORDS, state[_TABLE_VALUE]), known, values)
        _look_up(column_of(made, state[_KEY]), keys, values, column_of(made, width))
        send(world, me, here[_SLOT], made, here[_TIME])
    drop(world, me, here[_SLOT])


@entry
def looking_up(world, me):  # type: ignore[no-untyped-def]
    """Let what came wait, then answer the rows of finished times."""
    state = state_of(world, me, _STATE_WORDS)
    drop_first(world, me, state)
    for side in range(2):
        while True:
            message = peek(world, me, side)
            if message == 0:
                break
            rows = rows_of(message)
            of_times = 1 if end_of_message(message, 0) == rows else rows
            fits = has_room(world, state, _SIDES + side * SIDE_WORDS, message, rows)
            if not fits or state[_COUNT] + of_times > state[_ROOM]:
                state[_WANTED], state[_WANTED_TIMES], state[_WANTED_SIDE] = rows, of_times, side
                return NEEDS_ROOM
            take(world, me, side)
            start = 0
            while start < rows:
                end = end_of_message(message, start)
                part = part_of(world_at(world), message, start, end)
                number = _number_of(state, time_of(part))
                if number < 0:
                    number = state[_COUNT]
                    state[_COUNT] += 1
                    here = table_at(state[_OPEN], state[_ROOM], _TIME_WORDS)[number]
                    here[:] = 0
                    here[_TIME], here[_SLOT] = time_of(part), retain(world, me, side, 0)
                    downgrade(world, me, here[_SLOT], time_of(part))
                _chain(world, state, side, number, part)
                start = end
    before, kept = min(frontier_at(world, me, _ASKED), frontier_at(world, me, _KNOWN)), 0
    times = table_at(state[_OPEN], state[_ROOM], _TIME_WORDS)
    for number in range(state[_COUNT]):
        if times[number, _TIME] < before:
            _answer(world, me, state, number)
        else:
            times[kept] = times[number]
            kept += 1
    state[_COUNT] = kept
    return DONE


def compiled_look_up(rows: Schema, key: str, table: Schema) -> Compiled:
    """What `look_up` makes of rows of words, on one worker."""
    sides = [LinkedSide(Side(RowStore(schema), False), np.arange(len(schema))) for schema in (rows, table)]
    state = np.zeros(_STATE_WORDS, np.int64)
    times = [np.zeros((0, _TIME_WORDS), np.int64)]
    state[_KEY], state[_TABLE_KEY], state[_TABLE_VALUE] = rows.position(key), 0, 1

    def link() -> None:
        state[_OPEN], state[_ROOM] = address_of(times[0]), len(times[0])
        for number, side in enumerate(sides):
            side.link(state, _SIDES + number * SIDE_WORDS)

    def make_room() -> None:
        wanted = int(state[_WANTED])
        sides[state[_WANTED_SIDE]].side.reserve(wanted)
        times[0] = grown(times[0], int(state[_COUNT] + state[_WANTED_TIMES]), axis=0)
        link()

    link()
    return Compiled(looking_up, state, (*sides, times), make_room)
