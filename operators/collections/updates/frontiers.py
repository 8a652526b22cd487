"""Frontiers as lists of times, which rows of updates lie behind them, and the times at which a key is looked at."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from tokenring.engine import TABLE, int64, kernel, tuple_of
from tokenring.engine.compiled import Record, Words, deallocate, signed, table_at
from tokenring.engine.times import COMPLETE, NestedTime
from tokenring.operators.collections.updates.blocks import new_block
from tokenring.operators.time import may_come

_ELEMENTS = 16  # of a frontier, more than most have
_FIRST_ROOM = 4


@kernel
def _insert_time(times: Words, count: int, time: Words) -> tuple[Words, int]:
    """Put a time among the first `count`, which rise, unless it is there: (times, how many there are then)."""
    depth, at = len(time), count
    while at > 0:
        order = 0
        for coordinate in range(depth):
            if times[at - 1, coordinate] != time[coordinate]:
                order = -1 if times[at - 1, coordinate] < time[coordinate] else 1
                break
        if order == 0:
            return times, count
        if order < 0:
            break
        at -= 1
    if count == len(times):
        more = np.empty((2 * count, depth), np.int64)
        more[:count] = times
        times = more
    for row in range(count, at, -1):
        for coordinate in range(depth):
            times[row, coordinate] = times[row - 1, coordinate]
    for coordinate in range(depth):
        times[at, coordinate] = time[coordinate]
    return times, count + 1


@kernel
def put_off(waiting: Words, waits: int, time: Words) -> tuple[Words, int]:
    """Put a time among the first `waits` that wait, of which none is less than or equal to another: (waiting, how many
    there are then). What is above another need not wait: when the key is looked at there, it is found again, since the
    updates of which it is a bound are there still, or others that cannot be told from them."""
    depth, kept = len(time), 0
    for at in range(waits):
        is_below, is_above = True, True
        for coordinate in range(depth):
            is_below &= waiting[at, coordinate] <= time[coordinate]
            is_above &= waiting[at, coordinate] >= time[coordinate]
        if is_below:
            return waiting, waits
        if not is_above:
            for coordinate in range(depth):
                waiting[kept, coordinate] = waiting[at, coordinate]
            kept += 1
    if kept == len(waiting):
        more = np.empty((2 * kept, depth), np.int64)
        more[:kept] = waiting
        waiting = more
    for coordinate in range(depth):
        waiting[kept, coordinate] = time[coordinate]
    return waiting, kept + 1


@kernel
def with_bounds(
    times: Words, count: int, number: int, table: Words, start: int, stop: int, first: int, frontier: Words,
    waiting: Words, waits: int, bound: Words,
) -> tuple[Words, int, Words, int]:  # fmt: skip
    """Add the least upper bounds of time `number` and those of rows start..stop of a table, in columns from `first` on,
    to those that wait if they are not finished: (times, how many, waiting, how many). bound: room for a time."""
    depth = times.shape[1]
    for row in range(start, stop):
        differs, does_wait = False, waits > 0
        for at in range(depth):  # writes nothing: all rows of a key come by here in each round of a loop
            mine, theirs = times[number, at], table[first + at, row]
            differs |= theirs > mine
            does_wait &= waiting[0, at] <= max(mine, theirs)  # as most do that are not finished
        if differs and not does_wait:
            for at in range(depth):
                bound[at] = max(times[number, at], table[first + at, row])
            if may_come(frontier, bound):
                waiting, waits = put_off(waiting, waits, bound)
            else:
                times, count = _insert_time(times, count, bound)
    return times, count, waiting, waits


@kernel
def with_bounds_of_earlier(
    times: Words, count: int, number: int, frontier: Words, waiting: Words, waits: int, bound: Words
) -> tuple[Words, int, Words, int]:
    """The same of time `number` and those before it."""
    depth = times.shape[1]
    for other in range(number):
        differs = False
        for at in range(depth):
            bound[at] = max(times[number, at], times[other, at])
            differs |= bound[at] != times[number, at]
        if differs:
            if may_come(frontier, bound):
                waiting, waits = put_off(waiting, waits, bound)
            else:
                times, count = _insert_time(times, count, bound)
    return times, count, waiting, waits


def elements_of(frontier: Any) -> list[NestedTime]:
    """A port's frontier as a list of its elements, each a tuple; empty if nothing can come."""
    if isinstance(frontier, int):
        return [] if frontier == COMPLETE else [(frontier,)]
    elements: list[NestedTime] = list(frontier)
    if len(elements) > 1:
        elements.sort()
    return elements


def both(first: list[NestedTime], second: list[NestedTime]) -> list[NestedTime]:
    """The frontier behind which a time is finished that is finished at either."""
    if first == second or not first or not second:
        return second if first else first
    depth = len(first[0])
    return [tuple(time) for time in both_of(as_table(first, depth), as_table(second, depth)).tolist()]


