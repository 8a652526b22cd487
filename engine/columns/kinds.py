"""Kinds of columns, each one 8-byte word a row, and how their values behave: what words they are, which word is null,
how words are in order and which are equal, what their range and their sums are.

What others need to know of a kind they ask it; its Arrow type stands in arrow.py, how Python's values and texts are
words of it in exact.py, its casts and arithmetic in operators/expressions/typed.py.
"""

import re
from dataclasses import dataclass
from datetime import date
from functools import cache
from typing import Any, Final, NamedTuple

import numpy as np

from tokenring.engine.errors import SchemaError

TEXT_NULL: Final = -1
BOOL_NULL: Final = 2
MOST_DIGITS: Final = 18
"""Of a decimal: so many fit a word, with room for the sum of two."""
SIGNED, UNSIGNED, FLOAT, TEXT = range(4)
"""How words are in order: as int64, as uint64, as floats (of which 0.0 and -0.0 are equal), or as the texts they are
of (equal where those are)."""
NO_FLOATS: Final = "give decimal.Decimal, integers or text, or declare it float64"
"""What to do about floats in a column of decimals."""
_LEAST: Final = -(2**63)
_NAN: Final = 0x7FF80000000007A2
_1970: Final = date(1970, 1, 1).toordinal()


class _Rule(NamedTuple):
    """What kinds of one family have in common. total: the kind of their sums, if they have any; range: of the words of
    values, if that is not all words; cure: what to do about values beyond it; seen: as what numpy shows words, if it is
    not the dtype; is_exact: see Kind."""

    dtype: np.dtype[Any]
    null: int
    order: int = SIGNED
    total: str = ""
    range: tuple[int, int] | None = None
    cure: str = ""
    seen: str = ""
    is_exact: bool = False


_INT64, _UINT64, _FLOAT64 = np.dtype(np.int64), np.dtype(np.uint64), np.dtype(np.float64)
_RULES: Final = {
    "int64": _Rule(_INT64, _LEAST, total="int64"),
    "uint64": _Rule(_UINT64, -1, UNSIGNED, total="uint64"),
    "float64": _Rule(_FLOAT64, _NAN, FLOAT, total="float64"),
    "bool": _Rule(_INT64, BOOL_NULL, total="int64"),
    "timestamp": _Rule(_INT64, _LEAST, seen="datetime64[ns]"),
    "date": _Rule(
        _INT64, _LEAST, range=(1 - _1970, date.max.toordinal() - _1970), cure="dates are of the years 1 to 9999",
        seen="datetime64[D]", is_exact=True,
    ),
    "decimal": _Rule(_INT64, _LEAST, total="decimal", cure="give a kind with more digits", is_exact=True),
    "string": _Rule(_INT64, TEXT_NULL, TEXT),
    "bytes": _Rule(_INT64, TEXT_NULL, TEXT),
}  # fmt: skip
_DECIMAL: Final = re.compile(r"decimal\( *(\d{1,3}) *(?:, *(\d{1,3}) *)?\)")
_MEANT: Final = {
    "int": "int64", "int32": "int64", "long": "int64", "float": "float64", "double": "float64", "float32": "float64",
    "str": "string", "text": "string", "object": "string", "utf8": "string", "boolean": "bool", "binary": "bytes",
    "datetime": "timestamp", "datetime64[ns]": "timestamp", "time": "timestamp", "date32": "date",
    "datetime64[D]": "date", "decimal": "decimal(18, 2)", "numeric": "decimal(18, 2)",
}
ORDERS: Final = {family: rule.order for family, rule in _RULES.items() if rule.order != TEXT}
"""How words are in order, by the family of their kind, but for text."""
KIND_NAMES: Final = tuple([name if name != "decimal" else "decimal(p, s)" for name in _RULES])


def names_of_kinds(*, totals: bool = False, texts: bool = False) -> str:
    """Which kinds there are, for messages: all but text, or those that have sums."""
    rules = zip(KIND_NAMES, _RULES.values(), strict=True)
    return ", ".join([name for name, rule in rules if (texts or rule.order != TEXT) and (rule.total or not totals)])


def exact_families() -> list[str]:
    """The families of kinds that are read from text to the last digit, or not at all: date, decimal."""
    return [family for family, rule in _RULES.items() if rule.is_exact]


