"""Sets rehashed by and by: some pairs go to the new form with each block of rows; until all have, both are looked at.

The form that they leave stays as it is: what is new goes to the other, and so do flags that a pair gets, with those
that it had. So nobody needs to know how far it is; a pair that is in both is the same.
"""

from tokenring.engine import WORDS, boolean, int64, kernel, void
from tokenring.engine.compiled import Words, record_at, record_of, signed, unsigned
from tokenring.engine.raw import bytes_at, prefetch, words_at
from tokenring.operators.folds.sets.words import GONE, LEAVING, ValueSet
from tokenring.operators.state import AHEAD, FULL, FULL_OF, give_place, home_of, mark_of

REHASHED_A_ROW, SEEN_A_ROW = 2, 64
"""Pairs that move with each row, at most; places that are looked at for them. Most often all have moved once half as
many new ones have come, for which the other form has room."""


@kernel
def _place(cells: Words, row: ValueSet, tag: int) -> int:
    """The cell of a pair, or where it would be."""
    mask, at = len(cells) - 1, home_of(mark_of(tag), cells, row)
    while cells[at] != 0 and cells[at] >> row.flag_bits != tag:
        at = (at + 1) & mask
    return at


@kernel
def _tag_before(old: ValueSet, owner: int, value: int) -> int:
    """A pair in the form that pairs move from; less than 0 if it cannot be there."""
    part, bits = unsigned(value) - unsigned(old.value_base), unsigned(old.value_bits)
    if part >> bits != unsigned(0) or owner >= old.limit:
        return signed(-1)
    return signed(unsigned(owner) << bits | part)


@kernel
def _ask_for_pair(row: ValueSet, tag: int) -> None:
    """Have the place of a pair on its way from memory before it is looked at."""
    if row.dense_room > 0:
        prefetch(row.dense_at + tag)
    else:
        prefetch(row.cells + 8 * home_of(mark_of(tag), words_at(row.cells, row.cell_count), row))


@kernel
def ask_before(row: ValueSet, owner: int, value: int) -> None:
    """Have what `flags_before` looks at on its way from memory."""
    old = record_at(row.old, ValueSet)
    tag = _tag_before(old, owner, value)
    if tag >= 0:
        _ask_for_pair(old, tag)


@kernel
def flags_before(row: ValueSet, owner: int, value: int) -> int:
    """The flags of a pair in the form that pairs move from."""
    old = record_at(row.old, ValueSet)
    tag = _tag_before(old, owner, value)
    if tag < 0:
        return signed(0)
    if old.dense_room > 0:
        return signed(bytes_at(old.dense_at, old.dense_room)[tag]) if tag < old.dense_room else signed(0)
    cells = words_at(old.cells, old.cell_count)
    return cells[_place(cells, old, tag)] & ((1 << old.flag_bits) - 1)


@kernel
def _packed_anew(row: ValueSet, old: ValueSet, tag: int) -> int:
    """A pair of the form that pairs move from, as it is packed where they go."""
    owner, part = tag >> old.value_bits, tag & ((1 << old.value_bits) - 1)
    return owner << row.value_bits | (part + old.value_base - row.value_base)


@kernel
def _rehash(row: ValueSet, old: ValueSet, tag: int, flags: int) -> None:
    """Enter a pair of the form that pairs move from, unless its owner is gone."""
    if words_at(row.pairs, row.owners_room)[tag >> old.value_bits] < 0:
        return
    here = _packed_anew(row, old, tag)
    if row.dense_room > 0:
        dense = bytes_at(row.dense_at, row.dense_room)
        before = signed(dense[here])
        dense[here] = before | flags
    else:
        cells = words_at(row.cells, row.cell_count)
        at = _place(cells, row, here)
        before = cells[at]
        cells[at] = before | here << row.flag_bits | flags
    row.live += before == 0


@kernel
def _has_room(row: ValueSet) -> bool:
    """Whether another pair has room: a probe among cells that are all taken has no end."""
    return row.dense_room > 0 or FULL_OF * row.live < FULL * row.cell_count


@kernel
def rehash_some(row: ValueSet, rows: int) -> bool:
    """Move as many pairs as `rows` rows have to, while there is room; whether there are more."""
    old = record_at(row.old, ValueSet)
    moves, looks, at = REHASHED_A_ROW * rows, SEEN_A_ROW * rows, row.scan
    if old.dense_room == 0:
        cells, flag_bits = words_at(old.cells, old.cell_count), old.flag_bits
        end = len(cells)
        asked = at
        while at < end and moves > 0 and looks > 0 and _has_room(row):
            if at == asked:
                asked = min(end, at + AHEAD)
                for each in range(at, asked):
                    if cells[each] != 0:
                        _ask_for_pair(row, _packed_anew(row, old, cells[each] >> flag_bits))
            if cells[at] != 0:
                _rehash(row, old, cells[at] >> flag_bits, cells[at] & ((1 << flag_bits) - 1))
                moves -= 1
            at += 1
            looks -= 1
    else:
        dense, bits = bytes_at(old.dense_at, old.dense_room), old.value_bits
        end = min(old.limit << bits, old.dense_room)
        mask = (1 << bits) - 1
        while at < end and moves > 0 and looks > 0 and _has_room(row):
            if at & mask > row.last_part:
                at = (at | mask) + 1 + row.first_part
                looks -= 1
                continue
            if at & 7 == 0 and at + 8 <= end and words_at(old.dense_at + at, 1)[0] == 0:  # eight at once
                at += 8
                looks -= 1
                continue
            flags = signed(dense[at])
            if flags != 0:
                _rehash(row, old, at, flags)
                moves -= 1
            at += 1
            looks -= 1
    row.scan = at
    return at < end


@kernel(boolean(WORDS, int64))
def rehash_pairs(words: Words, rows: int) -> bool:
    """`rehash_some`, of the set that has these words."""
    return rehash_some(record_of(words, ValueSet), rows)


@kernel(void(WORDS))
def begin_to_leave(words: Words) -> None:
    """Pairs of owners that are gone do not move."""
    row = record_of(words, ValueSet)
    pairs = words_at(row.pairs, row.owners_room)
    for owner in range(row.limit):
        if pairs[owner] == GONE:
            pairs[owner] = LEAVING


@kernel(void(WORDS))
def free_owners(words: Words) -> None:
    """All pairs have moved: owners without any may be used again."""
    row = record_of(words, ValueSet)
    pairs, free = words_at(row.pairs, row.owners_room), words_at(row.free_owners, row.owners_room)
    for owner in range(row.limit):
        if pairs[owner] == LEAVING:
            pairs[owner] = 0
            give_place(free, row, owner)
