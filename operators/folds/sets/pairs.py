"""Which values slots have, as columns: read from whatever form a set has."""

import numpy as np

from tokenring.engine import COLUMN, WORDS, int64, kernel
from tokenring.engine.raw import bytes_at, words_at
from tokenring.operators.folds.sets.words import CELL_COUNT, CELLS, VALUE_BASE, VALUE_BITS
from tokenring.operators.state import DENSE_AT, DENSE_ROOM, FLAG_BITS


@kernel(int64(WORDS, COLUMN, COLUMN, int64, int64, WORDS, WORDS, WORDS))
def list_pairs(row, owners, order, first, last, which, values, flags):  # type: ignore[no-untyped-def]
    """Write the pairs of owners that are wanted, as far as there is room: where in `owners` each stands, its value and
    its flags. order: by owner that position, -1 of those that are not wanted; first, last: between what values, packed,
    are. Nothing may be on its way to another form. Returns how many there are."""
    found, bits = 0, row[VALUE_BITS]
    if row[DENSE_ROOM] > 0:
        dense = bytes_at(row[DENSE_AT], row[DENSE_ROOM])
        for i in range(len(owners)):
            for part in range(first, last + 1):
                tag = owners[i] << bits | part
                if tag < len(dense) and dense[tag] != 0:
                    if found < len(which):
                        which[found], values[found], flags[found] = i, part + row[VALUE_BASE], dense[tag]
                    found += 1
        return found
    cells, flag_bits = words_at(row[CELLS], row[CELL_COUNT]), row[FLAG_BITS]
    mask, flag_mask = (np.int64(1) << bits) - 1, (np.int64(1) << flag_bits) - 1
    for cell in cells:
        if cell == 0:
            continue
        tag = cell >> flag_bits
        owner = tag >> bits
        if owner < len(order) and order[owner] >= 0:
            if found < len(which):
                which[found], values[found] = order[owner], (tag & mask) + row[VALUE_BASE]
                flags[found] = cell & flag_mask
            found += 1
    return found
