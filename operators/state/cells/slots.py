"""Slots of tags: looked up, added and dropped, in whichever form they are."""

from tokenring.engine import COLUMN, WORDS, kernel, void
from tokenring.engine.compiled import Words, record_of, signed, unsigned
from tokenring.engine.raw import prefetch
from tokenring.operators.state.cells.dense import dense_of, dense_place, is_just_beyond, not_rehashed, rehash
from tokenring.operators.state.cells.free_list import give_place, take_place
from tokenring.operators.state.cells.probing import (
    AHEAD,
    FULL,
    FULL_OF,
    MARK,
    REHASHED_AT_ONCE,
    SETTLED_AT_ONCE,
    SLOT,
    CellCounts,
    close_gap,
    home_of,
    mark_of,
    put,
    settle,
)


@kernel
def _has_room(cells: Words, counts: CellCounts, tag: int, at: int) -> bool:
    """Whether there is room for a tag in the form in which its probe ended."""
    if counts.shrinks != 0:
        return False
    if at < 0:
        return True
    if counts.dense_room > 0 and is_just_beyond(counts, tag):
        counts.extends = 1
        return False
    full = FULL if counts.to_rehash == 0 else FULL + 1  # each that comes has more than one move
    return FULL_OF * (counts.live - counts.dense_live) < full * len(cells)


@kernel
def _enter(cells: Words, tags: Words, counts: CellCounts, tag: int, at: int, slot: int) -> None:
    tags[slot] = tag
    counts.live += 1
    counts.least_tag, counts.greatest_tag = min(counts.least_tag, tag), max(counts.greatest_tag, tag)
    if at < 0:
        counts.dense_live += 1
        dense_of(counts)[-1 - at] = slot + 1
        return
    cells[at] = signed(unsigned(mark_of(tag)) << MARK) | (slot + 1)
    if counts.half != 0:
        settle(cells, counts, SETTLED_AT_ONCE)
    elif counts.to_rehash != 0:
        rehash(cells, tags, counts, REHASHED_AT_ONCE)


@kernel
def new_slot(cells: Words, tags: Words, free: Words, counts: CellCounts, tag: int, at: int) -> int:
    """A slot for the tag whose probe ended at the free cell `at`, or, counted from -1 down, at its place in the dense
    form; -1 if there is no room. Other cells may move."""
    if (counts.free == 0 and counts.limit == len(tags)) or not _has_room(cells, counts, tag, at):
        return -1
    slot = take_place(free, counts)
    _enter(cells, tags, counts, tag, at, slot)
    return slot


@kernel
def slot_of(cells: Words, tags: Words, counts: CellCounts, key: int) -> int:
    """The slot of a tag that is the key itself, added if it is new; -1 if there is no room. Looks for no places to be
    used again: for keys that stay."""
    place = dense_place(counts, key)
    if place >= 0:
        at = -1 - place
        slot = signed(dense_of(counts)[place]) - 1
        if slot < 0 and counts.to_rehash != 0:
            slot = not_rehashed(cells, tags, counts, key)
        if slot >= 0:
            return slot
    else:
        mark, mask = mark_of(key), len(cells) - 1
        at = home_of(mark, cells, counts)
        while cells[at] != 0:
            slot = (cells[at] & SLOT) - 1
            if tags[slot] == key:
                return slot
            at = (at + 1) & mask
    if counts.limit == len(tags) or not _has_room(cells, counts, key, at):
        return -1
    slot = counts.limit
    counts.limit += 1
    _enter(cells, tags, counts, key, at, slot)
    return slot


@kernel
def drop_slot(cells: Words, tags: Words, free: Words, counts: CellCounts, slot: int) -> None:
    """Forget a taken slot, and close the gap in the probe sequence (no tombstones)."""
    place = dense_place(counts, tags[slot])
    give_place(free, counts, slot)
    counts.live -= 1
    if place >= 0 and dense_of(counts)[place] == slot + 1:
        counts.dense_live -= 1
        dense_of(counts)[place] = 0
        return
    mask = len(cells) - 1
    gap = home_of(mark_of(tags[slot]), cells, counts)
    while cells[gap] & SLOT != slot + 1:
        gap = (gap + 1) & mask
    close_gap(cells, counts, gap)


@kernel(void(WORDS, WORDS, WORDS, COLUMN))
def fill(cells: Words, meta: Words, tags: Words, slots: Words) -> None:
    """Enter slots that neither form has: into the dense one where they have a place there, else into settled cells."""
    counts = record_of(meta, CellCounts)
    mask, dense = len(cells) - 1, dense_of(counts)
    for first in range(0, len(slots), AHEAD):
        some = slots[first : first + AHEAD]
        for slot in some:
            prefetch(cells.ctypes.data + 8 * (mark_of(tags[slot]) & mask))
        for slot in some:
            place = dense_place(counts, tags[slot])
            if place >= 0:
                dense[place] = slot + 1
                counts.dense_live += 1
            else:
                mark = mark_of(tags[slot])
                put(cells, signed(unsigned(mark) << MARK) | (slot + 1), mark & mask, mask)