def as_table(frontier: Sequence[NestedTime], depth: int) -> np.ndarray:
    """The elements as an int64 table (elements, coordinates)."""
    return np.array(frontier, np.int64).reshape(len(frontier), depth)


@kernel
def finished_rows(times: Words, rows: int, frontier: Words) -> Words:
    """Which of the first rows are before a frontier, int64 (elements, coordinates), by their times, (coordinates, at
    least rows)."""
    marks, depth = np.empty(rows, np.bool_), len(times)
    if depth == 1 and len(frontier) == 1:
        for row in range(rows):
            marks[row] = times[0, row] < frontier[0, 0]
        return marks
    for row in range(rows):
        may_come = False
        for element in range(len(frontier)):
            is_later = True
            for at in range(depth):
                is_later &= frontier[element, at] <= times[at, row]
            may_come |= is_later
        marks[row] = not may_come
    return marks


@kernel(tuple_of(TABLE, 2)(TABLE, int64, TABLE))
def split(updates: Words, first: int, frontier: Words) -> tuple[Words, Words]:
    """(the rows whose times, in columns from `first` on, are finished, the others): int64 tables of the same columns.
    """
    rows, found = updates.shape[1], 0
    marks = finished_rows(updates[first : first + frontier.shape[1]], rows, frontier)
    for row in range(rows):
        found += marks[row]
    finished, left = np.empty((len(updates), found), np.int64), np.empty((len(updates), rows - found), np.int64)
    to_finished = to_left = 0
    for row in range(rows):
        for column in range(len(updates)):
            if marks[row]:
                finished[column, to_finished] = updates[column, row]
            else:
                left[column, to_left] = updates[column, row]
        to_finished += marks[row]
        to_left += not marks[row]
    return finished, left


@kernel
def _in_order(times: Words, count: int) -> Words:
    """A copy of the first times, rising."""
    depth, rising = times.shape[1], times[:count].copy()
    for row in range(1, count):
        at = row
        while at > 0:
            order = signed(0)
            for coordinate in range(depth):
                order = rising[at - 1, coordinate] - rising[at, coordinate]
                if order != 0:
                    break
            if order <= 0:
                break
            for coordinate in range(depth):
                before = rising[at - 1, coordinate]
                rising[at - 1, coordinate], rising[at, coordinate] = rising[at, coordinate], before
            at -= 1
    return rising


@kernel(TABLE(TABLE, int64, int64))
def least_times(updates: Words, first: int, depth: int) -> Words:
    """The times of rows, in columns from `first` on, that no other is less than: int64 (times, coordinates), rising."""
    least, count, time = np.empty((_ELEMENTS, depth), np.int64), 0, np.empty(depth, np.int64)
    for row in range(updates.shape[1]):
        is_like_last = row > 0  # as most are
        for at in range(depth):
            is_like_last &= row > 0 and updates[first + at, row] >= time[at]
        if not is_like_last:
            for at in range(depth):
                time[at] = updates[first + at, row]
            least, count = put_off(least, count, time)
    return _in_order(least, count)


@kernel(TABLE(TABLE, TABLE))
def both_of(first: Words, second: Words) -> Words:
    """The frontier, int64 (elements, coordinates), behind which a time is finished that is finished at either."""
    depth = first.shape[1]
    least, count, time = np.empty((_ELEMENTS, depth), np.int64), 0, np.empty(depth, np.int64)
    for one in range(len(first)):
        for other in range(len(second)):
            for at in range(depth):
                time[at] = max(first[one, at], second[other, at])
            least, count = put_off(least, count, time)
    return _in_order(least, count)


class Antichain(Record):
    """Times of which none is less than or equal to another, which rise: where they are, int64 (times, coordinates), how
    many, and for how many there is room."""

    address: int
    count: int
    room: int


@kernel
def times_of(chain: Antichain, depth: int) -> Words:
    """The times, int64 (times, coordinates): to be written to in their place."""
    return table_at(chain.address, chain.count, depth)


@kernel
def set_times(chain: Antichain, times: Words) -> None:
    """Let these be the times."""
    count, depth = times.shape
    if count > chain.room:
        free_times(chain)
        chain.room = max(_FIRST_ROOM, 2 * count)
        chain.address = new_block(chain.room, depth)
    chain.count = count
    target = times_of(chain, depth)
    for row in range(count):
        for at in range(depth):
            target[row, at] = times[row, at]


@kernel
def are_times(chain: Antichain, times: Words) -> bool:
    """Whether these are the times."""
    count, depth = times.shape
    if count != chain.count:
        return False
    own = times_of(chain, depth)
    for row in range(count):
        for at in range(depth):
            if own[row, at] != times[row, at]:
                return False
    return True


@kernel
def free_times(chain: Antichain) -> None:
    """Give back what they take: there are none then."""
    if chain.address != 0:
        deallocate(chain.address)
    chain.address = chain.count = chain.room = 0
