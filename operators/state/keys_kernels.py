"""The kernels of Keys: a hash table from tuples of words and texts to slots, with removal.

`cells`, `tags`, `free`: see cells.py. A tag is the key's hash, or the key itself where that is one word. `stored`,
int64 (key columns, capacity): each slot's words, texts among them pointing into one heap. `meta`: the counts below,
behind those of cells.py. `sources`, int64 (key columns, 3): where the batch's columns lie.
"""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, boolean, int64, kernel, text_equal, text_hash, void
from tokenring.engine.raw import LENGTH_MASK, copy_text, words_at
from tokenring.operators.state.cells import drop_slot, mixed, new_slot

FRESH, TEXT, DEAD, NEEDED = range(3, 7)
"""Words of `meta`: keys added by this call; bytes used of the heap; bytes of it that only removed keys used; bytes that
a new key lacks."""
ADDRESS, HEAP, IS_TEXT = range(3)
"""Words of a row of `sources`."""


@kernel(void(WORDS, COLUMN, int64, boolean))
def add_to_tags(tags, words, heap, is_text):  # type: ignore[no-untyped-def]
    """Mix one more column into the rows' hashes."""
    for i in range(len(tags)):
        word = text_hash(words[i], heap) if is_text else words[i]
        tags[i] = np.int64(mixed(tags[i] ^ word))


@kernel
def _same(stored, slot, sources, row, rows, heap):  # type: ignore[no-untyped-def]
    for j in range(stored.shape[0]):
        word = words_at(sources[j, ADDRESS], rows)[row]
        if sources[j, IS_TEXT] != 0:
            if not text_equal(stored[j, slot], heap, word, sources[j, HEAP]):
                return False
        elif stored[j, slot] != word:
            return False
    return True


@kernel
def _store(stored, slot, sources, row, rows, heap, meta):  # type: ignore[no-untyped-def]
    for j in range(stored.shape[0]):
        word = words_at(sources[j, ADDRESS], rows)[row]
        if sources[j, IS_TEXT] != 0 and word >= 0:
            word = copy_text(word, sources[j, HEAP], heap, meta[TEXT])
            meta[TEXT] += word & LENGTH_MASK
        stored[j, slot] = word


@kernel
def _text_of(sources, row, rows):  # type: ignore[no-untyped-def]
    """The bytes of a row's texts."""
    length = 0
    for j in range(sources.shape[0]):
        if sources[j, IS_TEXT] != 0:
            word = words_at(sources[j, ADDRESS], rows)[row]
            length += word & LENGTH_MASK if word >= 0 else 0
    return length


@kernel(int64(TABLE, TABLE, WORDS, WORDS, WORDS, TABLE, int64, int64, COLUMN, int64, boolean, WORDS, WORDS, WORDS))
def number(cells, stored, tags, free, meta, sources, heap, room, wanted, start, add, slots, fresh, fresh_rows):  # type: ignore[no-untyped-def]
    """Find the slots of rows from `start` on, by their tags `wanted`; with `add` new keys get one, otherwise -1.

    sources has no rows where tags are the keys themselves. heap, room: the address and size of the texts' heap. Returns
    the row at which there was no room: len(wanted) if all are done.
    """
    rows = len(wanted)
    mask = cells.shape[0] - 1
    exact = sources.shape[0] == 0
    for i in range(start, rows):
        tag = wanted[i]
        at = np.int64(mixed(tag)) & mask
        slot = -1
        while cells[at, 1] != 0:
            if cells[at, 0] == tag and (exact or _same(stored, cells[at, 1] - 1, sources, i, rows, heap)):
                slot = cells[at, 1] - 1
                break
            at = (at + 1) & mask
        if slot < 0 and add:
            meta[NEEDED] = _text_of(sources, i, rows)
            if meta[TEXT] + meta[NEEDED] > room:
                return i
            slot = new_slot(cells, tags, free, meta, tag, at)
            if slot < 0:
                return i
            if exact:
                stored[0, slot] = tag
            else:
                _store(stored, slot, sources, i, rows, heap, meta)
            fresh[meta[FRESH]], fresh_rows[meta[FRESH]] = slot, i
            meta[FRESH] += 1
        slots[i] = slot
    return rows


@kernel(void(TABLE, TABLE, WORDS, WORDS, WORDS, COLUMN, COLUMN))
def remove(cells, stored, tags, free, meta, text_columns, slots):  # type: ignore[no-untyped-def]
    """Forget live slots, each named once."""
    for slot in slots:
        drop_slot(cells, tags, free, meta, slot)
        for j in text_columns:
            meta[DEAD] += stored[j, slot] & LENGTH_MASK if stored[j, slot] >= 0 else 0


@kernel(int64(WORDS, COLUMN, int64, int64, int64))
def move_texts(words, slots, heap, target, at):  # type: ignore[no-untyped-def]
    """Copy the texts of these slots into another heap, from its byte `at` on; returns the first byte behind them."""
    for slot in slots:
        if words[slot] >= 0:
            words[slot] = copy_text(words[slot], heap, target, at)
            at += words[slot] & LENGTH_MASK
    return at
