"""The dense form of tags that lie close together, and how they move there from cells."""

import numpy as np

from tokenring.engine import WORDS, kernel, void
from tokenring.engine.raw import halves_at
from tokenring.operators.state.cells.probing import (
    DENSE_AT,
    DENSE_BASE,
    DENSE_LIVE,
    DENSE_ROOM,
    MOVED_AT_ONCE,
    MOVING,
    SHRINKS,
    SLOT,
    SPREAD,
    close_gap,
    home_of,
    mark_of,
)


@kernel
def dense_place(meta, tag):  # type: ignore[no-untyped-def]
    """The tag's place in the dense form; -1 if it has none."""
    place = np.uint64(tag) - np.uint64(meta[DENSE_BASE])
    return np.int64(place) if place < np.uint64(meta[DENSE_ROOM]) else -1


@kernel
def dense_of(meta):  # type: ignore[no-untyped-def]
    """The dense form, of no length if there is none."""
    return halves_at(meta[DENSE_AT], meta[DENSE_ROOM])


@kernel
def is_just_beyond(meta, tag):  # type: ignore[no-untyped-def]
    """Whether the dense form is to be twice as long for a tag that it does not have, as much of it is used."""
    room = np.uint64(meta[DENSE_ROOM])
    return (
        np.uint64(tag) - np.uint64(meta[DENSE_BASE]) < room + room
        and SPREAD * meta[DENSE_LIVE] >= meta[DENSE_ROOM]
    )


@kernel
def not_moved(cells, tags, meta, tag):  # type: ignore[no-untyped-def]
    """The slot of a tag that is not in the dense form, although it has a place there, or -1; and some others move."""
    mark, mask = mark_of(tag), len(cells) - 1
    at = home_of(mark, cells, meta)
    slot = np.int64(-1)
    while cells[at] != 0 and slot < 0:
        found = (cells[at] & SLOT) - 1
        if tags[found] == tag:
            slot = found
        at = (at + 1) & mask
    move(cells, tags, meta, MOVED_AT_ONCE)
    return slot


@kernel
def move(cells, tags, meta, count):  # type: ignore[no-untyped-def]
    """Look at the last `count` of the cells that may have tags that belong in the dense form, and move those."""
    dense = dense_of(meta)
    while count > 0 and meta[MOVING] > 0:
        count -= 1
        meta[MOVING] -= 1
        at = meta[MOVING]
        slot = (cells[at] & SLOT) - 1
        if slot >= 0:
            place = dense_place(meta, tags[slot])
            if place >= 0:
                dense[place] = slot + 1
                meta[DENSE_LIVE] += 1
                close_gap(cells, meta, at)
    if meta[MOVING] == 0:
        meta[SHRINKS] = 1


@kernel(void(WORDS, WORDS, WORDS))
def move_all(cells, tags, meta):  # type: ignore[no-untyped-def]
    """Move all that are to."""
    while meta[MOVING] != 0:
        move(cells, tags, meta, meta[MOVING])
