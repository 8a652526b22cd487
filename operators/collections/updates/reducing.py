"""What is left of a key's rows at each time at which that may have changed, and how it differs from before.

Differential dataflow's reduction (McSherry et al., CIDR 2013, section 4): at a time, a collection is the sum of all
updates at times less or equal. What a key's output is to be is worked out at each time at which updates came, and,
where times are partially ordered, at the least upper bounds of these with times of older updates, and of each other.
"""

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel
from tokenring.operators.collections.updates.sorting import add_up, precedes, sort_rows

# What is made of the rows of a key: one row of totals; each row that is there, once; its first rows; one row of totals
# whose parts (see `as_parts`) are what is there.
TOTALS, EACH, FIRST, PARTS = range(4)
# Totals: how many rows; the sum, the least, the greatest of a column.
COUNT, SUM, LEAST, GREATEST = range(4)
HALF_BITS = 32
LOWER_HALF = (1 << HALF_BITS) - 1


# Why a call came back: all keys are done, there is no room, or a key is not as it may be.
DONE, NO_ROOM, NEGATIVE, OVERFLOW = range(4)
# Words that a call leaves behind: the key it goes on with, the rows made, the times put off.
KEY, MADE, LATER = range(3)


@kernel
def _is_before(table, row, first, time):  # type: ignore[no-untyped-def]
    """Whether the time of a row, in columns from `first` on, is less than or equal to `time`."""
    for at in range(len(time)):
        if table[first + at, row] > time[at]:
            return False
    return True


@kernel
def _may_come(frontier, time):  # type: ignore[no-untyped-def]
    """Whether the time is not finished."""
    for element in range(len(frontier)):
        is_less = True
        for at in range(len(time)):
            is_less &= frontier[element, at] <= time[at]
        if is_less:
            return True
    return False


@kernel
def _insert_time(times, count, time):  # type: ignore[no-untyped-def]
    """Put a time among the first `count`, which rise, unless it is there; how many there are then."""
    depth, at = len(time), count
    while at > 0:
        order = 0
        for coordinate in range(depth):
            if times[at - 1, coordinate] != time[coordinate]:
                order = -1 if times[at - 1, coordinate] < time[coordinate] else 1
                break
        if order == 0:
            return count
        if order < 0:
            break
        at -= 1
    for row in range(count, at, -1):
        for coordinate in range(depth):
            times[row, coordinate] = times[row - 1, coordinate]
    for coordinate in range(depth):
        times[at, coordinate] = time[coordinate]
    return count + 1


@kernel
def _with_bounds(times, count, number, table, start, stop, first):  # type: ignore[no-untyped-def]
    """Add the least upper bounds of time `number` and those of rows start..stop of a table: (times, how many)."""
    depth = times.shape[1]
    bound = np.empty(depth, np.int64)
    for row in range(start, stop):
        differs = False
        for at in range(depth):
            bound[at] = max(times[number, at], table[first + at, row])
            differs |= bound[at] != times[number, at]
        if differs:
            if count == len(times):
                more = np.empty((2 * count, depth), np.int64)
                more[:count] = times
                times = more
            count = _insert_time(times, count, bound)
    return times, count


@kernel
def _whole(lower, upper):  # type: ignore[no-untyped-def]
    """A sum of words from those of their lower and upper halves, and whether it is an int64."""
    upper += lower >> HALF_BITS
    sign = upper >> (HALF_BITS - 1)
    return (upper << HALF_BITS) | (lower & LOWER_HALF), sign == 0 or sign == -1


@kernel
def _totals(rows, order, start, stop, values, time, parts, target):  # type: ignore[no-untyped-def]
    """One row of totals over what is there of a key's rows at a time: (how many rows are made, DONE or what is wrong).
    """
    last, there, i = len(rows) - 1, np.int64(0), start
    lower, upper = np.zeros(len(parts), np.int64), np.zeros(len(parts), np.int64)
    for part in range(len(parts)):
        target[part, 0] = 0
    while i < stop:
        first, count = order[i], np.int64(0)
        while i < stop and precedes(rows, order[i], rows, first, 0, values) == 0:
            if _is_before(rows, order[i], values, time):
                count += rows[last, order[i]]
            i += 1
        if count < 0:
            return 0, NEGATIVE
        if count == 0:
            continue
        for part in range(len(parts)):
            what, word = parts[part, 0], rows[parts[part, 1], first]
            if what == COUNT:
                target[part, 0] += count
            elif what == SUM:
                lower[part] += (word & LOWER_HALF) * count
                upper[part] += (word >> HALF_BITS) * count
            elif what == LEAST:
                target[part, 0] = word if there == 0 else min(target[part, 0], word)
            else:
                target[part, 0] = word if there == 0 else max(target[part, 0], word)
        there += count
    for part in range(len(parts)):
        if parts[part, 0] == SUM:
            target[part, 0], is_in_range = _whole(lower[part], upper[part])
            if not is_in_range:
                return 0, OVERFLOW
    target[len(parts), 0] = 1
    return (1 if there > 0 else 0), DONE


@kernel
def _added_parts(rows, time, parts, target):  # type: ignore[no-untyped-def]
    """One row of totals of which a key's rows are the parts: (how many rows are made, DONE or what is wrong)."""
    last, most = len(rows) - 1, 0
    for part in range(len(parts)):
        most = max(most, parts[part, 1])
    added = np.zeros(most + 2, np.int64)
    for row in range(rows.shape[1]):
        if rows[0, row] < len(added) and _is_before(rows, row, 1, time):
            added[rows[0, row]] += rows[last, row]
    if added[0] < 0 or (added[0] == 0 and added.any()):
        return 0, NEGATIVE
    for part in range(len(parts)):
        number = parts[part, 1]
        target[part, 0] = added[number]
        if parts[part, 0] == SUM:
            target[part, 0], is_in_range = _whole(added[number], added[number + 1])
            if not is_in_range:
                return 0, OVERFLOW
    target[len(parts), 0] = 1
    return (1 if added[0] > 0 else 0), DONE


