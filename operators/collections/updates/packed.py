"""Packed batches: of each column as many bytes a row as its words differ in, in a block of memory.

A row of an arrangement is seldom as wide as its words: once times have moved up they are alike, as multiplicities are,
and keys are small numbers. So a column has the least of its words once, and of each row how much more it is, in as many
bytes as the greatest needs: none where all are alike. Words are read and written eight bytes at a time from wherever
they begin, without a branch, whatever the width. A word that is written spoils the seven bytes behind it: rows are
written in their order.
"""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import load_unaligned, store_unaligned, table_at
from tokenring.operators.collections.updates.blocks import try_block

# Of a column: where its first row is, how many bytes each takes, which bits of a word these are, and between which
# words all are. A block begins with so many words a column.
AT, STRIDE, MASK, LEAST, MOST = range(5)
HEAD_WORDS = 5
LEAST_ROWS = 1 << 10  # smaller batches are as wide as their words: they are soon merged
_WORD_BYTES = 8
_LEAST_WORD, _MOST_WORD = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@kernel
def word_of(heads, column, row):  # type: ignore[no-untyped-def]
    """A row's word. heads: int64 (columns, HEAD_WORDS), here as everywhere."""
    more = load_unaligned(heads[column, AT] + heads[column, STRIDE] * row) & heads[column, MASK]
    return heads[column, LEAST] + more


@kernel
def write_word(heads, column, row, word):  # type: ignore[no-untyped-def]
    """Write a row's word, which `has_room`; rows behind it are written later."""
    store_unaligned(heads[column, AT] + heads[column, STRIDE] * row, word - heads[column, LEAST])


@kernel
def has_room(heads, column, word):  # type: ignore[no-untyped-def]
    """Whether the column is wide enough for a word."""
    return (word - heads[column, LEAST]) & ~heads[column, MASK] == 0


@kernel
def compare(heads, row, table, other, first, last):  # type: ignore[no-untyped-def]
    """Below 0, 0 or above: how a row compares with one of a table of words, in columns first..last."""
    for column in range(first, last):
        mine, theirs = word_of(heads, column, row), table[column, other]
        if mine != theirs:
            return -1 if mine < theirs else 1
    return 0


@kernel
def compare_packed(heads, row, others, other, first, last):  # type: ignore[no-untyped-def]
    """The same with a row of another packed batch."""
    for column in range(first, last):
        mine, theirs = word_of(heads, column, row), word_of(others, column, other)
        if mine != theirs:
            return -1 if mine < theirs else 1
    return 0


@kernel
def copy_words(heads, column, start, stop, target, at):  # type: ignore[no-untyped-def]
    """Copy the words of rows start..stop to words of a table's column, from `at` on."""
    least, mask, stride = heads[column, LEAST], heads[column, MASK], heads[column, STRIDE]
    address = heads[column, AT] + stride * start
    for row in range(stop - start):
        target[at + row] = least + (load_unaligned(address) & mask)
        address += stride


@kernel
def width_of(least, most):  # type: ignore[no-untyped-def]
    """How many bytes tell the words from one to another from each other."""
    spread, width = np.uint64(most) - np.uint64(least), 0
    while width < _WORD_BYTES and spread >> np.uint64(8 * width) != 0:
        width += 1
    return width


@kernel
def range_of(heads, column, rows):  # type: ignore[no-untyped-def]
    """Between which words those of the first rows are."""
    if rows >= LEAST_ROWS:
        return heads[column, LEAST], heads[column, MOST]
    least = most = word_of(heads, column, 0)
    for row in range(1, rows):
        word = word_of(heads, column, row)
        least, most = min(least, word), max(most, word)
    return least, most


@kernel
def wider(least, most):  # type: ignore[no-untyped-def]
    """A range around one for which a byte more is enough; all words, once that is so many that it does not matter."""
    width = width_of(least, most) + 1
    if width > 4 or least < -(1 << 61) or most > 1 << 61:
        return _LEAST_WORD, _MOST_WORD
    middle, half = (least >> 1) + (most >> 1), np.int64(1) << (8 * width - 1)
    return middle - half, middle + half - 1


@kernel
def _column_bytes(least, most, rows):  # type: ignore[no-untyped-def]
    used = width_of(least, most) * rows + _WORD_BYTES  # the last row's word is read whole
    return (used + _WORD_BYTES - 1) // _WORD_BYTES * _WORD_BYTES


@kernel
def new_packed(file, ranges, rows, extra):  # type: ignore[no-untyped-def]
    """A block for so many rows with words in these ranges, int64 (columns, 2), and `extra` words behind the heads: (its
    address, 0 if there is no memory; its place, as `try_block` has it; its bytes)."""
    columns = len(ranges)
    if rows < LEAST_ROWS:
        ranges[:, 0], ranges[:, 1] = _LEAST_WORD, _MOST_WORD
    begin = _WORD_BYTES * (HEAD_WORDS * columns + extra)
    size_bytes = begin
    for column in range(columns):
        size_bytes += _column_bytes(ranges[column, 0], ranges[column, 1], rows)
    address, place = try_block(file, size_bytes)
    if address != 0:
        heads, at = table_at(address, columns, HEAD_WORDS), address + begin
        for column in range(columns):
            least, most = ranges[column, 0], ranges[column, 1]
            width = width_of(least, most)
            heads[column, AT], heads[column, STRIDE] = at, width
            heads[column, MASK] = -1 if width == _WORD_BYTES else (np.int64(1) << (8 * width)) - 1
            heads[column, LEAST], heads[column, MOST] = least, most
            at += _column_bytes(least, most, rows)
    return address, place, size_bytes


@kernel
def pack(file, table, rows):  # type: ignore[no-untyped-def]
    """The first rows of a table, one at least, which are in order, in a block: as `new_packed` returns it."""
    ranges = np.empty((len(table), 2), np.int64)
    if rows >= LEAST_ROWS:
        ranges[0] = table[0, 0], table[0, rows - 1]
        for column in range(1, len(table)):
            words = table[column]
            least = most = words[0]
            for row in range(1, rows):
                least, most = min(least, words[row]), max(most, words[row])
            ranges[column] = least, most
    address, place, size_bytes = new_packed(file, ranges, rows, 0)
    if address == 0:
        raise MemoryError("no memory for an arrangement")
    heads = table_at(address, len(table), HEAD_WORDS)
    for column in range(len(table)):
        words, stride = table[column], heads[column, STRIDE]
        if stride == 0:
            write_word(heads, column, 0, words[0])
            continue
        least, at = heads[column, LEAST], heads[column, AT]
        for row in range(rows):
            store_unaligned(at, words[row] - least)
            at += stride
    return address, place, size_bytes
