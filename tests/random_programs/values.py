"""The values of rows: which keys, texts and floats there are in a trial, drawn for it."""

from __future__ import annotations

import math
from random import Random
from typing import NamedTuple

KEYS = ("few", "two", "falling", "never again", "ends")
TEXTS = ("few", "two", "never again", "long")
FLOATS = ("few", "edges", "falling")
"""Which values may be drawn, the usual ones first."""
NAN = math.nan
"""The one that stands for all, so that it is equal to itself; rows are sent with either sign."""
HUGE, TINY = 1e300, 5e-324
SOME_FLOATS = (0.0, -0.0, 1.5, -2.25, HUGE)
EDGES_OF_FLOATS = (*SOME_FLOATS, NAN, math.inf, -math.inf, TINY)
_NAMES = ("a", "", "ä name that is longer than eight bytes", "b", "c", "dd", "e e", None)
_PREFIX = "ä name that is long, as others are " * 32 + "d"
_LONG = (_PREFIX, _PREFIX[:-1], *[_PREFIX + more for more in ("a", "b", "ab", "c" * 40)], "", None)
ENDS = (2**63 - 1, 2**63 - 2, 2**62 + 4, 2**53 + 1, 11, 0, -1, -(2**62) - 7, -(2**63) + 5, -(2**63) + 1)
"""Keys near the ends of int64, the least of which is null. Their ids differ, as those of all keys do."""
_GOLDEN = 0x9E3779B97F4A7C15


def texts_of(number: int) -> str:
    """A text of each number below 4,096: each has other letters, and some begin as others do."""
    return "".join([letter * (number >> 3 * at & 7) for at, letter in enumerate("abcd")])


class Values(NamedTuple):
    """Which keys, texts and floats are drawn; first: of keys that fall."""

    keys: str = "few"
    texts: str = "few"
    floats: str = "few"
    first: int = 0

    def key(self, random: Random, few: int, number: int) -> int | None:
        """Of the row of this number; few: how many usual ones there are."""
        if random.random() < 0.1:
            return None
        match self.keys:
            case "falling":
                return self.first - 3 * number
            case "never again":
                return (number * _GOLDEN + 2**63) % 2**64 - 2**63
            case "ends":
                return random.choice(ENDS)
        return random.randrange(2 if self.keys == "two" else few)

    def text(self, random: Random, number: int) -> str | None:
        """Of the row of this number."""
        if self.texts == "never again":
            return texts_of(number)
        return random.choice({"two": ("a", None), "long": _LONG}.get(self.texts, _NAMES))

    def float(self, random: Random, number: int) -> float:
        """Of the row of this number."""
        if self.floats == "falling":
            return -number / 8
        return random.choice(SOME_FLOATS if self.floats == "few" else EDGES_OF_FLOATS)


def drawn_values(random: Random) -> Values:
    """The usual ones in each second trial; in others any."""
    if random.random() < 0.5:
        return Values()
    first = random.choice([300, 2**63 - 1, -(2**62)])
    return Values(random.choice(KEYS), random.choice(TEXTS), random.choice(FLOATS), first)
