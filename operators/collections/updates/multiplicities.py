"""How often rows are there: numbers from -(2**63 - 1) to 2**63 - 1, so that each may be negated; added and multiplied
so that one beyond is noticed.
"""

import numpy as np

from tokenring.engine import kernel

TOO_OFTEN = -1
"""In place of a number of rows: a row would be there, or be taken away, more often than can be said."""

_LEAST_WORD, _MOST = np.iinfo(np.int64).min, np.iinfo(np.int64).max
_HALF = np.int64(1) << 31  # what is smaller than that is multiplied without a look


@kernel
def added(total, times):  # type: ignore[no-untyped-def]
    """(the sum of two words, how far it went beyond their bits: -1, 0 or 1). Of sums whose carries come to 0 in the
    end, the last word is right, whatever the order. Words are added without a sign: what is signed never goes beyond,
    as LLVM sees it."""
    after = np.int64(np.uint64(total) + np.uint64(times))
    if (total ^ after) & (times ^ after) >= 0:
        return after, np.int64(0)
    return after, np.int64(1) if times >= 0 else np.int64(-1)


@kernel
def can_be_said(total, carries):  # type: ignore[no-untyped-def]
    """Whether a sum, with the carries that it took, is a multiplicity."""
    return carries == 0 and total != _LEAST_WORD


@kernel
def product(times, others):  # type: ignore[no-untyped-def]
    """(the product of two words, whether it is a multiplicity)."""
    if -_HALF <= times < _HALF and -_HALF <= others < _HALF:
        return np.int64(times * others), True
    if times == 0 or others == 0:
        return np.int64(0), True
    if times == _LEAST_WORD or others == _LEAST_WORD:
        return np.int64(0), False
    if np.uint64(abs(others)) > np.uint64(_MOST) // np.uint64(abs(times)):
        return np.int64(0), False
    return np.int64(times * others), True
