"""Slots of tags: looked up, added and dropped, in whichever form they are."""

import numpy as np

from tokenring.engine import COLUMN, WORDS, kernel, void
from tokenring.operators.state.cells.dense import dense_of, dense_place, is_just_beyond, move, not_moved
from tokenring.operators.state.cells.free_list import FREE, LIMIT, give_place, take_place
from tokenring.operators.state.cells.probing import (
    DENSE_LIVE,
    DENSE_ROOM,
    EXTENDS,
    FULL,
    FULL_OF,
    GREATEST_TAG,
    HALF,
    LEAST_TAG,
    LIVE,
    MARK,
    MOVED_AT_ONCE,
    MOVING,
    SETTLED_AT_ONCE,
    SHRINKS,
    SLOT,
    close_gap,
    home_of,
    mark_of,
    put,
    settle,
)


@kernel
def _has_room(cells, meta, tag, at):  # type: ignore[no-untyped-def]
    """Whether there is room for a tag in the form in which its probe ended."""
    if meta[SHRINKS] != 0:
        return False
    if at < 0:
        return True
    if meta[DENSE_ROOM] > 0 and is_just_beyond(meta, tag):
        meta[EXTENDS] = 1
        return False
    full = FULL if meta[MOVING] == 0 else FULL + 1  # each that comes has more than one move
    return FULL_OF * (meta[LIVE] - meta[DENSE_LIVE]) < full * len(cells)


@kernel
def _enter(cells, tags, meta, tag, at, slot):  # type: ignore[no-untyped-def]
    tags[slot] = tag
    meta[LIVE] += 1
    meta[LEAST_TAG], meta[GREATEST_TAG] = min(meta[LEAST_TAG], tag), max(meta[GREATEST_TAG], tag)
    if at < 0:
        meta[DENSE_LIVE] += 1
        dense_of(meta)[-1 - at] = slot + 1
        return
    cells[at] = np.int64(np.uint64(mark_of(tag)) << MARK) | (slot + 1)
    if meta[HALF] != 0:
        settle(cells, meta, SETTLED_AT_ONCE)
    elif meta[MOVING] != 0:
        move(cells, tags, meta, MOVED_AT_ONCE)


@kernel
def new_slot(cells, tags, free, meta, tag, at):  # type: ignore[no-untyped-def]
    """A slot for the tag whose probe ended at the free cell `at`, or, counted from -1 down, at its place in the dense
    form; -1 if there is no room. Other cells may move."""
    if (meta[FREE] == 0 and meta[LIMIT] == len(tags)) or not _has_room(cells, meta, tag, at):
        return -1
    slot = take_place(free, meta)
    _enter(cells, tags, meta, tag, at, slot)
    return slot


@kernel
def slot_of(cells, tags, meta, key):  # type: ignore[no-untyped-def]
    """The slot of a tag that is the key itself, added if it is new; -1 if there is no room. Looks for no places to be
    used again: for keys that stay."""
    place = dense_place(meta, key)
    if place >= 0:
        at = -1 - place
        slot = np.int64(dense_of(meta)[place]) - 1
        if slot < 0 and meta[MOVING] != 0:
            slot = not_moved(cells, tags, meta, key)
        if slot >= 0:
            return slot
    else:
        mark, mask = mark_of(key), len(cells) - 1
        at = home_of(mark, cells, meta)
        while cells[at] != 0:
            slot = (cells[at] & SLOT) - 1
            if tags[slot] == key:
                return slot
            at = (at + 1) & mask
    if meta[LIMIT] == len(tags) or not _has_room(cells, meta, key, at):
        return -1
    slot = meta[LIMIT]
    meta[LIMIT] += 1
    _enter(cells, tags, meta, key, at, slot)
    return slot


@kernel
def drop_slot(cells, tags, free, meta, slot):  # type: ignore[no-untyped-def]
    """Forget a taken slot, and close the gap in the probe sequence (no tombstones)."""
    place = dense_place(meta, tags[slot])
    give_place(free, meta, slot)
    meta[LIVE] -= 1
    if place >= 0 and dense_of(meta)[place] == slot + 1:
        meta[DENSE_LIVE] -= 1
        dense_of(meta)[place] = 0
        return
    mask = len(cells) - 1
    gap = home_of(mark_of(tags[slot]), cells, meta)
    while cells[gap] & SLOT != slot + 1:
        gap = (gap + 1) & mask
    close_gap(cells, meta, gap)


@kernel(void(WORDS, WORDS, WORDS, COLUMN))
def fill(cells, meta, tags, slots):  # type: ignore[no-untyped-def]
    """Enter slots that neither form has: into the dense one where they have a place there, else into settled cells."""
    mask, dense = len(cells) - 1, dense_of(meta)
    for slot in slots:
        place = dense_place(meta, tags[slot])
        if place >= 0:
            dense[place] = slot + 1
            meta[DENSE_LIVE] += 1
        else:
            mark = mark_of(tags[slot])
            put(cells, np.int64(np.uint64(mark) << MARK) | (slot + 1), mark & mask, mask)
