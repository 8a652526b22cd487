"""Rows once for each of their windows, in the worker's inner loop: a stage of joins by window."""

from tokenring.engine import COMPLETE, kernel
from tokenring.engine.compiled import (
    CompiledStage,
    StageBeginning,
    Words,
    addresses_of,
    bare_message,
    column_of,
    end_of_message,
    entry,
    gathered,
    give_keys,
    keys_of,
    point_to,
    record_at,
    rows_of,
    words_at,
    world_at,
)
from tokenring.operators.joins.compiled.results import scratch
from tokenring.operators.state import LEAST


class Expanding(StageBeginning):
    """The column of rows' times, and their windows."""

    time: int
    width: int
    every: int
    offset: int


@kernel
def _list_windows(world: int, own: Expanding, message: int) -> tuple[Words, Words]:
    """(rows, ends): of each message of a burst its rows in all first windows, then in all second ones, and so on: rows
    of a window stay together, which is cheaper later. Where 64 bits do not have a row's windows, see `_ends` of
    windowed_join."""
    times = column_of(message, own.time)
    width, every, offset = own.width, own.every, own.offset
    first, counts = scratch(world, len(times)), scratch(world, len(times))
    total = 0
    for i in range(len(times)):
        time = times[i]
        last = (time - offset) // every
        if time < LEAST + offset + width:
            first[i], counts[i] = time, 1
        elif last * every + offset > COMPLETE - width:
            first[i], counts[i] = COMPLETE, 1
        else:
            number = (time - offset - width) // every + 1
            first[i], counts[i] = number * every + offset + width, last - number + 1
        total += counts[i]
    rows, ends = scratch(world, total), scratch(world, total)
    count, start = 0, 0
    while start < len(times):
        end, number, before = end_of_message(message, start), 0, -1
        while count != before:
            before = count
            for i in range(start, end):
                if counts[i] > number:
                    rows[count], ends[count] = i, first[i] + number * every
                    count += 1
            number += 1
        start = end
    return rows, ends


@entry
def expand(world: int, state: int) -> int:
    """Each row once for each of its windows, with the window's start and end."""
    own = record_at(state, Expanding)
    message = own.message
    rows, ends = _list_windows(world, own, message)
    starts = scratch(world, len(ends))
    for i in range(len(ends)):
        starts[i] = ends[i] - own.width
    width = len(addresses_of(message))
    made = bare_message(world_at(world), width + 2, len(rows))
    same = own.every == own.width  # each row is in one window
    for column in range(width):
        words = column_of(message, column)
        point_to(made, column, words.ctypes.data if same else gathered(world_at(world), words, rows))
    point_to(made, width, starts.ctypes.data)
    point_to(made, width + 1, ends.ctypes.data)
    keys = keys_of(message)
    if keys != 0 and not same:
        keys = gathered(world_at(world), words_at(keys, rows_of(message)), rows)
    give_keys(made, keys)
    return made


def expanding(time: int, width: int, every: int, offset: int) -> CompiledStage:
    """The stage that gives rows the windows of the column number `time`."""
    own = Expanding()
    own.time, own.width, own.every, own.offset = time, width, every, offset
    return CompiledStage(expand, own.words)
