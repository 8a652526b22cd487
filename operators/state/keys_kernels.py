"""The kernels of Keys: a hash table from tuples of words and texts to slots, with removal.

`cells`, `tags`, `free`: see cells.py. A tag is the key itself where that is one word, and of several columns what
tags.py makes. `stored`, int64 (capacity, key columns): each slot's words, texts among them pointing into one heap.
`meta`: the words of KeyCounts. `sources`: of a Source for each column, int64 (key columns, 3).
"""

from collections.abc import Sequence

from tokenring.engine import COLUMN, TABLE, WORDS, boolean, int64, kernel, text_equal, void
from tokenring.engine.compiled import Words, record_of, records_of, signed, unsigned
from tokenring.engine.raw import LENGTH_MASK, copy_text, words_at
from tokenring.operators.state.cells import (
    AHEAD,
    MARK,
    SLOT,
    ask_for,
    dense_of,
    drop_slot,
    first_homes,
    mixed,
    new_slot,
    not_rehashed,
)
from tokenring.operators.state.tags import Source, TagCounts, fits, note_ranges, tag_rows


class KeyCounts(TagCounts):
    """`fresh`: keys added by this call. `text`: bytes used of the heap, `dead`: bytes of it that only removed keys
    used, `needed`: bytes that a new key lacks."""

    fresh: int
    text: int
    dead: int
    needed: int


@kernel
def _unowned(words: Words) -> Words:
    """The same words as an array that nobody counts references to: to hand one that Python owns to a function costs an
    atomic count up and down each time, which was 90 ns for each new key."""
    return words_at(words.ctypes.data, len(words))


@kernel
def _same(stored: Words, slot: int, sources: Sequence[Source], row: int, rows: int, heap: int) -> bool:
    for j in range(stored.shape[1]):
        word = words_at(sources[j].address, rows)[row]
        if sources[j].is_text != 0:
            if not text_equal(stored[slot, j], heap, word, sources[j].heap):
                return False
        elif stored[slot, j] != word:
            return False
    return True


@kernel
def _store(
    stored: Words, slot: int, sources: Sequence[Source], row: int, rows: int, heap: int, counts: KeyCounts
) -> None:
    for j in range(stored.shape[1]):
        word = words_at(sources[j].address, rows)[row]
        if sources[j].is_text != 0 and word >= 0:
            word = copy_text(word, sources[j].heap, heap, counts.text)
            counts.text += word & LENGTH_MASK
        stored[slot, j] = word


@kernel
def _text_of(sources: Sequence[Source], row: int, rows: int) -> int:
    """The bytes of a row's texts."""
    length = 0
    for j in range(len(sources)):
        if sources[j].is_text != 0:
            word = words_at(sources[j].address, rows)[row]
            length += word & LENGTH_MASK if word >= 0 else 0
    return length


@kernel(
    int64(
        WORDS, TABLE, WORDS, WORDS, WORDS, TABLE, int64, int64, COLUMN, WORDS, int64, boolean, WORDS, WORDS, WORDS
    )
)  # fmt: skip
def number(
    cells: Words,
    stored: Words,
    tags: Words,
    free: Words,
    meta: Words,
    table: Words,
    heap: int,
    room: int,
    wanted: Words,
    made: Words,
    start: int,
    add: bool,
    slots: Words,
    fresh: Words,
    fresh_rows: Words,
) -> int:
    """Find the slots of rows from `start` on; with `add` new keys get one, otherwise -1.

    table: of a Source for each column. wanted: the keys themselves where they are one word, and `table` has no rows
    then; otherwise the same array as `made`, room for tags. heap, room: the address and size of the texts' heap.
    Returns the row at which there was no room: len(wanted) if all are done.
    """
    cells, tags, free, counts = _unowned(cells), _unowned(tags), _unowned(free), record_of(meta, KeyCounts)
    sources = records_of(table, Source)
    rows = len(wanted)
    exact = len(sources) == 0 or counts.packing_at != 0
    all_fit = len(sources) == 0 or tag_rows(sources, counts, made, start)
    if add and not all_fit:
        note_ranges(sources, counts, start, rows)
        return start
    mask = len(cells) - 1
    told = counts.told_by > 0
    half, split = first_homes(cells, counts)
    base, room_in_dense, dense = unsigned(counts.dense_base), unsigned(counts.dense_room), dense_of(counts)
    for first in range(start, rows, AHEAD):
        last = min(first + AHEAD, rows)
        if counts.live > counts.dense_live:
            ask_for(cells, counts, wanted, first, last)
        for i in range(first, last):
            if not all_fit and not fits(sources, counts, i, rows):
                slots[i] = -1
                continue
            # As in `slot_of`; in a function of its own it would be called for each row, for 20 ns.
            tag = wanted[i]
            place = unsigned(tag) - base
            if place < room_in_dense:
                slot, at = signed(dense[place]) - 1, -1 - signed(place)
                if slot < 0 and counts.to_rehash != 0:
                    slot = not_rehashed(cells, tags, counts, tag)
            else:
                mark = signed(mixed(tag) >> MARK)
                at = mark & half
                at = at if at >= split else mark & mask
                slot = signed(-1)
                while cells[at] != 0:
                    if signed(unsigned(cells[at]) >> MARK) == mark:
                        found = (cells[at] & SLOT) - 1
                        if tags[found] == tag and (exact or _same(stored, found, sources, i, rows, heap)):
                            slot = found
                            break
                    at = (at + 1) & mask
            if told and slot >= 0 and not _same(stored, slot, sources, i, rows, heap):
                if add:
                    note_ranges(sources, counts, i, rows)
                    return i
                slot = signed(-1)
            if slot < 0 and add:
                counts.needed = _text_of(sources, i, rows)
                if counts.text + counts.needed > room:
                    return i
                slot = new_slot(cells, tags, free, counts, tag, at)
                if slot < 0:
                    return i
                half, split = first_homes(cells, counts)
                if len(sources) > 0:
                    _store(stored, slot, sources, i, rows, heap, counts)
                fresh[counts.fresh], fresh_rows[counts.fresh] = slot, i
                counts.fresh += 1
            slots[i] = slot
    return rows


@kernel(void(WORDS, TABLE, WORDS, WORDS, WORDS, COLUMN, COLUMN))
def remove(
    cells: Words, stored: Words, tags: Words, free: Words, meta: Words, text_columns: Words, slots: Words
) -> None:
    """Forget live slots, each named once."""
    cells, tags, free, counts = _unowned(cells), _unowned(tags), _unowned(free), record_of(meta, KeyCounts)
    for slot in slots:
        drop_slot(cells, tags, free, counts, slot)
        for j in text_columns:
            counts.dead += stored[slot, j] & LENGTH_MASK if stored[slot, j] >= 0 else 0


@kernel(int64(TABLE, int64, COLUMN, int64, int64, int64))
def move_texts(table: Words, column: int, rows: Words, heap: int, target: int, at: int) -> int:
    """Copy the texts of a column's rows into another heap, from its byte `at` on; returns the first byte behind."""
    for row in rows:
        word = table[row, column]
        if word >= 0:
            table[row, column] = word = copy_text(word, heap, target, at)
            at += word & LENGTH_MASK
    return at
