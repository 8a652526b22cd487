"""What is left of a key's rows at each time at which that may have changed, and how it differs from before.

Differential dataflow's reduction (McSherry et al., CIDR 2013, section 4): at a time, a collection is the sum of all
updates at times less or equal. What a key's output is to be is worked out at each time at which updates came, and,
where times are partially ordered, at the least upper bounds of these with times of older updates, and of each other.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import TABLE, WORDS, int64, kernel, tuple_of
from tokenring.engine.compiled import Record, Words, record_at, record_of, records_of
from tokenring.operators.collections.updates.blocks import lent_table, lent_words
from tokenring.operators.collections.updates.called import TotalRule
from tokenring.operators.collections.updates.finding import distinct_keys, rows_of_keys
from tokenring.operators.collections.updates.folding import (
    DONE,
    NO_ROOM,
    is_before,
    room_of_totals,
    rows_there,
    totals_of_parts,
    totals_of_rows,
)
from tokenring.operators.collections.updates.frontiers import put_off, with_bounds, with_bounds_of_earlier
from tokenring.operators.collections.updates.parts import ALL, SpineState, columns_of
from tokenring.operators.collections.updates.sorting import add_up, consolidate, precedes, sort_rows
from tokenring.operators.collections.words import KindRow, by_value
from tokenring.operators.time import may_come

# What is made of the rows of a key: one row of totals; each row that is there, once; its first rows; one row of totals
# whose parts (see `to_parts`) are what is there.
TOTALS, EACH, FIRST, PARTS = range(4)


class Reduced(Record):
    """What a call leaves behind: the key it goes on with, the rows made, the times put off, the faults. Before it: the
    number of its first key, and whether all keys are told of as faults are, those that are as they may be, too."""

    first: int
    key: int
    made: int
    later: int
    faults: int
    tells_all: int


_REDUCED_WORDS = Reduced.size
_KEYS = 1 << 9  # whose rows are copied, and reduced, at once: a cache holds them


@kernel
def _take_back(
    table: Words, start: int, stop: int, first: int, outputs: int, time: Words, changes: Words, there: int
) -> int:
    """Write what was said up to a time, rows start..stop of a table with outputs from column `first` on, as taken away;
    how many changes there are then. A row that came and went stands there twice, mostly one after the other, and is
    left out at once: so few are left to be sorted, however many there were."""
    last = len(table) - 1
    for row in range(start, stop):
        if is_before(table, row, first + outputs, time):
            is_same = there > 0
            for column in range(outputs):
                is_same = is_same and changes[column, there - 1] == table[first + column, row]
            if is_same:
                changes[outputs, there - 1] -= table[last, row]
                there -= changes[outputs, there - 1] == 0
                continue
            for column in range(outputs):
                changes[column, there] = table[first + column, row]
            changes[outputs, there] = -table[last, row]
            there += 1
    return there


@kernel
def _added_up(changes: Words, there: int, outputs: int, net: Words) -> int:
    """Write the first changes in order and added up; how many are left."""
    if there <= 2:  # what is there and what was, most of the time: alike, or two changes
        order = -1 if there == 1 else precedes(changes, 0, changes, 1, 0, outputs)
        first, second = (0, 1) if order < 0 else (1, 0)
        for column in range(outputs + 1):
            net[column, 0], net[column, 1] = changes[column, first], changes[column, second]
        if order != 0:
            return there
        net[outputs, 0] += net[outputs, 1]
        return 1 if net[outputs, 0] != 0 else 0
    some, ranks = changes[:, :there].copy(), np.empty(there, np.int64)
    sort_rows(some, outputs, ranks)
    return add_up(some, ranks, net, 0)


@kernel
def _order_of_key(
    rows: Words, start: int, stop: int, values: int, what: int, is_downwards: bool, kinds: Sequence[KindRow],
    room: Words,
) -> tuple[Words, Words]:  # fmt: skip
    """The numbers of a key's rows in order of their words, of the first rows by value; in `room`, if that is enough."""
    count = stop - start
    if count > len(room):
        room = np.empty(2 * count, np.int64)
    order, is_in_order = room[:count], what != FIRST or count == 1
    for i in range(count):
        order[i] = start + i
        is_in_order &= i == 0 or precedes(rows, start + i - 1, rows, start + i, 0, values) <= 0
    if not is_in_order and what != PARTS:  # which are added up as they come
        mine = rows[:, start:stop].copy()
        sort_rows(by_value(mine, values, kinds, is_downwards) if what == FIRST else mine, values, order)
        for i in range(count):
            order[i] += start
    return order, room


