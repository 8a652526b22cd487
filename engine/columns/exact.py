"""Exact kinds, which are date and decimal: their values as Python has them, and as text. Nothing is rounded here."""

import re
from collections.abc import Callable, Iterable
from datetime import date, datetime, timedelta
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Context, Decimal
from typing import Any, Final, NamedTuple

import numpy as np

from tokenring.engine.columns.kinds import MOST_DIGITS, NO_FLOATS, Kind, decimal_of
from tokenring.engine.errors import SchemaError

_EXACT: Final = Context(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN)
_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]{1,4})?")
_DATE: Final = re.compile("[0-9]{4}-[0-9]{2}-[0-9]{2}")
_1970: Final = date(1970, 1, 1).toordinal()


def values_of(kind: Kind, words: np.ndarray) -> np.ndarray:
    """The values of a column of an exact kind, None where null; object of shape (rows,)."""
    values, value_of = np.empty(len(words), object), _WAYS[kind.family].value
    null = kind.null if kind.nullable else None
    values[:] = [None if word == null else value_of(kind, word) for word in words.tolist()]
    return values


def shown(kind: Kind, word: int) -> str:
    """The value of a word of an exact kind as text: "2024-02-29", "-12.50"."""
    return as_text(_WAYS[kind.family].value(kind, word))


def exact_word(kind: Kind, value: Any) -> int:
    """The word of whatever holds a value of an exact kind, all of it; SchemaError for what does not."""
    return _WAYS[kind.family].word(kind, value)


def word_in(kind: Kind, text: str) -> int | None:
    """The word of a value of an exact kind that is written so; None if it is none."""
    return _WAYS[kind.family].read(kind, text)


def as_text(value: Any) -> str:
    """A value as text, a decimal with all its digits behind the point: `str` gives small ones an exponent, 0E-7."""
    return format(value, "f") if isinstance(value, Decimal) else str(value)


def word_of(kind: Kind, value: Decimal | int) -> int:
    """The word of a number in a column of decimals; SchemaError if the kind does not hold all its digits."""
    number = Decimal(value)
    if not number.is_finite():
        raise SchemaError(f"{value} is no {kind.name}, which holds numbers alone")
    scaled = number.scaleb(kind.scale, _EXACT)
    if scaled != scaled.to_integral_value():
        raise SchemaError(
            f"{value} is no {kind.name}, which has {kind.scale} digits behind the point; round it, or give a kind with "
            f"more of them"
        )
    if abs(scaled) >= 10**kind.precision:
        raise SchemaError(f"{value} is no {kind.name}, which has {kind.precision} digits; give a kind with more")
    return int(scaled)


def holding(values: Iterable[Decimal]) -> str:
    """The decimal that holds all these numbers, as a schema spells it; SchemaError if there is none."""
    whole = scale = 0
    for value in values:
        _, digits, exponent = value.as_tuple()
        if not isinstance(exponent, int):
            raise SchemaError(f"{value} is no number that a decimal holds")
        scale = max(scale, -exponent)
        whole = max(whole, len(digits) + exponent if any(digits) else 0)
    if whole + scale > MOST_DIGITS:
        raise SchemaError(
            f"{whole + scale} digits, {scale} of them behind the point, are more than the {MOST_DIGITS} of a decimal; "
            f"round the values, or make them float64 or string"
        )
    return decimal_of(max(whole + scale, 1), scale)


def _decimal_in(kind: Kind, text: str) -> int | None:
    if not _NUMBER.fullmatch(text):
        return None
    try:
        return word_of(kind, Decimal(text))
    except SchemaError:
        return None


def day_of(value: date) -> int:
    """The word of a date: days since 1970."""
    return value.toordinal() - _1970


def day_in(text: str) -> int | None:
    """The word of a date that is written so, YYYY-MM-DD; None if it is none."""
    try:
        return day_of(date.fromisoformat(text)) if _DATE.fullmatch(text) else None
    except ValueError:
        return None


def _date_word(kind: Kind, value: Any) -> int:
    """The word of what Python, numpy and pandas have for a date, or a text that is one."""
    day = None
    if isinstance(value, str):
        day = day_in(value)
    elif isinstance(value, np.datetime64) and value == value.astype("datetime64[D]"):
        day = int(value.astype("datetime64[D]").astype(np.int64))
    elif isinstance(value, datetime):
        of_day = value.replace(tzinfo=None) - datetime(value.year, value.month, value.day)
        if not of_day and value.utcoffset() in (None, timedelta(0)) and not getattr(value, "nanosecond", 0):
            day = day_of(value)
    elif isinstance(value, date):
        day = day_of(value)
    elif isinstance(value, int | np.integer) and not isinstance(value, bool) and abs(int(value)) < 2**53:
        day = int(value)
    if day is None:
        raise SchemaError(f"{value!r:.40} is no {kind.name}; give datetime.date, text such as '2024-02-29', or a day")
    return day


def _decimal_word(kind: Kind, value: Any) -> int:
    if isinstance(value, str):
        word = _decimal_in(kind, value)
        if word is None:
            raise SchemaError(f"{value!r:.40} is no {kind.name}")
        return word
    if isinstance(value, bool) or not isinstance(value, int | Decimal | np.integer):
        raise SchemaError(f"{value!r:.40} is no {kind.name}; {NO_FLOATS}")
    return word_of(kind, Decimal(int(value)) if isinstance(value, np.integer) else value)


class _Way(NamedTuple):
    """What the values of a family of exact kinds are: that of a word, the word of whatever holds one (SchemaError for
    what does not), and of a text (None if it is none)."""

    value: Callable[[Kind, int], Any]
    word: Callable[[Kind, Any], int]
    read: Callable[[Kind, str], int | None]


_WAYS: Final = {
    "date": _Way(lambda kind, word: np.datetime64(word, "D"), _date_word, lambda kind, text: day_in(text)),
    "decimal": _Way(lambda kind, word: Decimal(word).scaleb(-kind.scale, _EXACT), _decimal_word, _decimal_in),
}
