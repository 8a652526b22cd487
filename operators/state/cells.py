"""Cells: a hash table from 64-bit tags to slots, which the kernels of Keys look up and change.

`cells`, int64 (n, 2), n a power of two: (tag, slot + 1), (_, 0) where free; linear probing, at most half of them taken.
`tags`, int64 (capacity,): each slot's tag. `free` and the first words of `meta`: see free_list.py. Tags that lie close
together have a dense form: an int32 array of slots + 1 by tag, of those from DENSE_BASE on; they are in no cell.
"""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, void
from tokenring.engine.raw import halves_at, prefetch
from tokenring.operators.state.free_list import FREE, LIMIT, give_place, take_place

LIVE, DENSE_LIVE, DENSE_AT, DENSE_BASE, DENSE_ROOM, CELLS_META = range(2, 8)
"""Words of `meta`: slots that are taken; those of them that the dense form has; its address, the tag that it begins
with and its length (0: there is none). CELLS_META: how many words these are."""
_SMALL_CELLS = 1 << 12  # so many stay in a core's cache
AHEAD = 64
"""Rows whose cells are asked for before the first of them is looked at."""


@kernel
def mixed(key):  # type: ignore[no-untyped-def]
    """A well-mixed hash of a 64-bit key (the splitmix64 finaliser: unlike the exchange's hash, so that the two are
    independent).
    """
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def _dense_place(meta, tag):  # type: ignore[no-untyped-def]
    """The tag's place in the dense form; -1 if it has none."""
    place = np.uint64(tag) - np.uint64(meta[DENSE_BASE])
    return np.int64(place) if place < np.uint64(meta[DENSE_ROOM]) else -1


@kernel
def dense_of(meta):  # type: ignore[no-untyped-def]
    """The dense form, of no length if there is none."""
    return halves_at(meta[DENSE_AT], meta[DENSE_ROOM])


@kernel
def ask_for(cells, wanted, start, stop):  # type: ignore[no-untyped-def]
    """Have the cells of these tags on their way from memory before they are looked at, if there are many cells."""
    if cells.shape[0] > _SMALL_CELLS:
        mask, at = cells.shape[0] - 1, cells.ctypes.data
        for i in range(start, stop):
            prefetch(at + ((np.int64(mixed(wanted[i])) & mask) << 4))


@kernel
def _is_full(cells, meta, at):  # type: ignore[no-untyped-def]
    return at >= 0 and 2 * (meta[LIVE] - meta[DENSE_LIVE]) >= cells.shape[0]


@kernel
def _take(cells, tags, meta, tag, at, slot):  # type: ignore[no-untyped-def]
    meta[LIVE] += 1
    if at < 0:
        meta[DENSE_LIVE] += 1
        dense_of(meta)[-1 - at] = slot + 1
    else:
        cells[at, 0], cells[at, 1] = tag, slot + 1
    tags[slot] = tag


@kernel
def new_slot(cells, tags, free, meta, tag, at):  # type: ignore[no-untyped-def]
    """A slot for the tag whose probe ended at the free cell `at`, or, counted from -1 down, at
    its place in the dense form; -1 if there is no room."""
    if _is_full(cells, meta, at) or (meta[FREE] == 0 and meta[LIMIT] == len(tags)):
        return -1
    slot = take_place(free, meta)
    _take(cells, tags, meta, tag, at, slot)
    return slot


@kernel
def slot_of(cells, tags, meta, key):  # type: ignore[no-untyped-def]
    """The slot of a tag that is the key itself, added if it is new; -1 if there is no room. Looks for no places to be
    used again: for keys that stay."""
    place = _dense_place(meta, key)
    if place >= 0:
        at = -1 - place
        slot = np.int64(dense_of(meta)[place]) - 1
        if slot >= 0:
            return slot
    else:
        mask = cells.shape[0] - 1
        at = np.int64(mixed(key)) & mask
        while cells[at, 1] != 0:
            if cells[at, 0] == key:
                return cells[at, 1] - 1
            at = (at + 1) & mask
    if _is_full(cells, meta, at) or meta[LIMIT] == len(tags):
        return -1
    slot = meta[LIMIT]
    meta[LIMIT] += 1
    _take(cells, tags, meta, key, at, slot)
    return slot


@kernel(int64(TABLE, WORDS, WORDS, WORDS, COLUMN, int64, WORDS))
def number_tags(cells, tags, free, meta, wanted, start, slots):  # type: ignore[no-untyped-def]
    """Write the slots of tags from `start` on, new ones where there is none, for tags that are the keys themselves.
    Returns the row at which there was no room: len(wanted) if all are done."""
    mask = cells.shape[0] - 1
    base, room_in_dense, dense = np.uint64(meta[DENSE_BASE]), np.uint64(meta[DENSE_ROOM]), dense_of(meta)
    for first in range(start, len(wanted), AHEAD):
        last = min(first + AHEAD, len(wanted))
        ask_for(cells, wanted, first, last)
        for i in range(first, last):
            tag = wanted[i]
            place = np.uint64(tag) - base
            if place < room_in_dense:
                slot, at = np.int64(dense[place]) - 1, -1 - np.int64(place)
            else:
                at = np.int64(mixed(tag)) & mask
                while cells[at, 1] != 0 and cells[at, 0] != tag:
                    at = (at + 1) & mask
                slot = cells[at, 1] - 1
            if slot < 0:
                slot = new_slot(cells, tags, free, meta, tag, at)
                if slot < 0:
                    return i
            slots[i] = slot
    return len(wanted)


@kernel
def drop_slot(cells, tags, free, meta, slot):  # type: ignore[no-untyped-def]
    """Forget a taken slot, and close the gap in the probe sequence (no tombstones)."""
    place = _dense_place(meta, tags[slot])
    give_place(free, meta, slot)
    meta[LIVE] -= 1
    if place >= 0:
        meta[DENSE_LIVE] -= 1
        dense_of(meta)[place] = 0
        return
    mask = cells.shape[0] - 1
    gap = np.int64(mixed(tags[slot])) & mask
    while cells[gap, 1] != slot + 1:
        gap = (gap + 1) & mask
    probe = (gap + 1) & mask
    while cells[probe, 1] != 0:
        home = np.int64(mixed(cells[probe, 0])) & mask
        if ((probe - home) & mask) >= ((probe - gap) & mask):
            cells[gap, 0], cells[gap, 1] = cells[probe, 0], cells[probe, 1]
            gap = probe
        probe = (probe + 1) & mask
    cells[gap, 1] = 0


@kernel(void(WORDS, WORDS, COLUMN))
def fill_dense(meta, tags, slots):  # type: ignore[no-untyped-def]
    """Enter live slots, whose tags all have a place in it, into the empty dense form."""
    dense = dense_of(meta)
    for slot in slots:
        dense[_dense_place(meta, tags[slot])] = slot + 1
    meta[DENSE_LIVE] = len(slots)


@kernel(void(TABLE, WORDS, COLUMN))
def fill_cells(cells, tags, slots):  # type: ignore[no-untyped-def]
    """Enter live slots into empty cells, by their tags."""
    mask = cells.shape[0] - 1
    for slot in slots:
        at = np.int64(mixed(tags[slot])) & mask
        while cells[at, 1] != 0:
            at = (at + 1) & mask
        cells[at, 0], cells[at, 1] = tags[slot], slot + 1
