"""The kernels of Keys: a hash table from tuples of words and texts to slots, with removal.

`cells`, `tags`, `free`: see cells.py. A tag is the key itself where that is one word, and of several columns what
tags.py makes. `stored`, int64 (capacity, key columns): each slot's words, texts among them pointing into one heap.
`meta`: the counts below, behind those of cells.py and tags.py. `sources`: see tags.py.
"""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, boolean, int64, kernel, text_equal, void
from tokenring.engine.raw import LENGTH_MASK, copy_text, words_at
from tokenring.operators.state.cells import (
    AHEAD,
    DENSE_BASE,
    DENSE_LIVE,
    DENSE_ROOM,
    LIVE,
    MARK,
    MOVING,
    SLOT,
    ask_for,
    dense_of,
    drop_slot,
    first_homes,
    mixed,
    new_slot,
    not_moved,
)
from tokenring.operators.state.tags import ADDRESS, HEAP, IS_TEXT, PACKING_AT, TAGS_META, fits, note_ranges, tag_rows

FRESH, TEXT, DEAD, NEEDED, META_WORDS = range(TAGS_META, TAGS_META + 5)
"""Words of `meta`: keys added by this call; bytes used of the heap; bytes of it that only removed keys used; bytes that
a new key lacks; and how many words all are."""


@kernel
def _unowned(words):  # type: ignore[no-untyped-def]
    """The same words as an array that nobody counts references to: to hand one that Python owns to a function costs an
    atomic count up and down each time, which was 90 ns for each new key."""
    return words_at(words.ctypes.data, len(words))


@kernel
def _same(stored, slot, sources, row, rows, heap):  # type: ignore[no-untyped-def]
    for j in range(stored.shape[1]):
        word = words_at(sources[j, ADDRESS], rows)[row]
        if sources[j, IS_TEXT] != 0:
            if not text_equal(stored[slot, j], heap, word, sources[j, HEAP]):
                return False
        elif stored[slot, j] != word:
            return False
    return True


@kernel
def _store(stored, slot, sources, row, rows, heap, meta):  # type: ignore[no-untyped-def]
    for j in range(stored.shape[1]):
        word = words_at(sources[j, ADDRESS], rows)[row]
        if sources[j, IS_TEXT] != 0 and word >= 0:
            word = copy_text(word, sources[j, HEAP], heap, meta[TEXT])
            meta[TEXT] += word & LENGTH_MASK
        stored[slot, j] = word


@kernel
def _text_of(sources, row, rows):  # type: ignore[no-untyped-def]
    """The bytes of a row's texts."""
    length = 0
    for j in range(sources.shape[0]):
        if sources[j, IS_TEXT] != 0:
            word = words_at(sources[j, ADDRESS], rows)[row]
            length += word & LENGTH_MASK if word >= 0 else 0
    return length


@kernel(
    int64(
        WORDS, TABLE, WORDS, WORDS, WORDS, TABLE, int64, int64, COLUMN, WORDS, int64, boolean, WORDS, WORDS, WORDS
    )
)  # fmt: skip
def number(cells, stored, tags, free, meta, sources, heap, room, wanted, made, start, add, slots, fresh, fresh_rows):  # type: ignore[no-untyped-def]
    """Find the slots of rows from `start` on; with `add` new keys get one, otherwise -1.

    wanted: the keys themselves where they are one word, and `sources` has no rows then; otherwise the same array as
    `made`, room for tags. heap, room: the address and size of the texts' heap. Returns the row at which there was no
    room: len(wanted) if all are done.
    """
    cells, tags, free, meta = _unowned(cells), _unowned(tags), _unowned(free), _unowned(meta)
    rows = len(wanted)
    exact = sources.shape[0] == 0 or meta[PACKING_AT] != 0
    all_fit = sources.shape[0] == 0 or tag_rows(sources, meta, made, start)
    if add and not all_fit:
        note_ranges(sources, meta, start, rows)
        return start
    mask = len(cells) - 1
    half, split = first_homes(cells, meta)
    base, room_in_dense, dense = np.uint64(meta[DENSE_BASE]), np.uint64(meta[DENSE_ROOM]), dense_of(meta)
    for first in range(start, rows, AHEAD):
        last = min(first + AHEAD, rows)
        if meta[LIVE] > meta[DENSE_LIVE]:
            ask_for(cells, meta, wanted, first, last)
        for i in range(first, last):
            if not all_fit and not fits(sources, meta, i, rows):
                slots[i] = -1
                continue
            # As in `slot_of`; in a function of its own it would be called for each row, for 20 ns.
            tag = wanted[i]
            place = np.uint64(tag) - base
            if place < room_in_dense:
                slot, at = np.int64(dense[place]) - 1, -1 - np.int64(place)
                if slot < 0 and meta[MOVING] != 0:
                    slot = not_moved(cells, tags, meta, tag)
            else:
                mark = np.int64(mixed(tag) >> MARK)
                at = mark & half
                at = at if at >= split else mark & mask
                slot = np.int64(-1)
                while cells[at] != 0:
                    if np.int64(np.uint64(cells[at]) >> MARK) == mark:
                        found = (cells[at] & SLOT) - 1
                        if tags[found] == tag and (exact or _same(stored, found, sources, i, rows, heap)):
                            slot = found
                            break
                    at = (at + 1) & mask
            if slot < 0 and add:
                meta[NEEDED] = _text_of(sources, i, rows)
                if meta[TEXT] + meta[NEEDED] > room:
                    return i
                slot = new_slot(cells, tags, free, meta, tag, at)
                if slot < 0:
                    return i
                half, split = first_homes(cells, meta)
                if sources.shape[0] > 0:
                    _store(stored, slot, sources, i, rows, heap, meta)
                fresh[meta[FRESH]], fresh_rows[meta[FRESH]] = slot, i
                meta[FRESH] += 1
            slots[i] = slot
    return rows


@kernel(void(WORDS, TABLE, WORDS, WORDS, WORDS, COLUMN, COLUMN))
def remove(cells, stored, tags, free, meta, text_columns, slots):  # type: ignore[no-untyped-def]
    """Forget live slots, each named once."""
    cells, tags, free, meta = _unowned(cells), _unowned(tags), _unowned(free), _unowned(meta)
    for slot in slots:
        drop_slot(cells, tags, free, meta, slot)
        for j in text_columns:
            meta[DEAD] += stored[slot, j] & LENGTH_MASK if stored[slot, j] >= 0 else 0


@kernel(int64(TABLE, int64, COLUMN, int64, int64, int64))
def move_texts(table, column, rows, heap, target, at):  # type: ignore[no-untyped-def]
    """Copy the texts of a column's rows into another heap, from its byte `at` on; returns the first byte behind."""
    for row in rows:
        word = table[row, column]
        if word >= 0:
            table[row, column] = word = copy_text(word, heap, target, at)
            at += word & LENGTH_MASK
    return at
