"""Tags: one word for a key of several columns, packed where the columns' ranges allow it, a hash otherwise.

`sources`, int64 (key columns, 3): where the columns of a batch lie. `packing`, int64 (key columns, 5): a column's words
are packed as what they are above BASE, in BITS bits from bit SHIFT on; packed tags are equal where keys are. LEAST and
GREATEST: what words did not fit among.
"""

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, kernel, text_hash, void
from tokenring.engine.compiled import table_at, words_at
from tokenring.operators.state.cells import CELLS_META, mixed

ADDRESS, HEAP, IS_TEXT = range(3)
"""Words of a row of `sources`."""
BASE, SHIFT, BITS, LEAST, GREATEST, PACKING_WORDS = range(6)
PACKING_AT, MISFIT, TAGS_META = range(CELLS_META, CELLS_META + 3)
"""Words of `meta`: the address of `packing` (0: keys are hashed); whether a key did not fit. TAGS_META: how many words
these and those before are."""
MOST_BITS = 62


@kernel
def _packing(meta, columns):  # type: ignore[no-untyped-def]
    return table_at(meta[PACKING_AT], columns, PACKING_WORDS)


@kernel
def _hash_rows(sources, tags, start):  # type: ignore[no-untyped-def]
    rows, here = len(tags), tags[start:]
    for j in range(sources.shape[0]):
        words = words_at(sources[j, ADDRESS], rows)[start:]
        for i in range(len(here)):
            word = text_hash(words[i], sources[j, HEAP]) if sources[j, IS_TEXT] != 0 else words[i]
            here[i] = np.int64(mixed(word if j == 0 else here[i] ^ word))


@kernel
def tag_rows(sources, meta, tags, start):  # type: ignore[no-untyped-def]
    """Write the rows' tags from `start` on; False if there are keys that do not fit, whose tags mean nothing."""
    if meta[PACKING_AT] == 0:
        _hash_rows(sources, tags, start)
        return True
    rows, here = len(tags), tags[start:]
    packing = _packing(meta, sources.shape[0])
    beyond = np.uint64(0)
    here[:] = 0
    for j in range(sources.shape[0]):
        words = words_at(sources[j, ADDRESS], rows)[start:]
        base, shift, bits = np.uint64(packing[j, BASE]), np.uint64(packing[j, SHIFT]), np.uint64(packing[j, BITS])
        for i in range(len(here)):  # from 0 on, so that LLVM vectorises it
            part = np.uint64(words[i]) - base
            beyond |= part >> bits
            here[i] |= np.int64(part << shift)
    return beyond == np.uint64(0)


@kernel
def fits(sources, meta, row, rows):  # type: ignore[no-untyped-def]
    """Whether this row's key can be packed."""
    packing = _packing(meta, sources.shape[0])
    for j in range(sources.shape[0]):
        part = np.uint64(words_at(sources[j, ADDRESS], rows)[row]) - np.uint64(packing[j, BASE])
        if part >> np.uint64(packing[j, BITS]) != np.uint64(0):
            return False
    return True


@kernel
def note_ranges(sources, meta, start, rows):  # type: ignore[no-untyped-def]
    """Write down between which words each column's are, of rows from `start` on, since some do not fit."""
    packing = _packing(meta, sources.shape[0])
    for j in range(sources.shape[0]):
        words = words_at(sources[j, ADDRESS], rows)[start:]
        least = greatest = words[0]
        for word in words:
            least, greatest = min(least, word), max(greatest, word)
        packing[j, LEAST], packing[j, GREATEST] = least, greatest
    meta[MISFIT] = 1


@kernel(void(TABLE, WORDS, WORDS))
def tag_keys(words, meta, tags):  # type: ignore[no-untyped-def]
    """Write the tags of keys without text, which fit. words: int64 (key columns, keys)."""
    sources = np.zeros((words.shape[0], 3), np.int64)
    for j in range(words.shape[0]):
        sources[j, ADDRESS] = words[j].ctypes.data
    tag_rows(sources, meta, tags, 0)


@kernel(void(TABLE, WORDS, COLUMN, COLUMN))
def fit(packing, meta, least, greatest):  # type: ignore[no-untyped-def]
    """Choose how keys between `least` and `greatest`, by column, are packed, with room for others; or that they are
    hashed from now on, if bits are few."""
    columns = packing.shape[0]
    total = 0
    for j in range(columns):
        span, bits = np.uint64(greatest[j]) - np.uint64(least[j]), 0
        while span != np.uint64(0):
            span >>= np.uint64(1)
            bits += 1
        packing[j, BITS] = bits
        total += bits
    spare = (MOST_BITS - total) // columns
    if spare < 2:  # keys would soon not fit again
        meta[PACKING_AT] = 0
        return
    for j in range(columns):
        # Lowest is what differs most, so that keys of one window, or day, lie close together.
        packing[j, SHIFT] = 0
        for other in range(columns):
            wider = packing[other, BITS] > packing[j, BITS] or (packing[other, BITS] == packing[j, BITS] and other < j)
            packing[j, SHIFT] += packing[other, BITS] + spare if wider else 0
    for j in range(columns):
        packing[j, BITS] += spare
        room = np.int64(1) << (packing[j, BITS] - 2)  # a quarter of it below: most often, keys that come are greater
        packing[j, BASE] = least[j] - room if least[j] >= -(2**62) else least[j]
