"""Arithmetic of int64 in kernels: whether a sum stays in range, whether words are all the same, how many are less.

Sums are looked at beforehand: LLVM takes a sum never to overflow, and would optimise a look at it afterwards away.
"""


from tokenring.engine import kernel
from tokenring.engine.compiled import Words, signed

MOST, LEAST = 2**63 - 1, -(2**63)
"""The range of int64."""
_AT_ONCE = 1 << 10


@kernel
def overflows(before: int, value: int) -> bool:
    """Whether the sum of two int64 leaves their range."""
    return (value > 0 and before > MOST - value) or (value < 0 and before < LEAST - value)


@kernel
def all_equal(words: Words) -> bool:
    """Whether there are words, and all are the same; what is not is mostly seen at once."""
    rows = len(words)
    if rows == 0 or words[0] != words[rows - 1] or words[0] != words[rows >> 1]:
        return False
    first, differing = words[0], signed(0)
    for start in range(0, rows, _AT_ONCE):
        some = words[start : min(start + _AT_ONCE, rows)]
        for i in range(len(some)):  # from 0 on and without a way out, so that LLVM vectorises it
            differing |= some[i] ^ first
        if differing != 0:
            return False
    return True


@kernel
def count_upto(ascending: Words, most: int) -> int:
    """How many of words in ascending order are `most` or less."""
    low, high = 0, len(ascending)
    while low < high:
        middle = (low + high) >> 1
        if ascending[middle] <= most:
            low = middle + 1
        else:
            high = middle
    return low
