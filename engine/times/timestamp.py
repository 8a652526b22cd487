"""Times: the order on timestamps.

In a dataflow's root scope a time is an integer, or a tuple of coordinates that the program has named. In a nested
(iterative) scope it is a tuple, one coordinate more for each loop around it: (epoch, round), (epoch, round, inner
round), ... Tuples are partially ordered: one is less or equal if it is in every coordinate.

Law (held by tests/engine/times/test_timestamp.py): `less_equal` is a partial order; on integers it is total.

Source: Naiad's structured times (section 2.1); products of integers (the progress-tracking chapter).
"""

from typing import Any

from tokenring.engine.arguments import as_integer
from tokenring.shm.stamp_words import STAMP_WORDS

Time = int
"""A totally ordered timestamp: an integer 0 <= t <= MAX_TIME (for event time: nanoseconds)."""

NestedTime = tuple[int, ...]
"""A time in a nested scope: the epoch, then one loop counter a loop, outermost first."""

AnyTime = int | tuple[int, ...]
"""A time of a scope of any depth."""

MAX_TIME: Time = 2**62 - 1
"""The last representable time, and the last value of any coordinate."""

COMPLETE: Time = 2**63 - 1
"""The frontier that no time reaches: the empty antichain, as an integer, so that `time < frontier` stays one
comparison.
"""

MOST_COORDINATES = STAMP_WORDS
"""Those of the root scope, mostly one, and one a loop: what a progress record and a message header carry. 4, or as
TOKENRING_COORDINATES in the environment says."""


def less_equal(left: Any, right: Any) -> bool:
    """Whether a message at `left` could still have effects at `right` (times of one depth)."""
    if left.__class__ is int:
        return bool(left <= right)
    return all(mine <= other for mine, other in zip(left, right, strict=True))


def coordinates(time: AnyTime) -> tuple[int, ...]:
    """The time as a tuple, whatever its depth."""
    return time if isinstance(time, tuple) else (time,)


def from_coordinates(words: tuple[int, ...]) -> AnyTime:
    """The time with these coordinates: an integer if there is only one."""
    return words if len(words) > 1 else words[0]


def time_from_plain(value: Any) -> Any:
    """A time, or None, that crossed a pipe or a file as plain values, in which tuples are lists."""
    return tuple(value) if isinstance(value, list) else value


def first_time(depth: int) -> AnyTime:
    """The least time of a scope with `depth` coordinates."""
    return (0,) * depth if depth > 1 else 0


def as_time(value: Any, depth: int) -> AnyTime:
    """`value` as a time of `depth` coordinates. Raises TypeError where it is none (a value out of range is not looked
    at).
    """
    try:
        if depth == 1:
            return value if value.__class__ is int else as_integer(value)
        if isinstance(value, tuple) and len(value) == depth:
            return tuple([each if each.__class__ is int else as_integer(each) for each in value])
    except TypeError:
        pass
    said = "is an integer, such as ns since 1970" if depth == 1 else f"in this scope is a tuple of {depth} integers"
    raise TypeError(f"a time {said}, not {value!r}")


def representable(time: AnyTime) -> bool:
    """Whether every coordinate lies in 0..MAX_TIME."""
    return all(0 <= coordinate <= MAX_TIME for coordinate in coordinates(time))
