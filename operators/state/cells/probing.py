"""Probing: how cells are found by a mark, settled when there are more, and freed; and what is counted of them."""

import numpy as np

from tokenring.engine import WORDS, kernel, void
from tokenring.engine.compiled import Words, record_of, signed, unsigned
from tokenring.engine.raw import prefetch
from tokenring.operators.state.cells.free_list import FreeList

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
REHASHED_AT_ONCE = 8
"""Cells for each new key, and for each that is found not to have been rehashed."""
SETTLED_AT_ONCE = 4
"""Cells for each new key: all are long before they are to be doubled again."""


class CellCounts(FreeList):
    """`live`: slots that are taken; `dense_live`: those of them that the dense form has; `dense_at`: its address,
    `dense_base`: the tag that it begins with, `dense_room`: its length (0: there is none). `half`: half as many as
    there are cells while they are settled, otherwise 0, and `split`: the first that is not settled. `flag_bits`: 0, or
    how many bits each cell has below its tag, where that itself is in the cell. `least_tag`, `greatest_tag`: between
    what tags were, ever. `extends`: whether a tag came just beyond the dense form. `to_rehash`: how many cells may have
    tags that belong there, and `shrinks`: whether they have just become none."""

    live: int
    dense_live: int
    dense_at: int
    dense_base: int
    dense_room: int
    half: int
    split: int
    flag_bits: int
    least_tag: int
    greatest_tag: int
    extends: int
    to_rehash: int
    shrinks: int


@kernel
def mixed(key: int) -> int:
    """A well-mixed hash of a 64-bit key (the splitmix64 finaliser: unlike the exchange's hash, so that the two are
    independent).
    """
    z = unsigned(key) + unsigned(0x9E3779B97F4A7C15)
    z = (z ^ (z >> unsigned(30))) * unsigned(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> unsigned(27))) * unsigned(0x94D049BB133111EB)
    return z ^ (z >> unsigned(31))


@kernel
def mark_of(tag: int) -> int:
    """A tag's mark: 32 bits."""
    return signed(mixed(tag) >> MARK)


@kernel
def _mark_in(cell: int, counts: CellCounts) -> int:
    """A cell's mark."""
    if counts.flag_bits == 0:
        return signed(unsigned(cell) >> MARK)
    return mark_of(cell >> counts.flag_bits)


@kernel
def first_homes(cells: Words, counts: CellCounts) -> tuple[int, int]:
    """What `home_of` goes by: the bits of a mark that say where probing begins, unless that is before the second word;
    then more of them do, by as many cells as there are."""
    return (counts.half if counts.half != 0 else len(cells)) - 1, counts.split


@kernel
def home_of(mark: int, cells: Words, counts: CellCounts) -> int:
    """Where probing for a mark begins."""
    half, split = first_homes(cells, counts)
    low = mark & half
    return low if low >= split else mark & (len(cells) - 1)


@kernel
def ask_for(cells: Words, counts: CellCounts, wanted: Words, start: int, stop: int) -> None:
    """Have the cells of these tags on their way from memory before they are looked at, if there are many cells."""
    if len(cells) > _SMALL_CELLS:
        at, mask = cells.ctypes.data, len(cells) - 1
        half, split = first_homes(cells, counts)
        for i in range(start, stop):
            mark = mark_of(wanted[i])
            low = mark & half
            prefetch(at + ((low if low >= split else mark & mask) << 3))


@kernel
def settle(cells: Words, counts: CellCounts, count: int) -> None:
    """Put `count` cells, and the rest of the run of the last, where they belong now that there are twice as many."""
    half, mask = counts.half, len(cells) - 1
    at, stop = counts.split, counts.split + count
    while at < half and (at < stop or cells[at] != 0):
        at = _put_again(cells, counts, at, mask)
    if at < half:
        counts.split = at
        return
    while cells[at & mask] != 0:  # the last run
        at = _put_again(cells, counts, at & mask, mask)
    counts.half = counts.split = 0


@kernel
def _put_again(cells: Words, counts: CellCounts, at: int, mask: int) -> int:
    """Put one cell where it belongs; returns the next."""
    cell = cells[at]
    if cell != 0:
        cells[at] = 0
        put(cells, cell, _mark_in(cell, counts) & mask, mask)
    return at + 1


@kernel
def put(cells: Words, cell: int, home: int, mask: int) -> None:
    """Write a cell to the first free place from its home on."""
    while cells[home] != 0:
        home = (home + 1) & mask
    cells[home] = cell


@kernel(void(WORDS, WORDS))
def begin_settling(cells: Words, meta: Words) -> None:
    """There are twice as many cells, the second half free. What had come round to the first ones from the end of the
    first half goes on behind it."""
    counts = record_of(meta, CellCounts)
    half, mask = len(cells) // 2, len(cells) - 1
    counts.half, counts.split = half, 0
    at = 0
    while cells[at] != 0:
        at += 1
    for each in range(at):
        cell = cells[each]
        cells[each] = 0
        put(cells, cell, _mark_in(cell, counts) & (half - 1), mask)


@kernel(void(WORDS, WORDS))
def settle_all(cells: Words, meta: Words) -> None:
    """Put all cells where they belong."""
    counts = record_of(meta, CellCounts)
    if counts.half != 0:
        settle(cells, counts, counts.half)


@kernel
def close_gap(cells: Words, counts: CellCounts, gap: int) -> None:
    """Free a cell: those behind it that begin at it or before come nearer."""
    mask = len(cells) - 1
    probe = (gap + 1) & mask
    while cells[probe] != 0:
        home = home_of(_mark_in(cells[probe], counts), cells, counts)
        if ((probe - home) & mask) >= ((probe - gap) & mask):
            cells[gap] = cells[probe]
            if probe < gap and counts.to_rehash != 0:
                counts.to_rehash = len(cells)  # one that may have to move came round from the first to the last
            gap = probe
        probe = (probe + 1) & mask
    cells[gap] = 0