@kernel
def _reduce_keys(
    rows: Words, bounds: Words, before: Words, before_bounds: Words, times: Words, time_bounds: Words, what: int,
    most: int, totals: Sequence[TotalRule], kinds: Sequence[KindRow], frontier: Words, made: Words, later: Words,
    faults: Words, state: Reduced, changes: Words, net: Words, some: Words, waiting: Words, bound: Words,
    order_room: Words, sums: Words,
) -> int:  # fmt: skip
    """`reduce_keys`, with room for what one key takes, most of the time: it grows."""
    depth = times.shape[1]
    values, outputs = len(rows) - depth - 1, len(before) - depth - 1
    for key in range(state.key, len(bounds) - 1):
        state.key = key
        start, stop = bounds[key], bounds[key + 1]
        first, last = before_bounds[key], before_bounds[key + 1]
        count = time_bounds[key + 1] - time_bounds[key]
        if count > len(some):
            some = np.empty((2 * count, depth), np.int64)
        asked, count, waits = count, 0, 0
        for at in range(time_bounds[key], time_bounds[key] + asked):
            if may_come(frontier, times[at]):
                waiting, waits = put_off(waiting, waits, times[at])
                continue
            for coordinate in range(depth):
                some[count, coordinate] = times[at, coordinate]
            count += 1
        order, order_room = _order_of_key(rows, start, stop, values, what, most < 0, kinds, order_room)
        begun, told = state.made, state.faults
        number = 0
        while number < count:
            if depth > 1:
                some, count, waiting, waits = with_bounds(
                    some, count, number, rows, start, stop, values, frontier, waiting, waits, bound
                )
                some, count, waiting, waits = with_bounds(
                    some, count, number, before, first, last, outputs, frontier, waiting, waits, bound
                )
                some, count, waiting, waits = with_bounds_of_earlier(
                    some, count, number, frontier, waiting, waits, bound
                )
            time = some[number]
            most_rows = 1 if what in (TOTALS, PARTS) else stop - start
            most_changes = most_rows + last - first + state.made - begun
            if most_changes > changes.shape[1]:
                changes = np.empty((outputs + 1, 2 * most_changes), np.int64)
                net = np.empty_like(changes)
            if what == PARTS:
                there, wrong = totals_of_parts(rows, start, stop, time, totals, changes, sums)
            elif what == TOTALS:
                there, wrong = totals_of_rows(rows, order, values, time, totals, kinds, changes, sums)
            else:
                there, wrong = rows_there(rows, order, values, time, most, changes)
            if wrong != DONE or state.tells_all != 0 or state.faults > told:
                if state.faults == faults.shape[1]:
                    state.made, state.faults = begun, told
                    return NO_ROOM
                faults[0, state.faults] = state.first + key
                for at in range(depth):
                    faults[1 + at, state.faults] = time[at]
                faults[1 + depth, state.faults] = wrong
                state.faults += 1
            if wrong != DONE:
                there = 0
            there = _take_back(before, first, last, 0, outputs, time, changes, there)
            there = _take_back(made, begun, state.made, 1, outputs, time, changes, there)
            there = _added_up(changes, there, outputs, net) if there > 0 else 0
            if state.made + there > made.shape[1]:
                state.made, state.faults = begun, told
                return NO_ROOM
            for row in range(there):
                at = state.made + row
                made[0, at] = state.first + key
                for column in range(outputs):
                    made[1 + column, at] = net[column, row]
                for coordinate in range(depth):
                    made[1 + outputs + coordinate, at] = time[coordinate]
                made[1 + outputs + depth, at] = net[outputs, row]
            state.made += there
            number += 1
        if state.later + waits > later.shape[1]:
            state.made, state.faults = begun, told
            return NO_ROOM
        for at in range(waits):
            later[0, state.later] = state.first + key
            for coordinate in range(depth):
                later[1 + coordinate, state.later] = waiting[at, coordinate]
            state.later += 1
    state.key = len(bounds) - 1
    return DONE


