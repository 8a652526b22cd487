"""Cells: a hash table from 64-bit tags to slots, which the kernels of Keys look up and change.

`cells`, int64 (n, 2), n a power of two: (tag, slot + 1), (_, 0) where free; linear probing, at most half of them taken.
`tags`, int64 (capacity,): each slot's tag. `free` and the first words of `meta`: see free_list.py.
"""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, int64, kernel, void
from tokenring.operators.state.free_list import FREE, LIMIT, give_place, take_place

LIVE = 2
"""Word of `meta`: slots that are taken."""


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
def new_slot(cells, tags, free, meta, tag, at):  # type: ignore[no-untyped-def]
    """A slot for the tag whose probe ended at the free cell `at`; -1 if there is no room."""
    if 2 * meta[LIVE] >= cells.shape[0] or (meta[FREE] == 0 and meta[LIMIT] == len(tags)):
        return -1
    slot = take_place(free, meta)
    meta[LIVE] += 1
    cells[at, 0], cells[at, 1] = tag, slot + 1
    tags[slot] = tag
    return slot


@kernel
def slot_of(cells, tags, meta, key):  # type: ignore[no-untyped-def]
    """The slot of a tag that is the key itself, added if it is new; -1 if there is no room. Looks for no places to be
    used again: for keys that stay."""
    mask = cells.shape[0] - 1
    at = np.int64(mixed(key)) & mask
    while cells[at, 1] != 0:
        if cells[at, 0] == key:
            return cells[at, 1] - 1
        at = (at + 1) & mask
    slot = meta[LIMIT]
    if 2 * meta[LIVE] >= cells.shape[0] or slot == len(tags):
        return -1
    meta[LIMIT] += 1
    meta[LIVE] += 1
    cells[at, 0], cells[at, 1] = key, slot + 1
    tags[slot] = key
    return slot


@kernel(int64(TABLE, WORDS, WORDS, WORDS, COLUMN, int64, WORDS))
def number_tags(cells, tags, free, meta, wanted, start, slots):  # type: ignore[no-untyped-def]
    """Write the slots of tags from `start` on, new ones where there is none, for tags that are the keys themselves.
    Returns the row at which there was no room: len(wanted) if all are done."""
    mask = cells.shape[0] - 1
    for i in range(start, len(wanted)):
        at = np.int64(mixed(wanted[i])) & mask
        while cells[at, 1] != 0 and cells[at, 0] != wanted[i]:
            at = (at + 1) & mask
        slot = cells[at, 1] - 1
        if slot < 0:
            slot = new_slot(cells, tags, free, meta, wanted[i], at)
            if slot < 0:
                return i
        slots[i] = slot
    return len(wanted)


@kernel
def drop_slot(cells, tags, free, meta, slot):  # type: ignore[no-untyped-def]
    """Forget a taken slot, and close the gap in the probe sequence (no tombstones)."""
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
    give_place(free, meta, slot)
    meta[LIVE] -= 1


@kernel(void(TABLE, TABLE))
def move_cells(old, new):  # type: ignore[no-untyped-def]
    """Enter all of `old` into the empty `new`."""
    mask = new.shape[0] - 1
    for i in range(old.shape[0]):
        if old[i, 1] != 0:
            at = np.int64(mixed(old[i, 0])) & mask
            while new[at, 1] != 0:
                at = (at + 1) & mask
            new[at, 0], new[at, 1] = old[i, 0], old[i, 1]
