"""Sums that are exact whatever comes and goes: of whole numbers in two halves; of floats as a whole number of the least
float, in digits of 32 bits. What a sum is depends on what is there alone, not on how it came to be there.

Multiplicities are from -(2**63 - 1) to 2**63 - 1, so that each may be negated; what would go beyond is noticed.
"""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import Words, signed, unsigned
from tokenring.operators.folds import SUM_FLOAT, SUM_UNSIGNED

HALF_BITS = 32
LOWER_HALF = (1 << HALF_BITS) - 1
INTEGER_PARTS = 2
_DIGITS = 68  # 2,098 bits from the least float to the greatest, and as many floats as there may be
_NAN, _INFINITE, _MINUS_INFINITE = range(_DIGITS, _DIGITS + 3)  # how many there are
FLOAT_PARTS = _DIGITS + 3

_FRACTION_BITS = 52
_FRACTION = (1 << _FRACTION_BITS) - 1
_GREATEST_EXPONENT = 0x7FF
_SIGN = -(1 << 63)

TOO_OFTEN = -1
"""In place of a number of rows: a row would be there, or be taken away, more often than can be said."""

_LEAST_WORD, _MOST_WORD = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_WIDE, _SMALL = signed(1) << 34, signed(1) << 29  # parts of words, times a few: they need no look


@kernel
def added(total: int, times: int) -> tuple[int, int]:
    """(the sum of two words, how far it went beyond their bits: -1, 0 or 1). Of sums whose carries come to 0 in the
    end, the last word is right, whatever the order. Words are added without a sign: what is signed never goes beyond,
    as LLVM sees it."""
    after = signed(unsigned(total) + unsigned(times))
    if (total ^ after) & (times ^ after) >= 0:
        return after, signed(0)
    return after, signed(1) if times >= 0 else signed(-1)


@kernel
def can_be_said(total: int, carries: int) -> bool:
    """Whether a sum, with the carries that it took, is a multiplicity."""
    return carries == 0 and total != _LEAST_WORD


@kernel
def product(times: int, others: int) -> tuple[int, bool]:
    """(the product of two words, whether it is a multiplicity)."""
    if -_WIDE <= times <= _WIDE and -_SMALL < others < _SMALL:
        return signed(times * others), True
    if times == 0 or others == 0:
        return signed(0), True
    if times == _LEAST_WORD or others == _LEAST_WORD:
        return signed(0), False
    if unsigned(abs(others)) > unsigned(_MOST_WORD) // unsigned(abs(times)):
        return signed(0), False
    return signed(times * others), True


@kernel
def _parts_of_float(word: int) -> tuple[int, int, int, int]:
    """(the first of three parts, what is added to each) of a float's bits."""
    exponent, fraction = (word >> _FRACTION_BITS) & _GREATEST_EXPONENT, word & _FRACTION
    if exponent == _GREATEST_EXPONENT:
        special = _NAN if fraction != 0 else _INFINITE if word >= 0 else _MINUS_INFINITE
        return signed(special), signed(1), signed(0), signed(0)
    if exponent > 0:
        fraction |= 1 << _FRACTION_BITS
        exponent -= 1
    digit, shift = exponent >> 5, exponent & (HALF_BITS - 1)
    lower, upper = (fraction & LOWER_HALF) << shift, (fraction >> HALF_BITS) << shift
    low, middle, high = lower & LOWER_HALF, (lower >> HALF_BITS) + (upper & LOWER_HALF), upper >> HALF_BITS
    if word < 0:
        return digit, -low, -middle, -high
    return digit, low, middle, high


@kernel
def parts_of(operation: int, word: int) -> tuple[int, int, int, int]:
    """(the first of three parts, what is added to each) of a sum for a word that comes to it."""
    if operation == SUM_FLOAT:
        return _parts_of_float(word)
    upper = word >> HALF_BITS
    if operation == SUM_UNSIGNED:
        return signed(0), word & LOWER_HALF, upper & LOWER_HALF, signed(0)
    if _LEAST_WORD < word < 0:  # halves of the number, both below 0: what is small stays so, however often it comes
        return signed(0), -(-word & LOWER_HALF), -(-word >> HALF_BITS), signed(0)
    return signed(0), word & LOWER_HALF, upper, signed(0)