@kernel(int64(TABLE, WORDS, TABLE, WORDS, TABLE, WORDS, int64, int64, TABLE, TABLE, TABLE, TABLE, TABLE, TABLE, WORDS))
def reduce_keys(
    rows: Words, bounds: Words, before: Words, before_bounds: Words, times: Words, time_bounds: Words, what: int,
    most: int, totals: Words, kinds: Words, frontier: Words, made: Words, later: Words, faults: Words, state: Words,
) -> int:  # fmt: skip
    """For each key, from that of the Reduced in `state` on, the changes of its output: written behind as many rows of
    `made` as it says (number of the key, output words, time, multiplicity); the times that are not finished, behind
    those of `later` (number of the key, time); and where its rows are not as they may be, and so nothing is made of
    them, behind those of `faults` (number of the key, time, what is wrong), and where the key is looked at after that,
    DONE or not; with `tells_all` everywhere.
    Returns DONE, or NO_ROOM if it stopped at that key.

    rows: all updates of the keys (values, time, multiplicity), those of key i at bounds[i]..bounds[i + 1]; before: the
    same of their output so far; times: (times, coordinates), at which each key is to be looked at, rising, those of key
    i at time_bounds[i]..; what: TOTALS or PARTS with `totals`, (totals, TOTAL_WORDS), EACH, or FIRST with `most` rows,
    the last where that is less than 0; kinds: of the values, as `kinds_table` has them; frontier: (elements,
    coordinates).
    """
    depth, outputs = times.shape[1], len(before) - times.shape[1] - 1
    changes, net = np.empty((outputs + 1, 16), np.int64), np.empty((outputs + 1, 16), np.int64)
    some, waiting, bound = np.empty((4, depth), np.int64), np.empty((4, depth), np.int64), np.empty(depth, np.int64)
    order = np.empty(16, np.int64)
    sums = np.empty(room_of_totals(records_of(totals, TotalRule)), np.int64)
    status = _reduce_keys(
        lent_table(rows), lent_words(bounds), lent_table(before), lent_words(before_bounds), lent_table(times),
        lent_words(time_bounds), what, most, records_of(totals, TotalRule), records_of(kinds, KindRow),
        lent_table(frontier), lent_table(made), lent_table(later), lent_table(faults), record_of(state, Reduced),
        lent_table(changes), lent_table(net), lent_table(some), lent_table(waiting), lent_words(bound),
        lent_words(order), lent_words(sums),
    )  # fmt: skip
    kept = len(changes) + len(net) + len(some) + len(waiting)  # they are there until here
    kept += len(bound) + len(order) + len(sums)
    return status if kept >= 0 else kept


@kernel
def _with_keys(asked: Words, rows: Words, target: Words) -> None:
    """Write rows that begin with the number of a key, that key in its place."""
    keys = len(asked)
    for row in range(target.shape[1]):
        for column in range(keys):
            target[column, row] = asked[column, rows[0, row]]
        for column in range(1, len(rows)):
            target[keys + column - 1, row] = rows[column, row]


@kernel(tuple_of(TABLE, 3)(int64, int64, int64, int64, TABLE, int64, int64, TABLE, TABLE, TABLE, int64))
def change_keys(
    source: int, least: int, target: int, keys: int, asked_at: Words, what: int, most: int, totals: Words, kinds: Words,
    frontier: Words, tells_all: int,
) -> tuple[Words, Words, Words]:  # fmt: skip
    """How the output of keys changes, the rows of the spine `target`, by what the spine `source` has now (the
    addresses of their states), as `reduce_keys` finds it: updates
    (keys, values, time, multiplicity), the times that are not finished (keys, time, 1), and what is wrong where (keys,
    time, DONE or why). asked_at: these keys and times, in any order, the same; least: as `rows_of_keys` has it.
    """
    depth = len(asked_at) - keys - 1
    table = np.empty_like(asked_at)
    rows = consolidate(asked_at, table)
    asked, time_bounds = np.empty((keys, rows), np.int64), np.empty(rows + 1, np.int64)
    number = distinct_keys(table, rows, keys, asked, time_bounds)
    times = np.empty((rows, depth), np.int64)
    for row in range(rows):
        for at in range(depth):
            times[row, at] = table[keys + at, row]
    outputs = columns_of(record_at(target, SpineState)) - keys
    made, later = np.empty((1 + outputs, 2 * rows + 16), np.int64), np.empty((1 + depth, rows + 16), np.int64)
    faults, state = np.empty((2 + depth, 1 + rows * tells_all), np.int64), np.zeros(_REDUCED_WORDS, np.int64)
    reduced = record_of(state, Reduced)
    reduced.tells_all = tells_all
    while reduced.first < number:
        stop = min(reduced.first + _KEYS, number)
        some = asked if number <= _KEYS else asked[:, reduced.first : stop].copy()
        count = stop - reduced.first
        here, bounds = rows_of_keys(source, least, ALL, keys, some, count)
        before, before_bounds = rows_of_keys(target, 0, ALL, keys, some, count)
        reduced.key = 0
        while (
            reduce_keys(
                here, bounds, before, before_bounds, times, time_bounds[reduced.first : stop + 1], what, most, totals,
                kinds, frontier, made, later, faults, state,
            )
            == NO_ROOM
        ):
            more = np.empty((len(made), 2 * made.shape[1]), np.int64)
            more_later = np.empty((1 + depth, 2 * later.shape[1]), np.int64)
            more_faults = np.empty((2 + depth, 2 * faults.shape[1]), np.int64)
            more[:, : made.shape[1]], more_later[:, : later.shape[1]] = made, later
            more_faults[:, : faults.shape[1]] = faults
            made, later, faults = more, more_later, more_faults
        reduced.first = stop
    changes = np.empty((keys + outputs, reduced.made), np.int64)
    put_off = np.empty((keys + depth + 1, reduced.later), np.int64)
    wrong = np.empty((keys + depth + 1, reduced.faults), np.int64)
    _with_keys(asked, made, changes)
    _with_keys(asked, later, put_off[: keys + depth])
    put_off[keys + depth] = 1
    _with_keys(asked, faults, wrong)
    return changes, put_off, wrong
