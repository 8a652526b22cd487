"""Cells: a hash table from 64-bit tags to slots, which the kernels of Keys look up and change.

`cells`, int64 (n,), n a power of two: the tag's mark, which is half of its hash, above the slot + 1; 0 where free. The
mark says where probing begins. `tags`, int64 (capacity,): each slot's tag, which decides. `free` and the first words of
`meta`: see free_list.py.

There is no pause in which all is hashed anew. Where cells are as many again, `n` at once, those of the first half begin
where half as many bits say, until they are settled: some at each new key, by runs without a gap. SPLIT says how far
that has come.

Tags that lie close together have a dense form: an int32 array of slots + 1 by tag, of those from DENSE_BASE on; they
are in no cell.
"""

import numpy as np

from tokenring.engine import COLUMN, WORDS, kernel, void
from tokenring.engine.raw import halves_at, prefetch
from tokenring.operators.state.free_list import FREE, LIMIT, give_place, take_place

LIVE, DENSE_LIVE, DENSE_AT, DENSE_BASE, DENSE_ROOM, HALF, SPLIT, FLAG_BITS, LEAST_TAG, GREATEST_TAG, EXTENDS, \
    CELLS_META = range(2, 14)  # fmt: skip
"""Words of `meta`: slots that are taken; those of them that the dense form has; its address, the tag that it begins
with and its length (0: there is none); half as many as there are cells while they are settled, otherwise 0, and the
first that is not settled; 0, or how many bits each cell has below its tag, where that itself is in the cell; between
what tags were, ever; whether a tag came just beyond the dense form. CELLS_META: how many words these are."""
_SMALL_CELLS = 1 << 13  # so many stay in a core's cache
AHEAD = 64
"""Rows whose cells are asked for before the first of them is looked at."""
MARK = np.uint64(32)
"""Bits of a cell below the mark."""
SLOT = (1 << 32) - 1
"""Where the slot is, plus one, in a cell."""
MOST_SLOTS = (1 << 32) - 2
SPREAD = 4
"""Tags among so many times as many numbers have the dense form, which then takes no more than cells do."""
FULL, FULL_OF = 11, 16
"""So many cells of so many are taken, at most."""
SETTLED_AT_ONCE = 4
"""Cells for each new key: all are long before they are to be doubled again."""


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
def mark_of(tag):  # type: ignore[no-untyped-def]
    """A tag's mark: 32 bits."""
    return np.int64(mixed(tag) >> MARK)


@kernel
def _mark_in(cell, meta):  # type: ignore[no-untyped-def]
    """A cell's mark."""
    if meta[FLAG_BITS] == 0:
        return np.int64(np.uint64(cell) >> MARK)
    return mark_of(cell >> meta[FLAG_BITS])


@kernel
def first_homes(cells, meta):  # type: ignore[no-untyped-def]
    """What `home_of` goes by: the bits of a mark that say where probing begins, unless that is before the second word;
    then more of them do, by as many cells as there are."""
    return (meta[HALF] if meta[HALF] != 0 else len(cells)) - 1, meta[SPLIT]


@kernel
def home_of(mark, cells, meta):  # type: ignore[no-untyped-def]
    """Where probing for a mark begins."""
    half, split = first_homes(cells, meta)
    low = mark & half
    return low if low >= split else mark & (len(cells) - 1)


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
def ask_for(cells, meta, wanted, start, stop):  # type: ignore[no-untyped-def]
    """Have the cells of these tags on their way from memory before they are looked at, if there are many cells."""
    if len(cells) > _SMALL_CELLS:
        at, mask = cells.ctypes.data, len(cells) - 1
        half, split = first_homes(cells, meta)
        for i in range(start, stop):
            mark = mark_of(wanted[i])
            low = mark & half
            prefetch(at + ((low if low >= split else mark & mask) << 3))


@kernel
def _is_just_beyond(cells, meta, tag):  # type: ignore[no-untyped-def]
    """Whether the dense form is to be twice as long for a tag that it does not have, as much of it is used."""
    room = np.uint64(meta[DENSE_ROOM])
    return (
        np.uint64(tag) - np.uint64(meta[DENSE_BASE]) < room + room
        and SPREAD * meta[DENSE_LIVE] >= meta[DENSE_ROOM]
        and len(cells) <= meta[DENSE_ROOM]  # which are looked at then
    )


