"""Updates in order: by their words, those of one row and time added up.

Updates are an int64 table of shape (columns, rows): data words first, keys before values, then the coordinates of the
time, the multiplicity last. They are in order when rows rise by their words, column after column, the last one left
out; they are consolidated when, besides, no two rows have all of these alike and no multiplicity is 0.
"""

from collections.abc import Sequence
from typing import NamedTuple, Self

import numpy as np

from tokenring.engine import TABLE, WORDS, MultiplicityOverflowError, int64, kernel, void
from tokenring.engine.compiled import Words, signed, unsigned
from tokenring.operators.collections.updates.exact_sums import TOO_OFTEN, added, can_be_said

_FEW = 24  # rows that are sorted by inserting each
_DIGIT_BITS = 8
_DIGITS = 1 << _DIGIT_BITS
_PART_ROWS = 1 << 12  # of a large table that are sorted at once
LARGE = 2 * _PART_ROWS
_MOST_BITS = 12  # of the first column by which it is dealt: more parts than that are not written to side by side


@kernel
def precedes(table: Words, row: int, other_table: Words, other: int, first: int, last: int) -> int:
    """Below 0, 0 or above: how a row compares with a row of another table, in columns first..last."""
    for column in range(first, last):
        mine, theirs = table[column, row], other_table[column, other]
        if mine != theirs:
            return -1 if mine < theirs else 1
    return 0


@kernel
def _insert_each(table: Words, order: Words, start: int, stop: int, first: int, last: int) -> None:
    for i in range(start + 1, stop):
        row, at = order[i], i
        while at > start and precedes(table, row, table, order[at - 1], first, last) < 0:
            order[at] = order[at - 1]
            at -= 1
        order[at] = row


@kernel
def _sort_by_digits(column: Words, order: Words, start: int, stop: int, words: Words, places: Words) -> None:
    """Sort order[start:stop] by the column's words, those that are alike as they were: from the least digit that is not
    the same in all words to the greatest. words, places: scratch of shape (2, at least stop - start)."""
    count = stop - start
    counts = np.zeros(_DIGITS + 1, np.int64)
    differs, first = signed(0), column[order[start]]
    for i in range(count):
        place = order[start + i]
        words[0, i], places[0, i] = column[place] ^ (signed(1) << 63), place
        differs |= column[place] ^ first
    origin = 0
    for shift in range(0, 64, _DIGIT_BITS):
        if (differs >> shift) & (_DIGITS - 1) == 0:
            continue
        counts[:] = 0
        for i in range(count):
            counts[((words[origin, i] >> shift) & (_DIGITS - 1)) + 1] += 1
        for digit in range(_DIGITS):
            counts[digit + 1] += counts[digit]
        target = 1 - origin
        for i in range(count):
            digit = (words[origin, i] >> shift) & (_DIGITS - 1)
            at = counts[digit]
            counts[digit] += 1
            words[target, at], places[target, at] = words[origin, i], places[origin, i]
        origin = target
    for i in range(count):
        order[start + i] = places[origin, i]


@kernel(void(TABLE, int64, WORDS))
def sort_rows(table: Words, last: int, order: Words) -> None:
    """Order the numbers of a table's rows by columns 0..last, rows that are alike as they are. order: (rows,), written.
    """
    rows = len(order)
    for row in range(rows):
        order[row] = row
    row = 1
    while row < rows and precedes(table, row - 1, table, row, 0, last) <= 0:
        row += 1
    if row >= rows:
        return
    if rows <= _FEW:
        _insert_each(table, order, 0, rows, 0, last)
        return
    words, places = np.empty((2, rows), np.int64), np.empty((2, rows), np.int64)
    begins = np.zeros(rows, np.bool_)  # a run of rows that are alike in the columns before
    begins[0] = True
    for column in range(last):
        longest, start = 0, 0
        while start < rows:
            stop = start + 1
            while stop < rows and not begins[stop]:
                stop += 1
            if stop - start > _FEW:
                _sort_by_digits(table[column], order, start, stop, words, places)
                longest = stop - start
            elif stop - start > 1:
                _insert_each(table, order, start, stop, column, last)
                for i in range(start + 1, stop):  # in order by all columns: nothing is left to do in it
                    begins[i] = True
            for i in range(start + 1, stop):
                if table[column, order[i]] != table[column, order[i - 1]]:
                    begins[i] = True
            start = stop
        if longest == 0:
            return


