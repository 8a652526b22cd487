"""Numbers of words, or of pairs of them, and what was made of each: kernels of remembering, and its limits."""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, void

MOST_KEYS = 1 << 15
"""Different words, or pairs, that are remembered; then all are forgotten."""
LEAST_USES = 4
"""Of a word on average, for remembering to go on."""
ROWS_AT_ONCE = 1 << 14
"""That are numbered at once."""
CELLS = 1 << 17
"""At least twice MOST_KEYS and ROWS_AT_ONCE together."""


@kernel(int64(TABLE, COLUMN, COLUMN, int64, WORDS, WORDS))
def number_words(cells, first, second, known, slots, fresh):  # type: ignore[no-untyped-def]
    """Write to `slots` the number of each row's two words, and to `fresh` the rows whose words are new, which get the
    next numbers after `known`; returns how many. cells: (two words, their number + 1), 0 where there are none; at most
    half of them are taken afterwards. Unlike `Keys`, nothing leaves, grows or is more than words: so it is quicker.
    """
    mask, added = np.uint64(cells.shape[0] - 1), 0
    slot, before, before_second = np.int64(-1), np.int64(0), np.int64(0)
    for row in range(len(first)):
        one, other = first[row], second[row]
        if slot < 0 or one != before or other != before_second:
            mixed = np.uint64(one) * np.uint64(0x9E3779B97F4A7C15) ^ np.uint64(other) * np.uint64(0xC2B2AE3D27D4EB4F)
            at = (mixed ^ (mixed >> np.uint64(32)) ^ (mixed >> np.uint64(47))) & mask
            while True:
                slot = cells[at, 2] - 1
                if slot < 0:
                    slot = known + added
                    cells[at, 0], cells[at, 1], cells[at, 2] = one, other, slot + 1
                    fresh[added] = row
                    added += 1
                    break
                if cells[at, 0] == one and cells[at, 1] == other:
                    break
                at = (at + np.uint64(1)) & mask
            before, before_second = one, other
        slots[row] = slot
    return added


@kernel(void(TABLE, COLUMN, TABLE))
def look_up(made, slots, found):  # type: ignore[no-untyped-def]
    """Fill a column of `found`, int64 (columns, rows), with what stands in that column of `made`, int64 (slots,
    columns), for each row's slot.
    """
    for column in range(found.shape[0]):
        target = found[column]
        for row in range(len(slots)):
            target[row] = made[slots[row], column]
