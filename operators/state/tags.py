"""Tags: one word for a key of several columns, packed where the columns' ranges allow it, a hash otherwise.

Packed tags are equal where keys are. Where one column has told all keys apart so far, its words are the tags, and what
else a key has is compared with the row: keys by an id, and by what follows from it, lie as close together as ids do.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, kernel, text_hash, void
from tokenring.engine.compiled import Record, Words, record_of, records_at, signed, unsigned, words_at
from tokenring.operators.state.cells import CellCounts, mixed

MOST_BITS = 62
TOLD_WRONG = -1
"""Instead of a column that told keys apart: there were two with one word of it."""


class Source(Record):
    """Where a column of a batch lies: its words, the heap of its texts, and whether it is text."""

    address: int
    heap: int
    is_text: int


SOURCE_WORDS = Source.size


class Packing(Record):
    """How a column's words are packed: as what they are above `base`, in `bits` bits from bit `shift` on. `least` and
    `greatest`: what words did not fit among."""

    base: int
    shift: int
    bits: int
    least: int
    greatest: int


class TagCounts(CellCounts):
    """`packing_at`: the address of a Packing for each column (0: keys are hashed). `misfit`: whether a key did not
    fit. `told_by`: the column, plus one, whose words are the tags (0: none is; TOLD_WRONG: none is any more)."""

    packing_at: int
    misfit: int
    told_by: int


@kernel
def _packing(counts: TagCounts, columns: int) -> Sequence[Packing]:
    return records_at(counts.packing_at, columns, Packing)


@kernel
def _hash_rows(sources: Sequence[Source], tags: Words, start: int) -> None:
    rows, here = len(tags), tags[start:]
    for j in range(len(sources)):
        words = words_at(sources[j].address, rows)[start:]
        for i in range(len(here)):
            word = text_hash(words[i], sources[j].heap) if sources[j].is_text != 0 else words[i]
            here[i] = signed(mixed(word if j == 0 else here[i] ^ word))


@kernel
def tag_rows(sources: Sequence[Source], counts: TagCounts, tags: Words, start: int) -> bool:
    """Write the rows' tags from `start` on; False if there are keys that do not fit, whose tags mean nothing."""
    if counts.packing_at == 0:
        _hash_rows(sources, tags, start)
        return True
    rows, here = len(tags), tags[start:]
    if counts.told_by > 0:
        here[:] = words_at(sources[counts.told_by - 1].address, rows)[start:]
        return True
    packing = _packing(counts, len(sources))
    beyond = unsigned(0)
    here[:] = 0
    for j in range(len(sources)):
        words = words_at(sources[j].address, rows)[start:]
        base, shift, bits = unsigned(packing[j].base), unsigned(packing[j].shift), unsigned(packing[j].bits)
        for i in range(len(here)):  # from 0 on, so that LLVM vectorises it
            part = unsigned(words[i]) - base
            beyond |= part >> bits
            here[i] |= signed(part << shift)
    return beyond == unsigned(0)


@kernel
def fits(sources: Sequence[Source], counts: TagCounts, row: int, rows: int) -> bool:
    """Whether this row's key can be packed."""
    packing = _packing(counts, len(sources))
    for j in range(len(sources)):
        part = unsigned(words_at(sources[j].address, rows)[row]) - unsigned(packing[j].base)
        if part >> unsigned(packing[j].bits) != unsigned(0):
            return False
    return True


@kernel
def note_ranges(sources: Sequence[Source], counts: TagCounts, start: int, rows: int) -> None:
    """Write down between which words each column's are, of rows from `start` on, since some do not fit, or their tags
    do not tell them apart."""
    packing = _packing(counts, len(sources))
    for j in range(len(sources)):
        words = words_at(sources[j].address, rows)[start:]
        least = greatest = words[0]
        for word in words:
            least, greatest = min(least, word), max(greatest, word)
        packing[j].least, packing[j].greatest = least, greatest
    counts.misfit = 1


@kernel(void(TABLE, WORDS, WORDS))
def tag_keys(words: Words, meta: Words, tags: Words) -> None:
    """Write the tags of keys without text, which fit. words: int64 (key columns, keys)."""
    columns = words.shape[0]
    room = np.zeros(columns * SOURCE_WORDS, np.int64)
    sources = records_at(room.ctypes.data, columns, Source)
    for j in range(columns):
        sources[j].address = words[j].ctypes.data
    tag_rows(sources, record_of(meta, TagCounts), tags, 0)


@kernel(void(WORDS, COLUMN, COLUMN))
def fit(meta: Words, least: Words, greatest: Words) -> None:
    """Choose how keys between `least` and `greatest`, by column, are packed, with room for others; or that they are
    hashed from now on, if bits are few."""
    counts = record_of(meta, TagCounts)
    columns = len(least)
    packing = _packing(counts, columns)
    total = 0
    for j in range(columns):
        span, bits = unsigned(greatest[j]) - unsigned(least[j]), 0
        while span != unsigned(0):
            span >>= unsigned(1)
            bits += 1
        packing[j].bits = bits
        total += bits
    spare = (MOST_BITS - total) // columns
    if spare < 2:  # keys would soon not fit again
        counts.packing_at = 0
        return
    for j in range(columns):
        # Lowest is what differs most, so that keys of one window, or day, lie close together.
        packing[j].shift = 0
        for other in range(columns):
            wider = packing[other].bits > packing[j].bits or (packing[other].bits == packing[j].bits and other < j)
            packing[j].shift += packing[other].bits + spare if wider else 0
    for j in range(columns):
        packing[j].bits += spare
        room = signed(1) << (packing[j].bits - 2)  # a quarter of it below: most often, keys that come are greater
        packing[j].base = least[j] - room if least[j] >= -(2**62) else least[j]