@kernel
def add_up(table: Words, order: Words, target: Words, made: int) -> int:
    """Write a table's rows in this order, those that are alike but for the multiplicity as one, none with 0, from row
    `made` of the target on; returns where they end, or TOO_OFTEN: then the target's first row is the one that would be.
    target: as many columns as the table, room for all rows."""
    last, i = len(table) - 1, 0
    while i < len(order):
        first = order[i]
        total, carries = table[last, first], signed(0)
        i += 1
        while i < len(order) and precedes(table, order[i], table, first, 0, last) == 0:
            total, carry = added(total, table[last, order[i]])
            carries += carry
            i += 1
        if not can_be_said(total, carries):
            for column in range(last):
                target[column, 0] = table[column, first]
            return TOO_OFTEN
        if total != 0:
            for column in range(last):
                target[column, made] = table[column, first]
            target[last, made] = total
            made += 1
    return made


@kernel
def _deal(table: Words, rows: int, target: Words, bounds: Words, bits: int) -> None:
    """Copy the first rows of a table in the order of the first `bits` bits in which words of the first column differ
    from its least, those that are alike as they are. bounds: (1 + 2 ** bits,), where the rows of each value begin, and
    end."""
    column = table[0][:rows]
    least, most = column.min(), column.max()
    spread, shift = unsigned(most) - unsigned(least), unsigned(0)
    while (spread >> shift) >> unsigned(bits) != 0:
        shift += unsigned(1)
    bounds[:] = 0
    for row in range(rows):
        bounds[signed((unsigned(column[row]) - unsigned(least)) >> shift) + 1] += 1
    for value in range(1, len(bounds)):
        bounds[value] += bounds[value - 1]
    for row in range(rows):
        value = signed((unsigned(column[row]) - unsigned(least)) >> shift)
        at = bounds[value]
        bounds[value] += 1
        for other in range(len(table)):
            target[other, at] = table[other, row]
    for value in range(len(bounds) - 1, 0, -1):
        bounds[value] = bounds[value - 1]
    bounds[0] = 0


@kernel
def deal(table: Words, rows: int, target: Words) -> Words:
    """Copy the first rows of a table to parts that a cache holds, in order of each other: where each begins, and all
    end. target: int64 (columns, rows)."""
    bits = 0
    while bits < _MOST_BITS and rows >> bits > _PART_ROWS:
        bits += 1
    bounds = np.zeros(1 + (1 << bits), np.int64)
    _deal(table, rows, target, bounds, bits)
    return bounds


@kernel
def consolidate_behind(table: Words, target: Words, made: int) -> int:
    """Write a table's updates in order and added up, from row `made` of a target with room for them on; where they
    end, or TOO_OFTEN, as `add_up` has it."""
    order = np.empty(table.shape[1], np.int64)
    sort_rows(table, len(table) - 1, order)
    return add_up(table, order, target, made)


@kernel
def consolidate_dealt(dealt: Words, bounds: Words, target: Words) -> int:
    """Write dealt updates in order and added up; returns how many, or TOO_OFTEN, as `add_up` has it."""
    made = 0
    for part in range(len(bounds) - 1):
        if bounds[part + 1] > bounds[part] and made != TOO_OFTEN:
            made = consolidate_behind(dealt[:, bounds[part] : bounds[part + 1]].copy(), target, made)
    return made


@kernel(int64(TABLE, TABLE))
def consolidate(table: Words, target: Words) -> int:
    """Write the updates in order and added up; returns how many, or TOO_OFTEN, as `add_up` has it. target: as many
    columns, room for all rows."""
    rows = table.shape[1]
    if rows < LARGE:
        return consolidate_behind(table, target, 0)
    dealt = np.empty_like(table)
    bounds = deal(table, rows, dealt)
    return consolidate_dealt(dealt, bounds, target)


def too_often(time: Sequence[int], is_summed: bool = False) -> MultiplicityOverflowError:
    """The error for a row that would be there too often, or, where rows are summed, for a key's, at a time."""
    at = f"at {time[0] if len(time) == 1 else tuple(time)} " if len(time) else ""
    what = "a row would be there, or be taken away, more often than 2**63 - 1 times"
    if is_summed:
        what = "a key has rows too often: they are counted 2**63 - 1 times, summed 2**30, more where numbers are small"
    return MultiplicityOverflowError(
        f"{at}{what}; add rows fewer times, and where there are so many, let a column say how many each stands for"
    )


class Sealed(NamedTuple):
    """A batch that changes no more: the first `rows` of an int64 table (columns, at least rows), consolidated."""

    table: np.ndarray
    rows: int

    @classmethod
    def of(cls, table: np.ndarray, depth: int = 1) -> Self:
        """The updates of a table, in order and added up, in memory of their own. depth: how many coordinates times
        have. MultiplicityOverflowError for a row that would be there too often."""
        target = np.empty_like(table)
        rows = int(consolidate(table, target))
        if rows == TOO_OFTEN:
            raise too_often(target[-1 - depth : -1, 0].tolist())
        return cls(target, rows)

    @property
    def words(self) -> np.ndarray:
        """The updates, as an int64 array (columns, rows)."""
        return self.table[:, : self.rows]
