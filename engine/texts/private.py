"""Texts that are not in the common part of the text space: kernels that count and copy their bytes.

base: the text space's address; common: the first word that is not of its common part, 0 or more; null is less.
"""

from tokenring.shm.kernels import LENGTH_BITS, LENGTH_MASK, bytes_at, kernel


@kernel
def is_all_common(column, common):  # type: ignore[no-untyped-def]
    """Whether no word of a column needs bytes to be copied."""
    greatest = common - 1
    for i in range(len(column)):
        greatest = max(greatest, column[i])
    return greatest < common


@kernel
def private_bytes(column, common):  # type: ignore[no-untyped-def]
    """The bytes of a column's texts that are not common."""
    total = 0
    for i in range(len(column)):
        if column[i] >= common:
            total += column[i] & LENGTH_MASK
    return total


@kernel
def moved_bytes(column, common):  # type: ignore[no-untyped-def]
    """The bytes that `move_private` copies of a column, whether or not it has been moved before."""
    before, total = -1, 0
    for i in range(len(column)):
        word = column[i]
        if word >= common:
            if word != before:
                before = word
                total += word & LENGTH_MASK
    return total


@kernel
def move_text(word, base, at):  # type: ignore[no-untyped-def]
    """Copy a text to offset `at`; returns its word there."""
    length = word & LENGTH_MASK
    source, copy = bytes_at(base + (word >> LENGTH_BITS), length), bytes_at(base + at, length)
    for i in range(length):
        copy[i] = source[i]
    return at << LENGTH_BITS | length


@kernel
def move_private(column, base, common, at):  # type: ignore[no-untyped-def]
    """Copy the texts of a column that are not common to offset `at` and behind it, and write down their words there;
    one that repeats the one before it is copied once. Returns the offset behind them."""
    before, moved = -1, -1
    for i in range(len(column)):
        word = column[i]
        if word >= common:
            if word != before:
                before, moved = word, move_text(word, base, at)
                at += word & LENGTH_MASK
            column[i] = moved
    return at
