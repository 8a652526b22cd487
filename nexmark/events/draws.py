"""Counter-based random draws: a value depends on the seed, the event's number and the field, and on nothing else.

The generator is splitmix64 read at a place instead of in sequence: `mix(key + (number * FIELDS + field + 1) * GAMMA)`.
Only 64-bit integer arithmetic is used, so that a draw is the same on every machine.
"""

from __future__ import annotations

from decimal import Decimal, localcontext
from functools import lru_cache
from typing import Final

import numpy as np
import numpy.typing as npt

U64 = npt.NDArray[np.uint64]
I64 = npt.NDArray[np.int64]

FIELDS: Final = 64
"""Draws set aside for each event; a field is a number below this."""

_GAMMA: Final = 0x9E3779B97F4A7C15
_MASK: Final = (1 << 64) - 1
_PRICE_BITS: Final = 12
_PRICE_TABLES: Final = 3


def seed_key(seed: int) -> int:
    """Spreads a seed over 64 bits, so that neighbouring seeds do not give shifted copies of one sequence."""
    z = (seed ^ 0x6A09E667F3BCC909) & _MASK
    for multiplier in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        z = ((z ^ (z >> 33)) * multiplier) & _MASK
    return z ^ (z >> 33)


def draw(key: int, number: I64, field: int) -> U64:
    """64 random bits for each event number."""
    z = number.astype(np.uint64)
    z *= np.uint64((FIELDS * _GAMMA) & _MASK)
    z += np.uint64((key + (field + 1) * _GAMMA) & _MASK)
    z ^= z >> np.uint64(30)
    z *= np.uint64(0xBF58476D1CE4E5B9)
    z ^= z >> np.uint64(27)
    z *= np.uint64(0x94D049BB133111EB)
    z ^= z >> np.uint64(31)
    return z


def below(bits: U64, limit: I64 | int) -> I64:
    """Uniform in [0, limit) from the upper 32 bits; limit up to 2**31, its bias below 2**-32 * limit."""
    scaled = (bits >> np.uint64(32)) * np.asarray(limit, dtype=np.uint64)
    return (scaled >> np.uint64(32)).view(np.int64)


def below_wide(bits: U64, limit: I64) -> I64:
    """Uniform in [0, limit) from all 64 bits, for limits that 32 bits cannot serve."""
    return (bits % limit.astype(np.uint64)).view(np.int64)


@lru_cache(maxsize=1)
def _power_tables() -> tuple[npt.NDArray[np.float64], ...]:
    """Tables t[i][j] = 10**(6 * j / 2**(12 * (i + 1))), each entry the double nearest to the true value."""
    tables = []
    with localcontext() as context:
        context.prec = 50
        for index in range(_PRICE_TABLES):
            ratio = (Decimal(10).ln() * 6 / Decimal(2) ** (_PRICE_BITS * (index + 1))).exp()
            value, table = Decimal(1), []
            for _ in range(1 << _PRICE_BITS):
                table.append(float(value))
                value *= ratio
            tables.append(np.array(table))
    return tuple(tables)


def price(bits: U64) -> I64:
    """NEXMark's price, round(10**(6 U) * 100) with U uniform: 100 to 10**8.

    `pow` differs between C libraries in the last bit, which would now and then move a rounded price. So U is taken as
    36 bits and the power as a product of three table entries: the tables come from decimal arithmetic, and a product
    of doubles is the same wherever IEEE 754 holds.
    """
    upper, middle, lower = _power_tables()
    mask = np.uint64((1 << _PRICE_BITS) - 1)
    power = upper[(bits >> np.uint64(52)).view(np.int64)]
    power = power * middle[((bits >> np.uint64(40)) & mask).view(np.int64)]
    power *= lower[((bits >> np.uint64(28)) & mask).view(np.int64)]
    power *= 100.0
    power += 0.5
    return np.floor(power).astype(np.int64)
