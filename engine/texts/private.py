"""The bytes of texts: kernels that find one, and that count and copy those of texts which are not in the common part of
the text space.

base: the text space's address; common: the first word that is not of its common part, 0 or more; null is less.
"""

from tokenring.shm.kernels import LENGTH_MASK, Words, bytes_at, copy_text, kernel, load_unaligned

_EACH_BYTE, _LOW_BITS = 0x0101010101010101, 0x7F7F7F7F7F7F7F7F
_NUMBERS = 0x0001020304050607  # of bytes, so that the product with 1 << 8 * n has n in its highest


@kernel
def is_all_common(column: Words, common: int) -> bool:
    """Whether no word of a column needs bytes to be copied."""
    greatest = common - 1
    for i in range(len(column)):
        greatest = max(greatest, column[i])
    return greatest < common


@kernel
def private_bytes(column: Words, common: int) -> int:
    """The bytes of a column's texts that are not common."""
    total = 0
    for i in range(len(column)):
        if column[i] >= common:
            total += column[i] & LENGTH_MASK
    return total


@kernel
def moved_bytes(column: Words, common: int) -> int:
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
def move_private(column: Words, base: int, common: int, at: int) -> int:
    """Copy the texts of a column that are not common to offset `at` and behind it, and write down their words there;
    one that repeats the one before it is copied once. Returns the offset behind them."""
    before, moved = -1, -1
    for i in range(len(column)):
        word = column[i]
        if word >= common:
            if word != before:
                before, moved = word, copy_text(word, base, base, at)
                at += word & LENGTH_MASK
            column[i] = moved
    return at


@kernel
def find_octet(address: int, start: int, length: int, octet: int, times: int) -> int:
    """Where in a text at an address, from `start` on, this byte is for the n-th time, n >= 1; `length` if it is not.
    """
    at, wanted = start, octet * _EACH_BYTE
    while at + 8 <= length:
        differs = load_unaligned(address + at) ^ wanted
        found = (~((differs & _LOW_BITS) + _LOW_BITS | differs) >> 7) & _EACH_BYTE  # 1 in each byte that is the same
        count = found * _EACH_BYTE >> 56
        if count >= times:
            for _ in range(times - 1):
                found &= found - 1
            return at + ((found & -found) * _NUMBERS >> 56)
        times -= count
        at += 8
    text = bytes_at(address, length)
    while at < length:
        times -= text[at] == octet
        if times == 0:
            return at
        at += 1
    return length
