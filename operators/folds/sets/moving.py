"""Pairs move from one form to another, some with each block of rows; until all have, both are looked at.

The form that they leave stays as it is: what is new goes to the other, and so do flags that a pair gets, with those
that it had. So nobody needs to know how far it is; a pair that is in both is the same.
"""

import numpy as np

from tokenring.engine import WORDS, boolean, int64, kernel, void
from tokenring.engine.raw import bytes_at, words_at
from tokenring.operators.folds.sets.words import (
    CELL_COUNT,
    CELLS,
    FIRST_PART,
    FREE_OWNERS,
    GONE,
    LAST_PART,
    LEAVING,
    OLD,
    OWNERS_ROOM,
    PAIRS,
    SCAN,
    SET_WORDS,
    VALUE_BASE,
    VALUE_BITS,
)
from tokenring.operators.state import DENSE_AT, DENSE_ROOM, FLAG_BITS, LIMIT, LIVE, first_homes, give_place, mark_of

MOVED_A_ROW, SEEN_A_ROW = 4, 64
"""Pairs that move with each row, at most; places that are looked at for them."""


@kernel
def _place(cells, row, tag):  # type: ignore[no-untyped-def]
    """The cell of a pair, or where it would be."""
    mask, mark = len(cells) - 1, mark_of(tag)
    half, split = first_homes(cells, row)
    low = mark & half
    at = low if low >= split else mark & mask
    while cells[at] != 0 and cells[at] >> row[FLAG_BITS] != tag:
        at = (at + 1) & mask
    return at


@kernel
def flags_before(row, owner, value):  # type: ignore[no-untyped-def]
    """The flags of a pair in the form that pairs move from."""
    old = words_at(row[OLD], SET_WORDS)
    part, bits = np.uint64(value) - np.uint64(old[VALUE_BASE]), np.uint64(old[VALUE_BITS])
    if part >> bits != np.uint64(0) or owner >= old[LIMIT]:
        return np.int64(0)
    tag = np.int64(np.uint64(owner) << bits | part)
    if old[DENSE_ROOM] > 0:
        return np.int64(bytes_at(old[DENSE_AT], old[DENSE_ROOM])[tag]) if tag < old[DENSE_ROOM] else np.int64(0)
    cells = words_at(old[CELLS], old[CELL_COUNT])
    return cells[_place(cells, old, tag)] & ((1 << old[FLAG_BITS]) - 1)


@kernel
def _move(row, old, tag, flags):  # type: ignore[no-untyped-def]
    """Enter a pair of the form that pairs move from, unless its owner is gone."""
    owner, part = tag >> old[VALUE_BITS], tag & ((1 << old[VALUE_BITS]) - 1)
    if words_at(row[PAIRS], row[OWNERS_ROOM])[owner] < 0:
        return
    here = owner << row[VALUE_BITS] | (part + old[VALUE_BASE] - row[VALUE_BASE])
    if row[DENSE_ROOM] > 0:
        dense = bytes_at(row[DENSE_AT], row[DENSE_ROOM])
        before = np.int64(dense[here])
        dense[here] = before | flags
    else:
        cells = words_at(row[CELLS], row[CELL_COUNT])
        at = _place(cells, row, here)
        before = cells[at]
        cells[at] = before | here << row[FLAG_BITS] | flags
    row[LIVE] += before == 0


@kernel(boolean(WORDS, int64))
def move_some(row, rows):  # type: ignore[no-untyped-def]
    """Move as many pairs as `rows` rows have to; whether there are more."""
    old = words_at(row[OLD], SET_WORDS)
    moves, looks, at = MOVED_A_ROW * rows, SEEN_A_ROW * rows, row[SCAN]
    if old[DENSE_ROOM] == 0:
        cells, flag_bits = words_at(old[CELLS], old[CELL_COUNT]), old[FLAG_BITS]
        end = len(cells)
        while at < end and moves > 0 and looks > 0:
            if cells[at] != 0:
                _move(row, old, cells[at] >> flag_bits, cells[at] & ((1 << flag_bits) - 1))
                moves -= 1
            at += 1
            looks -= 1
    else:
        dense, bits = bytes_at(old[DENSE_AT], old[DENSE_ROOM]), old[VALUE_BITS]
        end = min(old[LIMIT] << bits, old[DENSE_ROOM])
        mask = (1 << bits) - 1
        while at < end and moves > 0 and looks > 0:
            if at & mask > row[LAST_PART]:
                at = (at | mask) + 1 + row[FIRST_PART]
                looks -= 1
                continue
            if at & 7 == 0 and at + 8 <= end and words_at(old[DENSE_AT] + at, 1)[0] == 0:  # eight at once
                at += 8
                looks -= 1
                continue
            flags = np.int64(dense[at])
            if flags != 0:
                _move(row, old, at, flags)
                moves -= 1
            at += 1
            looks -= 1
    row[SCAN] = at
    return at < end


@kernel(void(WORDS))
def begin_to_leave(row):  # type: ignore[no-untyped-def]
    """Pairs of owners that are gone do not move."""
    pairs = words_at(row[PAIRS], row[OWNERS_ROOM])
    for owner in range(row[LIMIT]):
        if pairs[owner] == GONE:
            pairs[owner] = LEAVING


@kernel(void(WORDS))
def free_owners(row):  # type: ignore[no-untyped-def]
    """All pairs have moved: owners without any may be used again."""
    pairs, free = words_at(row[PAIRS], row[OWNERS_ROOM]), words_at(row[FREE_OWNERS], row[OWNERS_ROOM])
    for owner in range(row[LIMIT]):
        if pairs[owner] == LEAVING:
            pairs[owner] = 0
            give_place(free, row, owner)
