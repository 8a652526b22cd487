"""Frontiers as lists of times, which rows of updates lie behind them, and the times at which a key is looked at."""

from collections.abc import Iterable
from typing import Any

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel
from tokenring.engine.compiled import Words
from tokenring.engine.times import COMPLETE, NestedTime

_ELEMENTS = 16  # of a frontier, more than most have


@kernel
def may_come(frontier: Words, time: Words) -> bool:
    """Whether the time is not finished: some element of a frontier, (elements, coordinates), is less or equal."""
    for element in range(len(frontier)):
        is_less = True
        for at in range(len(time)):
            is_less &= frontier[element, at] <= time[at]
        if is_less:
            return True
    return False


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
        differs = False
        for at in range(depth):
            bound[at] = max(times[number, at], table[first + at, row])
            differs |= bound[at] != times[number, at]
        if differs:
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


def least_of(times: Iterable[NestedTime]) -> list[NestedTime]:
    """Those that no other is less than or equal to."""
    different = list(set(times))
    if len(different) < 2:
        return different
    different.sort()  # what is less than or equal to a time comes before it
    least: list[NestedTime] = []
    for time in different:
        for kept in least:
            for mine, other in zip(kept, time, strict=True):
                if mine > other:
                    break
            else:
                break
        else:
            least.append(time)
    return least


def both(first: Iterable[NestedTime], second: list[NestedTime]) -> list[NestedTime]:
    """The frontier behind which a time is finished that is finished at either."""
    if first == second:
        return second
    return least_of([tuple(map(max, one, other)) for one in first for other in second])


def as_table(frontier: list[NestedTime], depth: int) -> np.ndarray:
    """The elements as an int64 table (elements, coordinates)."""
    return np.array(frontier, np.int64).reshape(len(frontier), depth)


@kernel(int64(TABLE, int64, TABLE, WORDS))
def mark_behind(updates: Words, first: int, frontier: Words, marks: Words) -> int:
    """Mark with 1 the rows whose time, in columns from `first` on, no element of the frontier is less than or equal to,
    others with 0; how many."""
    found = 0
    for row in range(updates.shape[1]):
        marks[row] = not may_come(frontier, updates[first : first + frontier.shape[1], row])
        found += marks[row]
    return found


def split(updates: np.ndarray, first: int, frontier: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """(the rows whose times are finished, the others): int64 tables of the same columns."""
    if not updates.shape[1]:
        return updates, updates
    marks = np.empty(updates.shape[1], np.int64)
    found = mark_behind(updates, first, frontier, marks)
    if found == len(marks):
        return updates, updates[:, :0]
    if found == 0:
        return updates[:, :0], updates
    chosen = marks.astype(bool)
    return np.ascontiguousarray(updates[:, chosen]), np.ascontiguousarray(updates[:, ~chosen])


@kernel(int64(TABLE, int64, TABLE))
def _put_least(updates: Words, first: int, least: Words) -> int:
    """Write the times of rows, in columns from `first` on, that no other is less than, to `least` (elements,
    coordinates); how many, -1 if there is no room."""
    depth, count = least.shape[1], 0
    for row in range(updates.shape[1]):
        is_above, element = False, 0
        while element < count and not is_above:
            is_less, is_greater = True, True
            for at in range(depth):
                is_less &= updates[first + at, row] <= least[element, at]
                is_greater &= updates[first + at, row] >= least[element, at]
            if is_greater:
                is_above = True
            elif is_less:
                count -= 1
                least[element] = least[count]
            else:
                element += 1
        if is_above:
            continue
        if count == len(least):
            return -1
        for at in range(depth):
            least[count, at] = updates[first + at, row]
        count += 1
    return count


def least_times(updates: np.ndarray, first: int, depth: int) -> list[NestedTime]:
    """The least times of rows, in columns from `first` on."""
    if updates.shape[1] < 2:
        return [tuple(time) for time in updates[first : first + depth].T.tolist()]
    least, count = np.empty((_ELEMENTS, depth), np.int64), -1
    while (count := _put_least(updates, first, least)) < 0:
        least = np.empty((2 * len(least), depth), np.int64)
    return sorted([tuple(time) for time in least[:count].tolist()])