@kernel
def _add_part(sums: Words, at: int, more: int, times: int) -> bool:
    more, fits = product(more, times)
    sums[at], carry = added(sums[at], more)
    return fits and carry == 0


@kernel
def add_word(operation: int, sums: Words, at: int, word: int, times: int) -> bool:
    """Add a word so often to the sum whose parts are sums[at:]; whether none of these went beyond 64 bits."""
    first, low, middle, high = parts_of(operation, word)
    fits = _add_part(sums, at + first, low, times)
    if middle != 0:
        fits &= _add_part(sums, at + first + 1, middle, times)
    if high != 0:
        fits &= _add_part(sums, at + first + 2, high, times)
    return fits


@kernel
def _float_of(sums: Words, at: int) -> int:
    """The float that is nearest to a sum, as its bits; of two the even one."""
    if sums[at + _NAN] > 0 or (sums[at + _INFINITE] > 0 and sums[at + _MINUS_INFINITE] > 0):
        return signed(0xFFF << 51)
    if sums[at + _INFINITE] > 0 or sums[at + _MINUS_INFINITE] > 0:
        infinite = signed(_GREATEST_EXPONENT << _FRACTION_BITS)
        return infinite if sums[at + _INFINITE] > 0 else infinite | _SIGN
    digits, carry = np.zeros(_DIGITS + 2, np.int64), signed(0)
    for i in range(_DIGITS):
        carry += sums[at + i]
        digits[i] = carry & LOWER_HALF
        carry >>= HALF_BITS
    sign = signed(0)
    if carry < 0:
        sign, carry = signed(_SIGN), signed(1)
        for i in range(_DIGITS):
            carry += ~digits[i] & LOWER_HALF
            digits[i] = carry & LOWER_HALF
            carry >>= HALF_BITS
    top = _DIGITS - 1
    while top > 0 and digits[top] == 0:
        top -= 1
    bits = signed(0)
    while digits[top] >> bits != 0:
        bits += 1
    least = HALF_BITS * top + bits - (_FRACTION_BITS + 1)  # of the 53 bits that are kept
    if least <= 0:
        bits = digits[1] << HALF_BITS | digits[0]
        return bits | sign if bits != 0 else bits
    digit, shift = least >> 5, least & (HALF_BITS - 1)
    kept = digits[digit] >> shift | digits[digit + 1] << (HALF_BITS - shift)
    if shift > 0:
        kept |= digits[digit + 2] << (2 * HALF_BITS - shift)
    kept &= (1 << (_FRACTION_BITS + 1)) - 1
    below = least - 1
    is_half = digits[below >> 5] >> (below & (HALF_BITS - 1)) & 1
    has_less = digits[below >> 5] & ((1 << (below & (HALF_BITS - 1))) - 1) != 0
    for i in range(below >> 5):
        has_less |= digits[i] != 0
    if is_half != 0 and (has_less or kept & 1 != 0):
        kept += 1  # which may be one bit more: then the exponent is, and the fraction 0
    if least + (kept >> _FRACTION_BITS) >= _GREATEST_EXPONENT:
        return signed(_GREATEST_EXPONENT << _FRACTION_BITS) | sign
    return ((least << _FRACTION_BITS) + kept) | sign


@kernel
def total_of(operation: int, sums: Words, at: int) -> tuple[int, bool]:
    """A sum as a word, and whether it has one."""
    if operation == SUM_FLOAT:
        return _float_of(sums, at), True
    upper, _ = added(sums[at + 1], sums[at] >> HALF_BITS)
    sign = upper >> (HALF_BITS - 1)
    is_in_range = 0 <= upper <= LOWER_HALF if operation == SUM_UNSIGNED else sign == 0 or sign == -1
    return (upper << HALF_BITS) | (sums[at] & LOWER_HALF), is_in_range
