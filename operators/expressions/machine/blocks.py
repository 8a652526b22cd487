"""The machine's operations on numbers: kernels over one block of words, each a loop that the compiler vectorises.

Registers are addresses of int64 words. `target`, `first`, `second` are addresses of `count` words; results may overlap
their operands. Where int64 may overflow it is computed as uint64: the compiler takes for granted that int64 does not
(numba's sums and products are "nsw"). What may go wrong with a row (overflow, division by zero, a cast that does not
fit) is noticed roughly, `True` for "perhaps", without stopping; `first_fault` then looks which row it was.
"""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import Words
from tokenring.engine.raw import words_at

LEAST = -(2**63)
SMALL_BITS = 51  # of numbers that are divided as floats, their sign apart: so quotients are less than one off
INT_ADD, INT_SUB, INT_MUL, INT_DIV, INT_MOD, INT_LEAST, INT_GREATEST = range(7)
UINT_ADD, UINT_SUB, UINT_MUL, UINT_DIV, UINT_MOD, UINT_LEAST, UINT_GREATEST = range(7, 14)
REAL_ADD, REAL_SUB, REAL_MUL, REAL_TRUE_DIV, REAL_DIV, REAL_MOD, REAL_LEAST, REAL_GREATEST = range(14, 22)
INT_EQ, INT_NE, INT_LT, INT_LE, UINT_LT, UINT_LE, REAL_EQ, REAL_NE, REAL_LT, REAL_LE = range(22, 32)
INT_TO_REAL, UINT_TO_REAL, REAL_TO_INT, REAL_TO_UINT, INT_TO_UINT, UINT_TO_INT = range(32, 38)


@kernel
def magnitude(words: Words, count: int) -> int:
    """How many bits the largest of some int64 takes, without its sign."""
    bits = np.int64(0)
    for i in range(count):
        bits |= words[i] ^ (words[i] >> 63)
    length = 0
    while bits > 0:
        bits >>= 1
        length += 1
    return length


@kernel
def divide(first: Words, divisor: int, target: Words, count: int, magic: int, shift: int, wants_rest: bool) -> None:
    """Floor division of int64 by one positive divisor: the upper half of a product with `magic`, shifted, which unlike
    the processor's division is done for several words at once (`magic_for`).
    """
    low, half = np.uint64(0xFFFFFFFF), np.uint64(32)
    magic_low, magic_high = np.uint64(magic) & low, np.uint64(magic) >> half
    steps = np.uint64(shift)
    for i in range(count):
        value = first[i]
        sign = value >> 63
        u = np.uint64(value ^ sign)
        u_low, u_high = u & low, u >> half
        middle = u_high * magic_low + ((u_low * magic_low) >> half)
        other = (middle & low) + u_low * magic_high
        upper = u_high * magic_high + (middle >> half) + (other >> half)
        quotient = np.int64(upper >> steps) ^ sign
        rest = np.int64(np.uint64(value) - np.uint64(quotient) * np.uint64(divisor))
        target[i] = rest if wants_rest else quotient


@kernel
def divide_small(first: Words, divisor: int, target: Words, count: int, wants_rest: bool) -> None:
    """The same for numbers of at most `SMALL_BITS` bits, several times as fast: the quotient by a reciprocal
    is at most one off, and its rest says which way."""
    reciprocal = 1.0 / np.float64(divisor)
    for i in range(count):
        value = first[i]
        quotient = np.int64(np.floor(np.float64(value) * reciprocal))
        rest = value - quotient * divisor
        quotient += np.int64(rest >= divisor) - np.int64(rest < 0)
        target[i] = value - quotient * divisor if wants_rest else quotient


def magic_for(divisor: int) -> tuple[int, int]:
    """The factor (its bits as an int64) and the shift by which `divide` divides by a divisor of 2 or more. Values have
    63 bits beside their sign, so a factor of 64 bits is exact (Granlund and Montgomery, "Division by invariant integers
    using multiplication", theorem 4.2).
    """
    length = (divisor - 1).bit_length()
    factor = (1 << (63 + length)) // divisor + 1
    return factor - 2**64 if factor >= 2**63 else factor, length - 1


