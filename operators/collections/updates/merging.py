"""Two batches of updates into one, a bounded number of rows at a time; times move up to what readers can still tell
apart.
"""

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel
from tokenring.operators.collections.updates.sorting import add_up, precedes, sort_rows

# Words of a merge under way: the next row of either, the rows made.
LEFT, RIGHT, MERGE_MADE = range(3)
MERGE_WORDS = 3


@kernel
def move_up(table, row, first, frontier):  # type: ignore[no-untyped-def]
    """Move the time of a row, in columns from `first` on, to the least of those that no reader beyond the frontier can
    tell from it: the greatest lower bound of its least upper bounds with the frontier's elements (differential
    dataflow's `advance_by`). frontier: int64 (elements, coordinates); with no element all times become the greatest."""
    coordinates = frontier.shape[1]
    for at in range(coordinates):
        time = table[first + at, row]
        least = np.int64(np.iinfo(np.int64).max)
        for element in range(len(frontier)):
            least = min(least, max(time, frontier[element, at]))
        table[first + at, row] = least


@kernel
def _copy_row(source, row, target, at):  # type: ignore[no-untyped-def]
    for column in range(len(source)):
        target[column, at] = source[column, row]


@kernel
def _settle(target, start, stop, first):  # type: ignore[no-untyped-def]
    """Rows start..stop, alike in their data, in order of their times from column `first` on, and added up; where they
    end."""
    last = len(target) - 1
    in_order = True
    for row in range(start + 1, stop):
        if precedes(target, row - 1, target, row, first, last) >= 0:
            in_order = False
            break
    if in_order:
        made = start
        for row in range(start, stop):
            if target[last, row] != 0:
                if made != row:
                    _copy_row(target, row, target, made)
                made += 1
        return made
    some = np.empty((len(target) - first, stop - start), np.int64)
    for column in range(first, len(target)):
        for row in range(start, stop):
            some[column - first, row - start] = target[column, row]
    order, summed = np.empty(stop - start, np.int64), np.empty_like(some)
    sort_rows(some, len(some) - 1, order)
    made = add_up(some, order, summed, 0)
    for column in range(first, len(target)):
        for row in range(made):
            target[column, start + row] = summed[column - first, row]
    return start + made


@kernel
def _end_of_group(table, row, rows, data):  # type: ignore[no-untyped-def]
    """Where the rows end that have the data of this one."""
    after = row + 1
    while after < rows and precedes(table, after, table, row, 0, data) == 0:
        after += 1
    return after


@kernel(int64(TABLE, int64, TABLE, int64, TABLE, WORDS, int64, TABLE, int64))
def merge_some(left, rows, right, others, target, state, data, frontier, fuel):  # type: ignore[no-untyped-def]
    """Go on merging the first rows of two consolidated tables, for some `fuel` of them, in whole groups of rows with
    the same data; returns what is left of the fuel, which is more than 0 when all are done.

    target: room for all rows of both; its first state[MERGE_MADE] rows are made. state: MERGE_WORDS words. data: how
    many columns of data. frontier: as `move_up` has it.
    """
    i, j, made = state[LEFT], state[RIGHT], state[MERGE_MADE]
    while (i < rows or j < others) and fuel > 0:
        side = -1 if j >= others else 1 if i >= rows else precedes(left, i, right, j, 0, data)
        stop = _end_of_group(left, i, rows, data) if side <= 0 else i
        end = _end_of_group(right, j, others, data) if side >= 0 else j
        begun = made
        fuel -= stop - i + end - j
        while i < stop:
            _copy_row(left, i, target, made)
            move_up(target, made, data, frontier)
            i += 1
            made += 1
        while j < end:
            _copy_row(right, j, target, made)
            move_up(target, made, data, frontier)
            j += 1
            made += 1
        if made - begun > 1:
            made = _settle(target, begun, made, data)
    state[LEFT], state[RIGHT], state[MERGE_MADE] = i, j, made
    return fuel
