"""Durations as people write them, "90s" or "1h", in nanoseconds; and what a number means beside a column of times."""

import re
from datetime import timedelta
from typing import Any, Final

import numpy as np

from tokenring.engine import MAX_TIME, SchemaError, UsageError


class Duration(int):
    """Nanoseconds that are known to be: `10 * SECOND`, `HOUR + 30 * MINUTE`. An int everywhere else."""

    __slots__ = ()

    def __mul__(self, other: int) -> "Duration":
        return Duration(int(self) * other) if isinstance(other, int) else NotImplemented

    __rmul__ = __mul__

    def __add__(self, other: int) -> "Duration":
        return Duration(int(self) + other) if isinstance(other, int) else NotImplemented

    def __sub__(self, other: int) -> "Duration":
        return Duration(int(self) - other) if isinstance(other, int) else NotImplemented

    def __neg__(self) -> "Duration":
        return Duration(-int(self))


MICROSECOND: Final = Duration(1_000)
MILLISECOND: Final = 1_000 * MICROSECOND
SECOND: Final = 1_000 * MILLISECOND
MINUTE: Final = 60 * SECOND
HOUR: Final = 60 * MINUTE
DAY: Final = 24 * HOUR
"""Units of time, in ns."""

Span = int | str | timedelta | np.timedelta64
"""A length of time: "10s", "1h", "5 ms", a timedelta, 10 * SECOND; or a number, in the unit of a column of int64."""

_UNITS: Final = {
    "ns": 1, "us": MICROSECOND, "ms": MILLISECOND, "s": SECOND, "min": MINUTE, "h": HOUR, "d": DAY,
}  # fmt: skip
_NUMPYS: Final = {**_UNITS, "m": MINUTE, "D": DAY, "W": 7 * DAY}
_DURATION: Final = re.compile(r"(-?\d+) ?([a-z]+)", re.ASCII)


def nanoseconds_of(text: str, what: str) -> int:
    """The nanoseconds of "15min"; UsageError, naming what they were wanted for, for what is no duration above 0."""
    found = _parsed(text)
    if found is None or found <= 0:
        units = ", ".join(_UNITS)
        raise UsageError(f"{what}: a duration is a whole number above 0 and one of {units}, such as '1h', not {text!r}")
    return found


def span_of(value: Any, kind: str, what: str) -> int:
    """A length of time in the unit of times of that kind, which may be negative: of a timestamp ns, of "int64" and the
    like the column's own, of "" (the stream's times) either. SchemaError, naming `what`, for a bare number beside a
    timestamp, a duration beside whole numbers, whose unit nobody knows, and what is neither.
    """
    if isinstance(value, int) and not isinstance(value, bool):
        if kind == "timestamp" and value and not isinstance(value, Duration):
            raise SchemaError(f"{what} is {value} of a timestamp: {value} what? Say '{value}s', '1h', or 10 * SECOND")
        return _within(int(value), value, what)
    if isinstance(value, str | timedelta | np.timedelta64):
        found = _parsed(value) if isinstance(value, str) else nanoseconds_in(value)
        if found is None:
            units = ", ".join(_UNITS)
            raise SchemaError(f"{what} is a whole number and one of {units}, such as '1h', not {value!r}")
        if kind not in ("timestamp", ""):
            raise SchemaError(
                f"{what} is {value!r} of a column of {kind}, whose unit nobody knows: give a number in it, such as "
                f"10 * SECOND of ns, or make the column a timestamp"
            )
        return _within(found, value, what)
    if isinstance(value, np.integer):  # which timedelta64 is one of
        return span_of(int(value), kind, what)
    raise SchemaError(f"{what} is a duration such as '1h', or an integer in an integer column's unit, not {value!r}")


def nanoseconds_in(value: timedelta | np.timedelta64) -> int | None:
    """The ns of a difference; None where it has none (months, or no time at all), or is told by less than ns."""
    if isinstance(value, timedelta):
        return (value.days * 86_400_000_000 + value.seconds * 1_000_000 + value.microseconds) * 1_000
    unit, count = np.datetime_data(value.dtype)
    return None if np.isnat(value) or unit not in _NUMPYS else int(value.astype(np.int64)) * count * _NUMPYS[unit]


def duration_of(nanoseconds: int) -> str:
    """A duration as one writes it, in the largest unit that says it in whole numbers: "90s", "1h"."""
    unit = [unit for unit, size in _UNITS.items() if nanoseconds % size == 0][-1]  # they stand in order of size
    return f"{nanoseconds // _UNITS[unit]}{unit}"


def is_span(text: str) -> bool:
    """Whether a text is a duration, and no column's name."""
    return _parsed(text) is not None


def _within(span: int, value: Any, what: str) -> int:
    if abs(span) > MAX_TIME:
        raise SchemaError(f"{what} is {value!r}, which lies beyond {MAX_TIME}")
    return int(span)


def _parsed(text: str) -> int | None:
    found = _DURATION.fullmatch(text)
    return int(found[1]) * int(_UNITS[found[2]]) if found is not None and found[2] in _UNITS else None
