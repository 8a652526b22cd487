"""Updates as parts of totals: where a key's totals are counts and sums alone, it is kept as these, and has few rows."""

import numpy as np

from tokenring.engine import TABLE, int64, kernel
from tokenring.engine.compiled import Record, Words, records_of
from tokenring.operators.collections.updates.exact_sums import (
    FLOAT_PARTS,
    INTEGER_PARTS,
    SUM_FLOAT,
    TOO_OFTEN,
    parts_of,
    product,
)
from tokenring.operators.collections.updates.sorting import too_often
from tokenring.operators.collections.words import KindRow, is_null


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


def width_of(operation: int) -> int:
    """How many parts a sum has."""
    return 0 if operation == NO_SUM else FLOAT_PARTS if operation == SUM_FLOAT else INTEGER_PARTS


@kernel
def _put(updates: Words, row: int, keys: int, data: int, part: int, times: int, target: Words, made: int) -> int:
    """Write an update of a part, unless it changes nothing; how many there are then."""
    if times == 0:
        return made
    for column in range(keys):
        target[column, made] = updates[column, row]
    target[keys, made] = part
    for column in range(data, len(updates) - 1):
        target[keys + 1 + column - data, made] = updates[column, row]
    target[len(target) - 1, made] = times
    return made + 1


@kernel(int64(int64, int64))
def most_parts(rows: int, summed: int) -> int:
    """How many updates of parts so many rows can have."""
    return rows * (1 + (1 + _MOST_PARTS_A_WORD) * summed)


@kernel(int64(TABLE, int64, int64, TABLE, TABLE, TABLE))
def to_parts(updates: Words, keys: int, data: int, summed: Words, kinds: Words, target: Words) -> int:
    """Write updates of (key, part; times; as often as the part changes); returns how many. Part 0 counts rows.
    TOO_OFTEN for a part beyond 64 bits: the target's first row says when.

    keys, data: how many columns are the key, the first ones, and data at all; summed: (columns that are summed,
    SUMMED_WORDS), of a SummedColumn each; kinds: of the data; target: (keys + 1 + coordinates + 1, at least
    most_parts)."""
    made, last = 0, len(updates) - 1
    columns, kinds_of_data = records_of(summed, SummedColumn), records_of(kinds, KindRow)
    for row in range(updates.shape[1]):
        times = updates[last, row]
        made = _put(updates, row, keys, data, 0, times, target, made)
        for each in range(len(columns)):
            column = columns[each].column
            word = updates[column, row]
            if is_null(kinds_of_data, column, word):
                continue
            if columns[each].present_part >= 0:
                made = _put(updates, row, keys, data, columns[each].present_part, times, target, made)
            if columns[each].how != NO_SUM:
                first, low, middle, high = parts_of(columns[each].how, word)
                first += columns[each].first_part
                for part, more in ((0, low), (1, middle), (2, high)):
                    often, can_be = product(more, times)
                    if not can_be:
                        _put(updates, row, keys, data, first, 1, target, 0)
                        return TOO_OFTEN
                    made = _put(updates, row, keys, data, first + part, often, target, made)
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
            raise too_often(target[self.keys + 1 : -1, 0].tolist())
        return np.ascontiguousarray(target[:, :made])
