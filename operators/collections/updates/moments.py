"""The times at which a key is looked at: those of its updates, and their least upper bounds."""

import numpy as np

from tokenring.engine import kernel


@kernel
def may_come(frontier, time):  # type: ignore[no-untyped-def]
    """Whether the time is not finished: some element of a frontier, (elements, coordinates), is less or equal."""
    for element in range(len(frontier)):
        is_less = True
        for at in range(len(time)):
            is_less &= frontier[element, at] <= time[at]
        if is_less:
            return True
    return False


@kernel
def _insert_time(times, count, time):  # type: ignore[no-untyped-def]
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
def put_off(waiting, waits, time):  # type: ignore[no-untyped-def]
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
def with_bounds(  # type: ignore[no-untyped-def]
    times, count, number, table, start, stop, first, frontier, waiting, waits, bound
):
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
def with_bounds_of_earlier(times, count, number, frontier, waiting, waits, bound):  # type: ignore[no-untyped-def]
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
