"""Numbers of words, or of pairs of them, and what was made of each: kernels of remembering, and its limits."""


from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, void
from tokenring.engine.compiled import Words, signed, unsigned

MOST_KEYS = 1 << 15
"""Different words, or pairs, that are remembered; then all are forgotten."""
LEAST_USES = 4
"""Of a word on average, for remembering to go on."""
ROWS_AT_ONCE = 1 << 14
"""That are numbered at once."""
CELLS = 1 << 17
"""At least twice MOST_KEYS and ROWS_AT_ONCE together."""


@kernel(int64(TABLE, COLUMN, COLUMN, int64, WORDS, WORDS))
def number_words(cells: Words, first: Words, second: Words, known: int, slots: Words, fresh: Words) -> int:
    """Write to `slots` the number of each row's two words, and to `fresh` the rows whose words are new, which get the
    next numbers after `known`; returns how many. cells: (two words, their number + 1), 0 where there are none; at most
    half of them are taken afterwards. Unlike `Keys`, nothing leaves, grows or is more than words: so it is quicker.
    """
    mask, added = unsigned(cells.shape[0] - 1), 0
    slot, before, before_second = signed(-1), signed(0), signed(0)
    for row in range(len(first)):
        one, other = first[row], second[row]
        if slot < 0 or one != before or other != before_second:
            mixed = unsigned(one) * unsigned(0x9E3779B97F4A7C15) ^ unsigned(other) * unsigned(0xC2B2AE3D27D4EB4F)
            at = (mixed ^ (mixed >> unsigned(32)) ^ (mixed >> unsigned(47))) & mask
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
                at = (at + unsigned(1)) & mask
            before, before_second = one, other
        slots[row] = slot
    return added


@kernel(void(TABLE, COLUMN, TABLE))
def look_up(made: Words, slots: Words, found: Words) -> None:
    """Fill a column of `found`, int64 (columns, rows), with what stands in that column of `made`, int64 (slots,
    columns), for each row's slot.
    """
    for column in range(found.shape[0]):
        target = found[column]
        for row in range(len(slots)):
            target[row] = made[slots[row], column]
