"""Durations as people write them, "90s" or "1h", in nanoseconds."""

import re
from typing import Final

from engine import UsageError

_UNITS: Final = {
    "ns": 1,
    "us": 1_000,
    "ms": 1_000_000,
    "s": 1_000_000_000,
    "min": 60_000_000_000,
    "h": 3_600_000_000_000,
    "d": 86_400_000_000_000,
}
_DURATION: Final = re.compile(r"(\d+) ?([a-z]+)")


def nanoseconds_of(text: str, what: str) -> int:
    """The nanoseconds of "15min"; UsageError, naming what they were wanted for, for what is no duration above 0."""
    found = _DURATION.fullmatch(text)
    if found is None or found[2] not in _UNITS or int(found[1]) == 0:
        units = ", ".join(_UNITS)
        raise UsageError(f"{what}: a duration is a whole number above 0 and one of {units}, such as '1h', not {text!r}")
    return int(found[1]) * _UNITS[found[2]]