@kernel
def _rows_there(rows, order, start, stop, values, time, most, target):  # type: ignore[no-untyped-def]
    """The rows that are there of a key's at a time, each once; where `most` is more than 0, the first so many, as often
    as they are there, where it is less, the last: (how many rows are made, DONE or what is wrong)."""
    last, made, left, i = len(rows) - 1, 0, abs(most), start
    while i < stop and (most == 0 or left > 0):
        at = i if most >= 0 else start + stop - 1 - i
        first, count = order[at], np.int64(0)
        while i < stop:
            at = i if most >= 0 else start + stop - 1 - i
            if precedes(rows, order[at], rows, first, 0, values) != 0:
                break
            if _is_before(rows, order[at], values, time):
                count += rows[last, order[at]]
            i += 1
        if count < 0:
            return 0, NEGATIVE
        if count > 0:
            for column in range(values):
                target[column, made] = rows[column, first]
            target[values, made] = 1 if most == 0 else min(count, left)
            left -= count
            made += 1
    return made, DONE


@kernel(int64(TABLE, WORDS, TABLE, WORDS, TABLE, WORDS, int64, int64, TABLE, TABLE, TABLE, TABLE, WORDS))
def reduce_keys(  # type: ignore[no-untyped-def]
    rows, bounds, before, before_bounds, times, time_bounds, what, most, parts, frontier, made, later, state
):
    """For each key, from key state[KEY] on, the changes of its output: written behind state[MADE] rows of `made`
    (number of the key, output words, time, multiplicity); and the times that are not finished, behind state[LATER] rows
    of `later` (number of the key, time). Returns DONE, or why it stopped at key state[KEY].

    rows: all updates of the keys (values, time, multiplicity), those of key i at bounds[i]..bounds[i + 1]; before: the
    same of their output so far; times: (times, coordinates), at which each key is to be looked at, rising, those of key
    i at time_bounds[i]..; what: TOTALS or PARTS with `parts` (operation, column or part), EACH, or FIRST with `most`
    rows, the last where that is less than 0; frontier: (elements, coordinates).
    """
    depth = times.shape[1]
    values, outputs = len(rows) - depth - 1, len(before) - depth - 1
    for key in range(state[KEY], len(bounds) - 1):
        state[KEY] = key
        start, stop = bounds[key], bounds[key + 1]
        first, last = before_bounds[key], before_bounds[key + 1]
        count = time_bounds[key + 1] - time_bounds[key]
        some = np.empty((max(count, 4), depth), np.int64)
        some[:count] = times[time_bounds[key] : time_bounds[key + 1]]
        mine = rows[:, start:stop].copy()
        order = np.empty(stop - start, np.int64)
        sort_rows(mine, values, order)
        begun, put_off = state[MADE], state[LATER]
        number = 0
        while number < count:
            if _may_come(frontier, some[number]):
                if put_off == later.shape[1]:
                    state[MADE] = begun
                    return NO_ROOM
                later[0, put_off] = key
                for at in range(depth):
                    later[1 + at, put_off] = some[number, at]
                put_off += 1
                number += 1
                continue
            if depth > 1:
                some, count = _with_bounds(some, count, number, rows, start, stop, values)
                some, count = _with_bounds(some, count, number, before, first, last, outputs)
                for other in range(number):
                    bound = np.maximum(some[number], some[other])
                    if (bound != some[number]).any():
                        if count == len(some):
                            more = np.empty((2 * count, depth), np.int64)
                            more[:count] = some
                            some = more
                        count = _insert_time(some, count, bound)
            time = some[number]
            most_rows = 1 if what in (TOTALS, PARTS) else stop - start
            changes = np.empty((outputs + 1, most_rows + last - first + state[MADE] - begun), np.int64)
            if what == PARTS:
                there, wrong = _added_parts(mine, time, parts, changes)
            elif what == TOTALS:
                there, wrong = _totals(mine, order, 0, stop - start, values, time, parts, changes)
            else:
                there, wrong = _rows_there(mine, order, 0, stop - start, values, time, most, changes)
            if wrong != DONE:
                return wrong
            for row in range(first, last):
                if _is_before(before, row, outputs, time):
                    for column in range(outputs):
                        changes[column, there] = before[column, row]
                    changes[outputs, there] = -before[outputs + depth, row]
                    there += 1
            for row in range(begun, state[MADE]):
                if _is_before(made, row, 1 + outputs, time):
                    for column in range(outputs):
                        changes[column, there] = made[1 + column, row]
                    changes[outputs, there] = -made[1 + outputs + depth, row]
                    there += 1
            changes = changes[:, :there].copy()
            net = np.empty_like(changes)
            ranks = np.empty(there, np.int64)
            sort_rows(changes, outputs, ranks)
            there = add_up(changes, ranks, net, 0)
            if state[MADE] + there > made.shape[1]:
                state[MADE] = begun
                return NO_ROOM
            for row in range(there):
                at = state[MADE] + row
                made[0, at] = key
                for column in range(outputs):
                    made[1 + column, at] = net[column, row]
                for coordinate in range(depth):
                    made[1 + outputs + coordinate, at] = time[coordinate]
                made[1 + outputs + depth, at] = net[outputs, row]
            state[MADE] += there
            number += 1
        state[LATER] = put_off
    state[KEY] = len(bounds) - 1
    return DONE
