"""Constants of expressions: their kinds and words."""

from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from struct import pack, unpack
from sys import float_info
from typing import Any

import numpy as np

from tokenring.engine import Kind, Schema, SchemaError
from tokenring.engine.columns import instant_of
from tokenring.operators.durations import DAY, nanoseconds_in

DAY_NS = int(DAY)
_KINDS: dict[str, Kind] = {}


def kind_named(spelled: str) -> Kind:
    """The kind that a schema spells so."""
    if not isinstance(spelled, str) or spelled not in _KINDS:
        _KINDS[spelled] = Schema.of({"value": spelled}).kinds[0]
    return _KINDS[spelled]


def null_word(kind: str) -> int:
    """The word that stands for null in a column of this kind, as an int64."""
    return kind_named(f"{kind}?").null


def bits(value: float) -> int:
    """The bits of a float as an int64."""
    word: int = unpack("=q", pack("=d", value))[0]
    return word


def octets_of(text: str) -> bytes:
    """The UTF-8 of a text; SchemaError for one that has none."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise SchemaError(f"{text!r} is no text: half of a surrogate pair is no character; leave it out") from None


def constant(value: Any, beside: str | None) -> tuple[str, Any]:
    """The kind of a constant and its word (of text, its bytes), where `beside` is the kind of what it is used with: a
    whole number fits all kinds of numbers, text that reads so a timestamp or a date, a date a timestamp; a timedelta of
    whole days is days beside a date. SchemaError if it fits none.
    """
    if isinstance(value, np.datetime64) and value.dtype == np.dtype("datetime64[D]") and not np.isnat(value):
        value = value.item()
    if isinstance(value, date) and not isinstance(value, datetime):
        return ("timestamp", _instant(value)) if beside == "timestamp" else ("date", _day(value))
    if isinstance(value, np.datetime64 | datetime):
        return "timestamp", _instant(value)
    if isinstance(value, np.timedelta64 | timedelta):
        return "int64", _span(value, beside)
    if isinstance(value, Decimal):
        return _exact(value)
    if isinstance(value, np.generic):
        value = value.item()
    if value is None:
        if beside is None:
            raise SchemaError("a null beside nothing that has a kind; say when(False).then(0) for an int64?, and so on")
        return beside, null_word(beside) if beside not in ("string", "bytes") else None
    if isinstance(value, bool):
        return "bool", int(value)
    if isinstance(value, int):
        return _whole(value, beside)
    if isinstance(value, float):
        return "float64", bits(value)
    if isinstance(value, str):
        octets = octets_of(value)
        if beside == "timestamp":
            return "timestamp", _instant(value)
        if beside == "date":
            return "date", _day(value)
        return "string", octets
    if isinstance(value, bytes):
        return "bytes", value
    raise SchemaError(f"{value!r} is no constant that a column could hold")


def _exact(value: Decimal) -> tuple[str, int]:
    from tokenring.engine.columns import holding, word_of

    kind = holding([value])
    return kind, word_of(kind_named(kind), value)


def _whole(value: int, beside: str | None) -> tuple[str, int]:
    if beside is not None and kind_named(beside).is_decimal:
        return _exact(Decimal(value))
    if beside == "float64":
        if abs(value) > 2**53:
            near = repr(float(value)) if abs(value) <= float_info.max else f"float('{'-' * (value < 0)}inf')"
            raise SchemaError(f"{value} is no float without loss; write {near}")
        return "float64", bits(float(value))
    if beside == "uint64" or (beside is None and 2**63 <= value < 2**64):
        if not 0 <= value < 2**64:
            raise SchemaError(f"{value} does not fit uint64")
        return "uint64", value - 2**64 if value >= 2**63 else value
    if not -(2**63) <= value < 2**63:
        raise SchemaError(f"{value} does not fit int64")
    return "int64", value


def _span(value: np.timedelta64 | timedelta, beside: str | None) -> int:
    """The ns of a difference of times; beside a date, its days."""
    span = nanoseconds_in(value)
    if span is None:
        raise SchemaError(f"{value!r} is no whole number of ns; give it in ns, us, ms, s, m, h, D or W")
    if beside == "date":
        if span % DAY_NS:
            raise SchemaError(f'{value!r} is no number of days; say .cast("timestamp") of the date')
        span //= DAY_NS
    if not -(2**63) <= span < 2**63:
        raise SchemaError(f"{value!r} is beyond the 292 years that ns reach; a date takes longer ones, of whole days")
    return span


def _day(given: date | str) -> int:
    from tokenring.engine.columns import day_in, day_of

    day = day_in(given) if isinstance(given, str) else day_of(given)
    if day is None:
        raise SchemaError(f"{given!r:.40} is no date, such as '2024-02-29'")
    return day


def _instant(value: Any) -> int:
    if isinstance(value, str):
        return instant_of(value)
    if isinstance(value, datetime) and value.tzinfo is not None:
        value = value.astimezone(UTC).replace(tzinfo=None)
    try:
        given = np.datetime64(value)
    except ValueError as error:
        raise SchemaError(f"{value!r} is no time: {error}") from None
    instant = given.astype("datetime64[ns]")
    if instant.astype(given.dtype) != given:  # numpy wraps around; it is so of NaT, too
        raise SchemaError(f"{value!r} is no time within 1677 to 2262")
    return int(instant.astype(np.int64))
