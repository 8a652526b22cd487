"""The dense form of tags that lie close together, and how they move there from cells."""


from tokenring.engine import WORDS, kernel, void
from tokenring.engine.compiled import Words, record_of, signed, unsigned
from tokenring.engine.raw import halves_at
from tokenring.operators.state.cells.probing import (
    REHASHED_AT_ONCE,
    SLOT,
    SPREAD,
    CellCounts,
    close_gap,
    home_of,
    mark_of,
)


@kernel
def dense_place(counts: CellCounts, tag: int) -> int:
    """The tag's place in the dense form; -1 if it has none."""
    place = unsigned(tag) - unsigned(counts.dense_base)
    return signed(place) if place < unsigned(counts.dense_room) else -1


@kernel
def dense_of(counts: CellCounts) -> Words:
    """The dense form, of no length if there is none."""
    return halves_at(counts.dense_at, counts.dense_room)


@kernel
def is_just_beyond(counts: CellCounts, tag: int) -> bool:
    """Whether the dense form is to be twice as long for a tag that it does not have, as much of it is used."""
    room = unsigned(counts.dense_room)
    return (
        unsigned(tag) - unsigned(counts.dense_base) < room + room
        and SPREAD * counts.dense_live >= counts.dense_room
    )


@kernel
def not_rehashed(cells: Words, tags: Words, counts: CellCounts, tag: int) -> int:
    """The slot of a tag that is not in the dense form, although it has a place there, or -1; and some others move."""
    mark, mask = mark_of(tag), len(cells) - 1
    at = home_of(mark, cells, counts)
    slot = signed(-1)
    while cells[at] != 0 and slot < 0:
        found = (cells[at] & SLOT) - 1
        if tags[found] == tag:
            slot = found
        at = (at + 1) & mask
    rehash(cells, tags, counts, REHASHED_AT_ONCE)
    return slot


@kernel
def rehash(cells: Words, tags: Words, counts: CellCounts, count: int) -> None:
    """Look at the last `count` of the cells that may have tags that belong in the dense form, and move those."""
    dense = dense_of(counts)
    while count > 0 and counts.to_rehash > 0:
        count -= 1
        counts.to_rehash -= 1
        at = counts.to_rehash
        slot = (cells[at] & SLOT) - 1
        if slot >= 0:
            place = dense_place(counts, tags[slot])
            if place >= 0:
                dense[place] = slot + 1
                counts.dense_live += 1
                close_gap(cells, counts, at)
    if counts.to_rehash == 0:
        counts.shrinks = 1


@kernel(void(WORDS, WORDS, WORDS))
def rehash_all(cells: Words, tags: Words, meta: Words) -> None:
    """Move all that are to."""
    counts = record_of(meta, CellCounts)
    while counts.to_rehash != 0:
        rehash(cells, tags, counts, counts.to_rehash)
