"""The machine's operations on decimals and dates: kernels over one block of words; see blocks.py."""

import numpy as np

from tokenring.engine import kernel
from tokenring.engine.compiled import signed, unsigned
from tokenring.engine.raw import words_at

FIRST_EXACT = 61
"""The first of these operations."""
_FITS, _ROUND, _CUT, _TO_REAL, _FROM_REAL = range(FIRST_EXACT, FIRST_EXACT + 5)


@kernel
def _nearest(value: int) -> int:
    """The whole number next to it, of two the one farther from zero; what adding a half would round is left alone."""
    whole = signed(value)
    rest = value - np.float64(whole)
    return whole + signed(rest >= 0.5) - signed(rest <= -0.5)


@kernel
def exact(op: int, target: int, first: int, c: int, d: int, count: int) -> bool:
    """Words that must be from c to d; words divided by c, rounded with halves away from zero, or cut off; as float64
    divided by c; float64 times c, rounded. `True` if one may be out of range."""
    t, a = words_at(target, count), words_at(first, count)
    bad = False
    if op == _FITS:
        for i in range(count):
            bad |= (a[i] < c) | (a[i] > d)
            t[i] = a[i]
    elif op == _ROUND:
        for i in range(count):
            size = unsigned(a[i]) if a[i] >= 0 else -unsigned(a[i])
            made = signed((size + unsigned(c // 2)) // unsigned(c))
            t[i] = made if a[i] >= 0 else -made
    elif op == _CUT:
        for i in range(count):
            size = unsigned(a[i]) if a[i] >= 0 else -unsigned(a[i])
            made = signed(size // unsigned(c))
            t[i] = made if a[i] >= 0 else -made
    elif op == _TO_REAL:
        made_reals = t.view(np.float64)
        for i in range(count):
            made_reals[i] = np.float64(a[i]) / np.float64(c)
    else:
        reals = a.view(np.float64)
        for i in range(count):
            made_real = reals[i] * np.float64(c)
            fits = made_real > -(2.0**63) and made_real < 2.0**63
            bad |= not fits
            t[i] = _nearest(made_real) if fits else 0
    return bad


@kernel
def first_inexact(op: int, first: int, c: int, d: int, guard: int, count: int) -> int:
    """The first row of the block that is out of range, of those where `guard` (0: none) is 1; or -1."""
    a, g = words_at(first, count), words_at(guard, count)
    reals = a.view(np.float64)
    for i in range(count):
        if guard != 0 and g[i] != 1:
            continue
        made = reals[i] * np.float64(c)
        if (a[i] < c or a[i] > d) if op == _FITS else not (made > -(2.0**63) and made < 2.0**63):
            return i
    return -1
