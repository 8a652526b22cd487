"""The one row that a key has: what replaces it, and what it is after each time."""

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel
from tokenring.engine.compiled import Record, Words, record_of, signed
from tokenring.operators.collections.updates.sorting import precedes, sort_rows


class Replaced(Record):
    """The number of a key where something is wrong; how many rows were made."""

    key: int
    made: int


# What of a key's updates says that it has no row, and that it does not have one row at most.
NO_ROW, NOT_ONE = -1, -2


@kernel
def _only_row(rows: Words, start: int, stop: int, values: int) -> int:
    """The number of the row that is there of rows start..stop (values, time, multiplicity); NO_ROW, or NOT_ONE."""
    if stop - start == 1 and rows[len(rows) - 1, start] == 1:
        return start
    mine = rows[:, start:stop].copy()
    order = np.empty(stop - start, np.int64)
    sort_rows(mine, values, order)
    found, at = NO_ROW, 0
    while at < stop - start:
        first, count = order[at], signed(0)
        while at < stop - start and precedes(mine, order[at], mine, first, 0, values) == 0:
            count += mine[len(mine) - 1, order[at]]
            at += 1
        if count != 0:
            if count != 1 or found != NO_ROW:
                return NOT_ONE
            found = start + first
    return found


@kernel(int64(TABLE, int64, int64, TABLE, WORDS, TABLE))
def replace_rows(changes: Words, rows: int, keys: int, before: Words, bounds: Words, made: Words) -> int:
    """Write how the rows of keys change: the old one is taken away at the time at which the next one comes; how many
    updates that are.

    changes: the first `rows`, in order, of (key, time, number, whether the key has no row from then on, values, 1): the
    last of a time holds. before: updates of the different keys, those of key i at bounds[i].. (values, time,
    multiplicity). made: (key, values, time, multiplicity), with room for 2 * rows.
    """
    values = len(before) - 2
    first = keys + 3
    count, row, key = 0, 0, 0
    while row < rows:
        current = _only_row(before, bounds[key], bounds[key + 1], values)
        is_old, begun = current >= 0, row
        while row < rows and precedes(changes, row, changes, begun, 0, keys) == 0:
            holds = row + 1 == rows or precedes(changes, row, changes, row + 1, 0, keys + 1) != 0
            if holds:
                is_there = changes[keys + 2, row] == 0
                for times in (-1, 1):
                    if (times < 0 and current >= 0) or (times > 0 and is_there):
                        for column in range(keys):
                            made[column, count] = changes[column, row]
                        for column in range(values):
                            if times > 0:
                                made[keys + column, count] = changes[first + column, row]
                            elif is_old:
                                made[keys + column, count] = before[column, current]
                            else:
                                made[keys + column, count] = changes[first + column, current]
                        made[keys + values, count] = changes[keys, row]
                        made[keys + values + 1, count] = times
                        count += 1
                current, is_old = row if is_there else NO_ROW, False
            row += 1
        key += 1
    return count


@kernel(int64(TABLE, int64, int64, TABLE, WORDS, TABLE, WORDS))
def rows_after(changes: Words, rows: int, keys: int, before: Words, bounds: Words, made: Words, state: Words) -> int:
    """Write for each key and time the row that there is from then on: of (key, values, time, whether there is none)
    as many as the Replaced in `state` says then. NO_ROW if all is well; else the first update of `changes` behind which
    a key has several, or one that is taken away is not there: of the key whose number it says.

    changes: the first `rows`, in order, of (key, time, multiplicity, values, 1). before: as for `replace_rows`, what
    was there before. made: with room for all rows.
    """
    values = len(before) - 2
    first = keys + 2
    count, row, key = 0, 0, 0
    while row < rows:
        begun, current, is_old = row, _only_row(before, bounds[key], bounds[key + 1], values), True
        while row < rows and precedes(changes, row, changes, begun, 0, keys) == 0:
            taken, is_new = False, False
            time = row
            while row < rows and precedes(changes, row, changes, time, 0, keys + 1) == 0:
                is_same = False
                if changes[keys + 1, row] == -1 and current >= 0 and not taken:
                    is_same = True
                    for column in range(values):
                        old = before[column, current] if is_old else changes[first + column, current]
                        is_same &= changes[first + column, row] == old
                if is_same:
                    taken = True
                elif changes[keys + 1, row] == 1 and not is_new and (taken or current < 0):
                    is_new = True
                else:
                    record_of(state, Replaced).key = key
                    return row
                row += 1
            for column in range(keys):
                made[column, count] = changes[column, time]
            for column in range(values):
                made[keys + column, count] = changes[first + column, row - 1]
            made[keys + values, count] = changes[keys, time]
            made[keys + values + 1, count] = 0 if is_new else 1
            count += 1
            current, is_old = row - 1 if is_new else NO_ROW, False
        key += 1
    record_of(state, Replaced).made = count
    return NO_ROW