@kernel
def whole(op: int, target: int, first: int, second: int, count: int, constant: int, magic: int) -> bool:
    """int64; `constant` is not 0 if all words of `second` are the same, and if `divide` is for it, 1 + its shift."""
    t, a, b = words_at(target, count), words_at(first, count), words_at(second, count)
    bad = np.int64(0)
    if op == INT_ADD:
        for i in range(count):
            r = np.int64(np.uint64(a[i]) + np.uint64(b[i]))
            bad |= (a[i] ^ r) & (b[i] ^ r)
            t[i] = r
    elif op == INT_SUB:
        for i in range(count):
            r = np.int64(np.uint64(a[i]) - np.uint64(b[i]))
            bad |= (a[i] ^ b[i]) & (a[i] ^ r)
            t[i] = r
    elif op == INT_MUL:
        if magnitude(a, count) + magnitude(b, 1 if constant != 0 else count) > 62:
            bad = np.int64(-1)
        for i in range(count):
            t[i] = np.int64(np.uint64(a[i]) * np.uint64(b[i]))
    elif op == INT_LEAST:
        for i in range(count):
            t[i] = min(a[i], b[i])
    elif op == INT_GREATEST:
        for i in range(count):
            t[i] = max(a[i], b[i])
    elif constant != 0 and b[0] > 1 and magnitude(a, count) <= SMALL_BITS and magnitude(b, 1) <= SMALL_BITS:
        divide_small(a, b[0], t, count, op == INT_MOD)
    elif constant != 0 and b[0] > 1:
        divide(a, b[0], t, count, magic, constant - 1, op == INT_MOD)
    else:
        for i in range(count):
            x, y = a[i], b[i]
            if y == 0 or y == -1:  # what the processor traps on
                bad |= np.int64(-1) if y == 0 or (x == LEAST and op == INT_DIV) else np.int64(0)
                t[i] = np.int64(-np.uint64(x)) if op == INT_DIV and y == -1 else 0
            elif op == INT_DIV:
                t[i] = x // y
            else:
                t[i] = x % y
    return bool(bad < 0)


@kernel
def unsigned(op: int, target: int, first: int, second: int, count: int) -> bool:
    """uint64."""
    t = words_at(target, count).view(np.uint64)
    a, b = words_at(first, count).view(np.uint64), words_at(second, count).view(np.uint64)
    bad = False
    if op == UINT_ADD:
        for i in range(count):
            r = a[i] + b[i]
            bad |= r < a[i]
            t[i] = r
    elif op == UINT_SUB:
        for i in range(count):
            bad |= a[i] < b[i]
            t[i] = a[i] - b[i]
    elif op == UINT_MUL:
        for i in range(count):
            x, y = a[i], b[i]
            r = x * y
            bad |= x != 0 and r // x != y
            t[i] = r
    elif op == UINT_LEAST:
        for i in range(count):
            t[i] = min(a[i], b[i])
    elif op == UINT_GREATEST:
        for i in range(count):
            t[i] = max(a[i], b[i])
    else:
        for i in range(count):
            x, y = a[i], b[i]
            if y == 0:
                bad = True
                t[i] = np.uint64(0)
            elif op == UINT_DIV:
                t[i] = x // y
            else:
                t[i] = x % y
    return bad


@kernel
def real(op: int, target: int, first: int, second: int, count: int) -> None:
    """float64; // and % as Python's, division by zero as IEEE's."""
    t = words_at(target, count).view(np.float64)
    a, b = words_at(first, count).view(np.float64), words_at(second, count).view(np.float64)
    if op == REAL_ADD:
        for i in range(count):
            t[i] = a[i] + b[i]
    elif op == REAL_SUB:
        for i in range(count):
            t[i] = a[i] - b[i]
    elif op == REAL_MUL:
        for i in range(count):
            t[i] = a[i] * b[i]
    elif op == REAL_TRUE_DIV:
        for i in range(count):
            t[i] = a[i] / b[i]
    elif op == REAL_LEAST:
        for i in range(count):
            t[i] = b[i] if b[i] < a[i] or b[i] != b[i] else a[i]
    elif op == REAL_GREATEST:
        for i in range(count):
            t[i] = b[i] if b[i] > a[i] or b[i] != b[i] else a[i]
    elif op == REAL_DIV:
        for i in range(count):
            t[i] = _floor_divided(a[i], b[i])
    else:
        for i in range(count):
            rest = np.remainder(a[i], b[i])
            t[i] = rest if rest != 0.0 else np.copysign(0.0, b[i])


@kernel
def _floor_divided(a: float, b: float) -> float:
    """a // b as Python has it: of what is left without a % b, not of a / b, which may be rounded up to the next one."""
    if b == 0.0:
        return a / b
    rest = np.fmod(a, b)
    quotient = (a - rest) / b
    if rest != 0.0 and (rest < 0.0) != (b < 0.0):
        quotient -= 1.0
    if quotient == 0.0:
        return np.copysign(0.0, a / b)
    whole = np.floor(quotient)
    return whole + 1.0 if quotient - whole > 0.5 else whole


