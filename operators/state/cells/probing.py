"""Probing: how cells are found by a mark, settled when there are more of them, and freed; and the words of `meta`."""

import numpy as np

from tokenring.engine import WORDS, kernel, void
from tokenring.engine.raw import prefetch

LIVE, DENSE_LIVE, DENSE_AT, DENSE_BASE, DENSE_ROOM, HALF, SPLIT, FLAG_BITS, LEAST_TAG, GREATEST_TAG, EXTENDS, \
    MOVING, SHRINKS, CELLS_META = range(2, 16)  # fmt: skip
"""Words of `meta`: slots that are taken; those of them that the dense form has; its address, the tag that it begins
with and its length (0: there is none); half as many as there are cells while they are settled, otherwise 0, and the
first that is not settled; 0, or how many bits each cell has below its tag, where that itself is in the cell; between
what tags were, ever; whether a tag came just beyond the dense form; how many cells may have tags that belong there, and
whether they have just become none. CELLS_META: how many words these are."""
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
MOVED_AT_ONCE = 8
"""Cells for each new key, and for each that is found not to have moved."""
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
def close_gap(cells, meta, gap):  # type: ignore[no-untyped-def]
    """Free a cell: those behind it that begin at it or before come nearer."""
    mask = len(cells) - 1
    probe = (gap + 1) & mask
    while cells[probe] != 0:
        home = home_of(_mark_in(cells[probe], meta), cells, meta)
        if ((probe - home) & mask) >= ((probe - gap) & mask):
            cells[gap] = cells[probe]
            if probe < gap and meta[MOVING] != 0:
                meta[MOVING] = len(cells)  # one that may have to move came round from the first to the last
            gap = probe
        probe = (probe + 1) & mask
    cells[gap] = 0