@kernel
def _has_room(cells, meta, tag, at):  # type: ignore[no-untyped-def]
    """Whether there is room for a tag in the form in which its probe ended."""
    if at < 0:
        return True
    if meta[DENSE_ROOM] > 0 and _is_just_beyond(cells, meta, tag):
        meta[EXTENDS] = 1
        return False
    return FULL_OF * (meta[LIVE] - meta[DENSE_LIVE]) < FULL * len(cells)


@kernel
def settle(cells, meta, count):  # type: ignore[no-untyped-def]
    """Put `count` cells, and the rest of the run of the last, where they belong now that there are twice as many."""
    half, mask = meta[HALF], len(cells) - 1
    at, stop = meta[SPLIT], meta[SPLIT] + count
    while at < half and (at < stop or cells[at] != 0):
        at = _put_again(cells, meta, at, mask)
    if at < half:
        meta[SPLIT] = at
        return
    while cells[at & mask] != 0:  # the last run
        at = _put_again(cells, meta, at & mask, mask)
    meta[HALF] = meta[SPLIT] = 0


@kernel
def _put_again(cells, meta, at, mask):  # type: ignore[no-untyped-def]
    """Put one cell where it belongs; returns the next."""
    cell = cells[at]
    if cell != 0:
        cells[at] = 0
        put(cells, cell, _mark_in(cell, meta) & mask, mask)
    return at + 1


@kernel
def put(cells, cell, home, mask):  # type: ignore[no-untyped-def]
    """Write a cell to the first free place from its home on."""
    while cells[home] != 0:
        home = (home + 1) & mask
    cells[home] = cell


@kernel(void(WORDS, WORDS))
def begin_settling(cells, meta):  # type: ignore[no-untyped-def]
    """There are twice as many cells, the second half free. What had come round to the first ones from the end of the
    first half goes on behind it."""
    half, mask = len(cells) // 2, len(cells) - 1
    meta[HALF], meta[SPLIT] = half, 0
    at = 0
    while cells[at] != 0:
        at += 1
    for each in range(at):
        cell = cells[each]
        cells[each] = 0
        put(cells, cell, _mark_in(cell, meta) & (half - 1), mask)


@kernel(void(WORDS, WORDS))
def settle_all(cells, meta):  # type: ignore[no-untyped-def]
    """Put all cells where they belong."""
    if meta[HALF] != 0:
        settle(cells, meta, meta[HALF])


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
    place = _dense_place(meta, key)
    if place >= 0:
        at = -1 - place
        slot = np.int64(dense_of(meta)[place]) - 1
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
    place = _dense_place(meta, tags[slot])
    give_place(free, meta, slot)
    meta[LIVE] -= 1
    if place >= 0:
        meta[DENSE_LIVE] -= 1
        dense_of(meta)[place] = 0
        return
    mask = len(cells) - 1
    gap = home_of(mark_of(tags[slot]), cells, meta)
    while cells[gap] & SLOT != slot + 1:
        gap = (gap + 1) & mask
    probe = (gap + 1) & mask
    while cells[probe] != 0:
        home = home_of(_mark_in(cells[probe], meta), cells, meta)
        if ((probe - home) & mask) >= ((probe - gap) & mask):
            cells[gap] = cells[probe]
            gap = probe
        probe = (probe + 1) & mask
    cells[gap] = 0


@kernel(void(WORDS, WORDS, WORDS, COLUMN))
def fill(cells, meta, tags, slots):  # type: ignore[no-untyped-def]
    """Enter slots that neither form has: into the dense one where they have a place there, else into settled cells."""
    mask, dense = len(cells) - 1, dense_of(meta)
    for slot in slots:
        place = _dense_place(meta, tags[slot])
        if place >= 0:
            dense[place] = slot + 1
            meta[DENSE_LIVE] += 1
        else:
            mark = mark_of(tags[slot])
            put(cells, np.int64(np.uint64(mark) << MARK) | (slot + 1), mark & mask, mask)
