"""Kernels over text in columns: words of (offset, length) into a heap of bytes.

A heap may be shared by many batches and be larger than any of them needs (a whole mapped file, say): choosing rows
chooses words. Only what leaves the process, or has to outlive a queue's bytes, is gathered into a heap of its own.
"""

from collections.abc import Sequence

import numpy as np

from tokenring.engine.columns.kinds import Kind
from tokenring.shm.kernels import (
    COLUMN,
    LENGTH_BITS,
    LENGTH_MASK,
    TABLE,
    WORDS,
    Words,
    boolean,
    bytes_at,
    copy_text,
    int64,
    kernel,
    load_unaligned,
    same_octets,
    signed,
    unsigned,
    void,
    words_at,
)

NO_HEAP = np.empty(0, np.uint8)
_SIGN, _INFINITY = -(2**63), 0x7FF << 52


@kernel
def text_hash(word: int, heap: int) -> int:
    """A hash of a text's bytes, from its word and the address of its heap; equal texts have equal ones anywhere."""
    h = unsigned(0x9E3779B97F4A7C15)
    if word < 0:
        return signed(h)
    length, start = word & LENGTH_MASK, heap + (word >> LENGTH_BITS)
    h ^= unsigned(length)
    at = 0
    while at + 8 <= length:
        h = (h ^ unsigned(load_unaligned(start + at))) * unsigned(0xBF58476D1CE4E5B9)
        h ^= h >> unsigned(29)
        at += 8
    rest, part = length - at, unsigned(0)
    if rest > 0 and at > 0:  # the last bytes, of a word that ends where the text does
        part = unsigned(load_unaligned(start + length - 8)) >> unsigned(8 * (8 - rest))
    elif rest > 0:
        text = bytes_at(start, length)
        for i in range(rest):
            part |= unsigned(text[i]) << unsigned(8 * i)
    h = (h ^ part) * unsigned(0x94D049BB133111EB)
    return signed(h ^ (h >> unsigned(32)))


@kernel
def text_equal(first: int, first_heap: int, second: int, second_heap: int) -> bool:
    """Whether two texts are the same, from their words and the addresses of their heaps; null is equal to null."""
    if first < 0 or second < 0:
        return first < 0 and second < 0
    length = first & LENGTH_MASK
    if length != second & LENGTH_MASK:
        return False
    if first == second and first_heap == second_heap:
        return True
    return same_octets(first_heap + (first >> LENGTH_BITS), second_heap + (second >> LENGTH_BITS), length)


@kernel(int64(COLUMN))
def text_bytes(words: Words) -> int:
    """How many bytes `gather` writes for these words at most: a text that repeats the one before it is written once."""
    total, before = 0, -1
    for i in range(len(words)):
        if words[i] >= 0 and words[i] != before:
            total += words[i] & LENGTH_MASK
        before = words[i]
    return total


@kernel(int64(COLUMN, int64, WORDS, int64, int64, TABLE))
def gather(words: Words, heap: int, gathered: Words, target: int, at: int, seen: Words) -> int:
    """Copy texts out of the heap at address `heap` to the one at `target`, from its byte `at` on; `gathered` gets their
    words there. Returns the first free byte behind them.

    seen: pairs of a word and what became of it, -1 at first, as many as a power of two: one that is still there is not
    copied again. With one pair that is a text that repeats the one before it.
    """
    mask = len(seen) - 1
    for i in range(len(words)):
        word = words[i]
        if word < 0:
            gathered[i] = word
            continue
        pair = seen[((word >> LENGTH_BITS) ^ (word >> (LENGTH_BITS + 9))) & mask]
        if pair[0] != word:
            pair[0], pair[1] = word, copy_text(word, heap, target, at)
            at += word & LENGTH_MASK
        gathered[i] = pair[1]
    return at


@kernel
def shift(words: Words, by: int, shifted: Words) -> None:
    """Words into a heap as words into another, in which the same bytes are farther from the start; `by`: how far, as
    what is added to a word."""
    for i in range(len(words)):
        shifted[i] = words[i] + by if words[i] >= 0 else words[i]


@kernel(boolean(COLUMN, int64, int64, WORDS))
def shift_below(words: Words, by: int, limit: int, shifted: Words) -> bool:
    """`shift`; whether all words, so shifted, are less than `limit`."""
    greatest = signed(-1)
    for i in range(len(words)):
        word = words[i] + by if words[i] >= 0 else words[i]
        shifted[i] = word
        greatest = max(greatest, word)
    return greatest < limit


@kernel(int64(COLUMN, int64, WORDS, int64))
def lay_out(words: Words, heap: int, offsets: Words, target: int) -> int:
    """Copy texts one after the other, as Arrow wants them: text i is at offsets[i] ... offsets[i + 1]. With `target` 0
    only the offsets are written. Returns the bytes taken."""
    at = 0
    for i in range(len(words)):
        offsets[i] = at
        if words[i] >= 0:
            if target != 0:
                copy_text(words[i], heap, target, at)
            at += words[i] & LENGTH_MASK
    offsets[len(words)] = at
    return at


@kernel(boolean(COLUMN, int64, int64, int64, WORDS))
def equal_to(words: Words, heap: int, constant: int, constant_heap: int, found: Words) -> bool:
    """Write 1 to `found` where a text is the constant one, 0 elsewhere; True if any was."""
    some = False
    for i in range(len(words)):
        same = words[i] >= 0 and text_equal(words[i], heap, constant, constant_heap)
        found[i] = 1 if same else 0
        some |= same
    return some


@kernel(boolean(COLUMN, int64, COLUMN, int64, WORDS))
def equal_rows(words: Words, heap: int, others: Words, other_heap: int, found: Words) -> bool:
    """Write 1 to `found` where two columns have the same text, 0 elsewhere; True if any was. Null is no text."""
    some = False
    for i in range(len(words)):
        same = words[i] >= 0 and text_equal(words[i], heap, others[i], other_heap)
        found[i] = 1 if same else 0
        some |= same
    return some


def is_hashed(key: Sequence[Kind]) -> bool:
    """Whether rows whose key is columns of these kinds go by a hash of it, since equal ones may be of different words:
    texts, floats' two zeros, several columns."""
    return len(key) > 1 or any([kind.is_text or kind.is_float for kind in key])


@kernel(void(WORDS, WORDS, WORDS, WORDS))
def hash_keys(columns: Words, heaps: Words, floats: Words, hashes: Words) -> None:
    """A hash of each row's key, equal for equal keys on every worker.

    columns: int64 (columns,), their addresses; heaps: the same of those of text, 0 for others; floats: 1 for those of
    floats, whose two zeros are one key, and all that are no number; hashes: int64 (rows,).
    """
    for row in range(len(hashes)):
        hashes[row] = 0
    for column in range(len(columns)):
        words, heap = words_at(columns[column], len(hashes)), heaps[column]
        for row in range(len(hashes)):
            word = words[row]
            if heap != 0:
                word = text_hash(word, heap)
            elif floats[column] != 0:
                magnitude = word & ~_SIGN
                if magnitude == 0 or magnitude > _INFINITY:
                    word = min(magnitude, _INFINITY + 1)
            mixed = (unsigned(hashes[row]) ^ unsigned(word)) * unsigned(0xBF58476D1CE4E5B9)
            hashes[row] = signed(mixed ^ (mixed >> unsigned(29)))


def heap_address(heap: np.ndarray) -> int:
    """The address of a heap's first byte."""
    return int(heap.__array_interface__["data"][0])