@dataclass(frozen=True)
class Kind:
    """What a column holds, an 8-byte word a row. `str(kind)` is how schemas spell it: "int64", "string?".

    | kind | word | null |
    | --- | --- | --- |
    | int64, uint64 | the number | the least, the greatest |
    | float64 | its bits | a NaN with a payload of its own (as R has it) |
    | bool | 0 or 1 | 2 |
    | timestamp | int64 nanoseconds since 1970-01-01 UTC | the least (numpy's NaT) |
    | date | int64 days since 1970-01-01, of the years 1 to 9999 | the least (numpy's NaT) |
    | decimal(p, s) | int64, the number times 10**s: p digits (up to 18), s of them behind the point | the least |
    | string, bytes | offset << 24 or length, into the column's heap of bytes | -1 |

    So a null costs nothing: no mask travels, and whatever moves words moves nulls.
    """

    name: str
    """As a schema spells it, but for the ?: "int64", "decimal(12, 2)"."""
    nullable: bool
    dtype: np.dtype[Any]
    """Of the words: int64, uint64 or float64."""
    null: int
    """The bits of the word that stands for null, as an int64."""
    is_text: bool
    is_plain: bool
    """Whether the words are what users see: numbers that are never null."""
    family: str
    """The name without parameters: "decimal" of each decimal(p, s)."""
    order: int
    """SIGNED, UNSIGNED, FLOAT or TEXT."""
    precision: int = 0
    scale: int = 0
    """Of a decimal, how many digits it has, and how many of them behind the point; 0 of others."""

    def __str__(self) -> str:
        return f"{self.name}?" if self.nullable else self.name

    @property
    def is_float(self) -> bool:
        """Whether words may differ that are equal (0.0 and -0.0), and there may be NaN."""
        return self.order == FLOAT

    @property
    def is_unsigned(self) -> bool:
        """Whether words are in the order of uint64."""
        return self.order == UNSIGNED

    @property
    def is_instant(self) -> bool:
        """Whether it is of times, in ns."""
        return self.family == "timestamp"

    @property
    def is_exact(self) -> bool:
        """Whether its values are no numbers of numpy's, but read from text, and shown, to the last digit."""
        return _RULES[self.family].is_exact

    @property
    def seen(self) -> str:
        """The dtype as which users see words, if it is one of numpy's times; else ""."""
        return _RULES[self.family].seen

    @property
    def cure(self) -> str:
        """What to do about values beyond its range."""
        return _RULES[self.family].cure

    @property
    def is_date(self) -> bool:
        """Whether it is of days."""
        return self.family == "date"

    @property
    def is_decimal(self) -> bool:
        """Whether it is of whole numbers of 10**-scale."""
        return self.family == "decimal"

    @property
    def null_is_a_number(self) -> bool:
        """Whether the word that stands for null is a value where the kind is not nullable."""
        return self.family in ("int64", "uint64")

    @property
    def range(self) -> tuple[int, int] | None:
        """The least and the greatest word of a value; None where all words are values, but the null's."""
        return (1 - 10**self.precision, 10**self.precision - 1) if self.is_decimal else _RULES[self.family].range

    @property
    def unit(self) -> int:
        """How many of its words' units make 1: 10**scale."""
        return int(10**self.scale)

    @property
    def total(self) -> str:
        """The name of the kind of its sums; "" if it has none."""
        return f"decimal({MOST_DIGITS}, {self.scale})" if self.is_decimal else _RULES[self.family].total

    def nulls(self, words: np.ndarray) -> np.ndarray:
        """Where words are null: bool of shape (rows,)."""
        if not self.nullable:
            return np.zeros(len(words), np.bool_)
        return np.asarray(words.view(np.int64) == self.null)

    def null_word(self) -> np.ndarray:
        """The word that stands for null, as an array of one."""
        return np.array([self.null], np.int64).view(self.dtype)

    def beyond(self, words: np.ndarray) -> np.ndarray | None:
        """Where words are out of the kind's range, as the null is: bool of shape (rows,); None if it has no range."""
        if self.range is None:
            return None
        least, most = self.range
        return np.asarray((words < least) | (words > most))


def kind_of(text: str, column: str) -> Kind:
    """The kind that a schema spells so; SchemaError for none, naming the column."""
    name = text.removesuffix("?") if isinstance(text, str) else text
    found = _DECIMAL.fullmatch(name) if isinstance(name, str) else None
    if found is not None:
        precision, scale = int(found[1]), int(found[2] or 0)
        if not 1 <= precision <= MOST_DIGITS or scale > precision:
            raise SchemaError(
                f"column {column!r}: {text} is no kind: a decimal has 1 to {MOST_DIGITS} digits, and no more of them "
                f"behind the point than it has; say decimal({MOST_DIGITS}, {min(scale, MOST_DIGITS)}) if the values "
                f"fit it, else float64 or string"
            )
        return _kind("decimal", text != name, precision, scale)
    if not isinstance(name, str) or name not in _RULES or name == "decimal":
        meant = _MEANT.get(name) if isinstance(name, str) else None
        raise SchemaError(
            f"column {column!r}: kind must be one of {', '.join(KIND_NAMES)}, with ? behind it where nulls may be, "
            f"not {text!r}{f'; {meant!r} holds those' if meant else ''}"
        )
    return _kind(name, text != name)


@cache
def _kind(family: str, nullable: bool, precision: int = 0, scale: int = 0) -> Kind:
    rule = _RULES[family]
    is_plain = not nullable and family in ("int64", "uint64", "float64")
    name = family if family != "decimal" else f"decimal({precision}, {scale})"
    return Kind(
        name, nullable, rule.dtype, rule.null, rule.order == TEXT, is_plain, family, rule.order, precision, scale
    )


def decimal_of(precision: int, scale: int) -> str:
    """How a schema spells the decimal of so many digits, so many of them behind the point."""
    return f"decimal({precision}, {scale})"
