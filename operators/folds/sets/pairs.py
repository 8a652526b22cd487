"""Which values slots have, as columns: read from whatever form a set has."""

import numpy as np

from tokenring.engine import COLUMN, WORDS, int64, kernel
from tokenring.engine.compiled import Words, record_of
from tokenring.engine.raw import bytes_at, words_at
from tokenring.operators.folds.sets.words import ValueSet


@kernel(int64(WORDS, COLUMN, COLUMN, int64, int64, WORDS, WORDS, WORDS))
def list_pairs(
    words: Words, owners: Words, order: Words, first: int, last: int, which: Words, values: Words, flags: Words
) -> int:
    """Write the pairs of owners that are wanted, as far as there is room: where in `owners` each stands, its value and
    its flags. order: by owner that position, -1 of those that are not wanted; first, last: between what values, packed,
    are. Nothing may be on its way to another form. Returns how many there are."""
    row = record_of(words, ValueSet)
    found, bits = 0, row.value_bits
    if row.dense_room > 0:
        dense = bytes_at(row.dense_at, row.dense_room)
        for i in range(len(owners)):
            for part in range(first, last + 1):
                tag = owners[i] << bits | part
                if tag < len(dense) and dense[tag] != 0:
                    if found < len(which):
                        which[found], values[found], flags[found] = i, part + row.value_base, dense[tag]
                    found += 1
        return found
    cells, flag_bits = words_at(row.cells, row.cell_count), row.flag_bits
    mask, flag_mask = (np.int64(1) << bits) - 1, (np.int64(1) << flag_bits) - 1
    for cell in cells:
        if cell == 0:
            continue
        tag = cell >> flag_bits
        owner = tag >> bits
        if owner < len(order) and order[owner] >= 0:
            if found < len(which):
                which[found], values[found] = order[owner], (tag & mask) + row.value_base
                flags[found] = cell & flag_mask
            found += 1
    return found
