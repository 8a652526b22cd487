"""Updates as parts of totals: a key of counts, sums and means alone is kept as these, and has few rows."""

import numpy as np

from tokenring.engine import TABLE, int64, kernel
from tokenring.engine.compiled import Record, Words, records_of, signed
from tokenring.operators.collections.updates.exact_sums import (
    FLOAT_PARTS,
    INTEGER_PARTS,
    TOO_OFTEN,
    added,
    can_be_said,
    parts_of,
    product,
)
from tokenring.operators.collections.updates.sorting import too_often
from tokenring.operators.collections.words import KindRow, is_null
from tokenring.operators.folds import SUM_FLOAT


class SummedColumn(Record):
    """A column that is summed: which one it is, `how` (NO_SUM: not at all), the part that its parts begin with, and the
    one that counts what is not null, -1 if nothing is."""

    column: int
    how: int
    first_part: int
    present_part: int


SUMMED_WORDS = SummedColumn.size
NO_SUM = -1
_MOST_PARTS_A_WORD = 3
_FEW = 1 << 10  # rows that are sorted sooner than it would pay to add them up before
_MOST_CELLS = 1 << 16
_TRIED = 1 << 13  # rows by which it is seen whether it does: of so many updates
_ADDED_UP = 8  # one at least is to be another's
_SPREAD = -7046029254386353131  # odd, of digits without a pattern: 2**64 over the golden ratio


def width_of(operation: int) -> int:
    """How many parts a sum has."""
    return 0 if operation == NO_SUM else FLOAT_PARTS if operation == SUM_FLOAT else INTEGER_PARTS


@kernel
def _home(updates: Words, row: int, keys: int, data: int) -> int:
    """A number of a row's key and time."""
    home = signed(0)
    for column in range(keys):
        home = (home ^ updates[column, row]) * _SPREAD
        home ^= home >> 29
    for column in range(data, len(updates) - 1):
        home = (home ^ updates[column, row]) * _SPREAD
        home ^= home >> 29
    return home


@kernel
def _is_of(target: Words, at: int, updates: Words, row: int, keys: int, data: int, part: int) -> bool:
    """Whether an update of parts is of the part of a row's key, at its time."""
    if target[keys, at] != part:
        return False
    for column in range(keys):
        if target[column, at] != updates[column, row]:
            return False
    for column in range(data, len(updates) - 1):
        if target[keys + 1 + column - data, at] != updates[column, row]:
            return False
    return True


@kernel
def _put(
    updates: Words, row: int, keys: int, data: int, part: int, times: int, target: Words, made: int, cells: Words,
    home: int,
) -> int:  # fmt: skip
    """Write an update of a part, unless it changes nothing; how many there are then. Of the same part and time it is
    added to the one that its cell says was written last: what is not found so is added up when all are sorted, which
    takes longer. cells: a power of two, -1 in each that is free; or none, and all are written. home: of the row."""
    if times == 0:
        return made
    last = len(target) - 1
    if len(cells) > 0:
        cell = (home + part) & (len(cells) - 1)
        at = cells[cell]
        if at >= 0 and _is_of(target, at, updates, row, keys, data, part):
            total, carry = added(target[last, at], times)
            if can_be_said(total, carry):
                target[last, at] = total
                return made
        cells[cell] = made
    for column in range(keys):
        target[column, made] = updates[column, row]
    target[keys, made] = part
    for column in range(data, len(updates) - 1):
        target[keys + 1 + column - data, made] = updates[column, row]
    target[last, made] = times
    return made + 1


@kernel
def _cells_for(rows: int) -> Words:
    """Room for where updates were written last; none for few rows."""
    size = 0 if rows < _FEW else _FEW
    while 0 < size < min(2 * rows, _MOST_CELLS):
        size *= 2
    return np.full(size, -1, np.int64)


@kernel(int64(int64, int64))
def most_parts(rows: int, summed: int) -> int:
    """How many updates of parts so many rows can have."""
    return rows * (1 + (1 + _MOST_PARTS_A_WORD) * summed)


@kernel(int64(TABLE, int64, int64, TABLE, TABLE, TABLE))
def to_parts(updates: Words, keys: int, data: int, summed: Words, kinds: Words, target: Words) -> int:
    """Write updates of (key, part; times; as often as the part changes), of many rows most of those of one part and
    time as one; returns how many. Part 0 counts rows. TOO_OFTEN for a part beyond 64 bits: the target's first row says
    when.

    keys, data: how many columns are the key, the first ones, and data at all; summed: (columns that are summed,
    SUMMED_WORDS), of a SummedColumn each; kinds: of the data; target: (keys + 1 + coordinates + 1, at least
    most_parts)."""
    made, last, rows = 0, len(updates) - 1, updates.shape[1]
    cells, home, put = _cells_for(rows), signed(0), 0
    columns, kinds_of_data = records_of(summed, SummedColumn), records_of(kinds, KindRow)
    for row in range(rows):
        times = updates[last, row]
        if row == _TRIED and _ADDED_UP * made > (_ADDED_UP - 1) * put:
            cells = cells[:0]
        if len(cells) > 0:
            home = _home(updates, row, keys, data)
        put += 1
        made = _put(updates, row, keys, data, 0, times, target, made, cells, home)
        for each in range(len(columns)):
            column = columns[each].column
            word = updates[column, row]
            if is_null(kinds_of_data, column, word):
                continue
            if columns[each].present_part >= 0:
                put += 1
                made = _put(
                    updates, row, keys, data, columns[each].present_part, times, target, made, cells, home
                )
            if columns[each].how != NO_SUM:
                first, low, middle, high = parts_of(columns[each].how, word)
                first += columns[each].first_part
                for part, more in ((0, low), (1, middle), (2, high)):
                    often, can_be = product(more, times)
                    if not can_be:
                        _put(updates, row, keys, data, first, 1, target, 0, cells[:0], home)
                        return TOO_OFTEN
                    put += often != 0
                    made = _put(updates, row, keys, data, first + part, often, target, made, cells, home)
    return made


class Parts:
    """Makes parts of updates. keys, data: how many columns are the key, and data; summed, kinds: as `to_parts` has
    them."""

    def __init__(self, keys: int, data: int, summed: np.ndarray, kinds: np.ndarray) -> None:
        self.keys, self.data, self.summed, self.kinds = keys, data, summed, kinds

    def __call__(self, updates: np.ndarray) -> np.ndarray:
        """The parts of these updates, int64 (key, part, coordinates, times; rows). MultiplicityOverflowError for one
        beyond 64 bits."""
        most = most_parts(updates.shape[1], len(self.summed))
        target = np.empty((self.keys + 1 + len(updates) - self.data, most), np.int64)
        made = to_parts(np.ascontiguousarray(updates), self.keys, self.data, self.summed, self.kinds, target)
        if made == TOO_OFTEN:
            raise too_often(target[self.keys + 1 : -1, 0].tolist(), is_summed=True)
        return np.ascontiguousarray(target[:, :made])