@kernel
def compare(op: int, target: int, first: int, second: int, count: int) -> None:
    """1 where it is so, 0 elsewhere."""
    t, a, b = words_at(target, count), words_at(first, count), words_at(second, count)
    x, y = a.view(np.float64), b.view(np.float64)
    flip = np.int64(LEAST)
    if op == INT_EQ:
        for i in range(count):
            t[i] = np.int64(a[i] == b[i])
    elif op == INT_NE:
        for i in range(count):
            t[i] = np.int64(a[i] != b[i])
    elif op == INT_LT:
        for i in range(count):
            t[i] = np.int64(a[i] < b[i])
    elif op == INT_LE:
        for i in range(count):
            t[i] = np.int64(a[i] <= b[i])
    elif op == UINT_LT:
        for i in range(count):
            t[i] = np.int64((a[i] ^ flip) < (b[i] ^ flip))
    elif op == UINT_LE:
        for i in range(count):
            t[i] = np.int64((a[i] ^ flip) <= (b[i] ^ flip))
    elif op == REAL_EQ:
        for i in range(count):
            t[i] = np.int64(x[i] == y[i])
    elif op == REAL_NE:
        for i in range(count):
            t[i] = np.int64(x[i] != y[i])
    elif op == REAL_LT:
        for i in range(count):
            t[i] = np.int64(x[i] < y[i])
    else:
        for i in range(count):
            t[i] = np.int64(x[i] <= y[i])


@kernel
def convert(op: int, target: int, first: int, count: int) -> bool:
    """Between kinds of numbers."""
    t, a = words_at(target, count), words_at(first, count)
    x, reals = a.view(np.float64), t.view(np.float64)
    bad = False
    if op == INT_TO_REAL:
        for i in range(count):
            reals[i] = np.float64(a[i])
    elif op == UINT_TO_REAL:
        for i in range(count):
            reals[i] = np.float64(np.uint64(a[i]))
    elif op == REAL_TO_INT:
        for i in range(count):
            fits = x[i] >= -(2.0**63) and x[i] < 2.0**63
            bad |= not fits
            t[i] = np.int64(x[i]) if fits else 0
    elif op == REAL_TO_UINT:
        for i in range(count):
            fits = x[i] > -1.0 and x[i] < 2.0**64
            bad |= not fits
            value = x[i] if fits else 0.0
            t[i] = np.int64(value) if value < 2.0**63 else np.int64(value - 2.0**63) ^ np.int64(LEAST)
    else:
        for i in range(count):
            bad |= a[i] < 0
            t[i] = a[i]
    return bad


@kernel
def first_fault(op: int, first: int, second: int, guard: int, count: int) -> int:
    """The first row of the block whose result is not what it should be, of those where `guard` (0: none) is 1; or -1.
    """
    a, b, g = words_at(first, count), words_at(second, count), words_at(guard, count)
    for i in range(count):
        if guard != 0 and g[i] != 1:
            continue
        x, y = a[i], b[i]
        ux, uy = np.uint64(x), np.uint64(y)
        real_x = a.view(np.float64)[i]
        if op == INT_ADD:
            r = np.int64(ux + uy)
            bad = ((x ^ r) & (y ^ r)) < 0
        elif op == INT_SUB:
            bad = ((x ^ y) & (x ^ np.int64(ux - uy))) < 0
        elif op == INT_MUL:
            size_x, size_y = ux if x >= 0 else -ux, uy if y >= 0 else -uy
            most = np.uint64(2**63) if (x < 0) != (y < 0) else np.uint64(2**63 - 1)
            bad = x != 0 and size_y > most // size_x
        elif op == INT_DIV:
            bad = y == 0 or (x == LEAST and y == -1)
        elif op in (INT_MOD, UINT_DIV, UINT_MOD):
            bad = y == 0
        elif op == UINT_ADD:
            bad = ux + uy < ux
        elif op == UINT_SUB:
            bad = ux < uy
        elif op == UINT_MUL:
            bad = ux != 0 and (ux * uy) // ux != uy
        elif op == REAL_TO_INT:
            bad = not (real_x >= -(2.0**63) and real_x < 2.0**63)
        elif op == REAL_TO_UINT:
            bad = not (real_x > -1.0 and real_x < 2.0**64)
        else:
            bad = x < 0
        if bad:
            return i
    return -1
