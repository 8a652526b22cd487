"""Packed batches: of each column as many bytes a row as its words differ in, in a block of memory.

A row of an arrangement is seldom as wide as its words: once times have moved up they are alike, as multiplicities are,
and keys are small numbers. So a column has the least of its words once, and of each row how much more it is, in as many
bytes as the greatest needs: none where all are alike. Words are read and written eight bytes at a time from wherever
they begin, without a branch, whatever the width. A word that is written spoils the seven bytes behind it: rows are
written in their order.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import Record, Words, load_unaligned, records_at, signed, store_unaligned, unsigned
from tokenring.operators.collections.updates.blocks import File, try_block


class Head(Record):
    """A column's, with which a block begins: where its first row is (`at`), how many bytes each takes, which bits of a
    word these are, and between which words all are."""

    at: int
    stride: int
    mask: int
    least: int
    most: int


HEAD_WORDS = Head.size
LEAST_ROWS = 1 << 10  # smaller batches are as wide as their words: they are soon merged
_WORD_BYTES = 8
_LEAST_WORD, _MOST_WORD = np.iinfo(np.int64).min, np.iinfo(np.int64).max


@kernel
def word_of(heads: Sequence[Head], column: int, row: int) -> int:
    """A row's word. heads: of all columns, here as everywhere."""
    more = load_unaligned(heads[column].at + heads[column].stride * row) & heads[column].mask
    return heads[column].least + more


@kernel
def write_word(heads: Sequence[Head], column: int, row: int, word: int) -> None:
    """Write a row's word, which `has_room`; rows behind it are written later."""
    store_unaligned(heads[column].at + heads[column].stride * row, word - heads[column].least)


@kernel
def has_room(heads: Sequence[Head], column: int, word: int) -> bool:
    """Whether the column is wide enough for a word."""
    return (word - heads[column].least) & ~heads[column].mask == 0


@kernel
def compare(heads: Sequence[Head], row: int, table: Words, other: int, first: int, last: int) -> int:
    """Below 0, 0 or above: how a row compares with one of a table of words, in columns first..last."""
    for column in range(first, last):
        mine, theirs = word_of(heads, column, row), table[column, other]
        if mine != theirs:
            return -1 if mine < theirs else 1
    return 0


@kernel
def compare_packed(heads: Sequence[Head], row: int, others: Sequence[Head], other: int, first: int, last: int) -> int:
    """The same with a row of another packed batch."""
    for column in range(first, last):
        mine, theirs = word_of(heads, column, row), word_of(others, column, other)
        if mine != theirs:
            return -1 if mine < theirs else 1
    return 0


@kernel
def copy_words(heads: Sequence[Head], column: int, start: int, stop: int, target: Words, at: int) -> None:
    """Copy the words of rows start..stop to words of a table's column, from `at` on."""
    least, mask, stride = heads[column].least, heads[column].mask, heads[column].stride
    address = heads[column].at + stride * start
    for row in range(stop - start):
        target[at + row] = least + (load_unaligned(address) & mask)
        address += stride


@kernel
def width_of(least: int, most: int) -> int:
    """How many bytes tell the words from one to another from each other."""
    spread, width = unsigned(most) - unsigned(least), 0
    while width < _WORD_BYTES and spread >> unsigned(8 * width) != 0:
        width += 1
    return width


@kernel
def range_of(heads: Sequence[Head], column: int, rows: int) -> tuple[int, int]:
    """Between which words those of the first rows are."""
    if rows >= LEAST_ROWS:
        return heads[column].least, heads[column].most
    least = most = word_of(heads, column, 0)
    for row in range(1, rows):
        word = word_of(heads, column, row)
        least, most = min(least, word), max(most, word)
    return least, most


@kernel
def wider(least: int, most: int) -> tuple[int, int]:
    """A range around one for which a byte more is enough; all words, once that is so many that it does not matter."""
    width = width_of(least, most) + 1
    if width > 4 or least < -(1 << 61) or most > 1 << 61:
        return _LEAST_WORD, _MOST_WORD
    middle, half = (least >> 1) + (most >> 1), signed(1) << (8 * width - 1)
    return middle - half, middle + half - 1


@kernel
def _column_bytes(least: int, most: int, rows: int) -> int:
    used = width_of(least, most) * rows + _WORD_BYTES  # the last row's word is read whole
    return (used + _WORD_BYTES - 1) // _WORD_BYTES * _WORD_BYTES


@kernel
def new_packed(file: File, ranges: Words, rows: int, extra: int) -> tuple[int, int, int]:
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
        heads, at = records_at(address, columns, Head), address + begin
        for column in range(columns):
            least, most = ranges[column, 0], ranges[column, 1]
            width = width_of(least, most)
            heads[column].at, heads[column].stride = at, width
            heads[column].mask = -1 if width == _WORD_BYTES else (signed(1) << (8 * width)) - 1
            heads[column].least, heads[column].most = least, most
            at += _column_bytes(least, most, rows)
    return address, place, size_bytes


@kernel
def pack(file: File, table: Words, rows: int) -> tuple[int, int, int]:
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
    heads = records_at(address, len(table), Head)
    for column in range(len(table)):
        words, stride = table[column], heads[column].stride
        if stride == 0:
            write_word(heads, column, 0, words[0])
            continue
        least, at = heads[column].least, heads[column].at
        for row in range(rows):
            store_unaligned(at, words[row] - least)
            at += stride
    return address, place, size_bytes
