"""Path summaries: what a path through the graph does to a timestamp.

Laws (held by tests/engine/times/test_timestamp.py):
1. `results_in` is monotone, never moves a kept coordinate back, and is None only where it cannot be represented.
2. `followed_by` is associative with the identities as its units, and p.followed_by(q) results in what q makes of what p
   results in.

Source: the progress-tracking chapter ("Path Summaries").
"""

from typing import Any

from tokenring.engine.arguments import as_integer
from tokenring.engine.errors import UsageError
from tokenring.engine.times.timestamp import MAX_TIME, from_coordinates


class PathSummary:
    """The least change to a timestamp along a path: what is added to the coordinates that are kept, and which constants
    follow them.

    `PathSummary(3)` delays an integer time by 3; `PathSummary(0, 1)` advances the round of (epoch, round) by one;
    `PathSummary(0, then=(0,))` enters a loop at its round 0; `PathSummary(0)`, applied to a tuple, leaves the loop.
    Delays and constants are in 0..MAX_TIME; UsageError for others.
    """

    __slots__ = ("delays", "then")

    def __init__(self, *delays: int, then: tuple[int, ...] = ()) -> None:
        self.delays: tuple[int, ...] = delays or (0,)
        self.then = then
        if not isinstance(then, tuple):
            raise UsageError(f"what follows the coordinates of a path summary is a tuple, such as (0,), not {then!r}")
        for number in (*self.delays, *then):
            try:
                advances = 0 <= as_integer(number) <= MAX_TIME
            except TypeError:
                advances = False
            if not advances:
                raise UsageError(
                    f"a path summary only advances times: delay {number!r} is no whole number in 0..{MAX_TIME}"
                )

    @property
    def delay(self) -> int:
        """What is added to the epoch."""
        return self.delays[0]

    @property
    def depth(self) -> int:
        """The number of coordinates of what it results in."""
        return len(self.delays) + len(self.then)

    @property
    def is_identity(self) -> bool:
        """Whether it leaves times of its depth as they are."""
        return not self.then and not any(self.delays)

    def results_in(self, time: Any) -> Any:
        """The least time at the end of the path for `time` at its start, or None if there is none."""
        before = time if time.__class__ is tuple else (time,)
        result = tuple([at + delay for at, delay in zip(before, self.delays, strict=False)])
        if max(result) > MAX_TIME:
            return None
        return from_coordinates(result + self.then)

    def followed_by(self, other: "PathSummary") -> "PathSummary | None":
        """The summary of this path and then `other`, or None if no time survives it."""
        mine, theirs = (*self.delays, *self.then), other.delays
        sums = tuple([one + more for one, more in zip(mine, theirs, strict=False)])
        if max(sums) > MAX_TIME:
            return None
        kept = min(len(self.delays), len(theirs))
        return PathSummary(*sums[:kept], then=sums[kept:] + other.then)

    def less_equal(self, other: "PathSummary") -> bool:
        """Whether this summary's result is never later than the other's, for summaries between the same scopes."""
        return len(self.delays) <= len(other.delays) and all(
            mine <= theirs
            for mine, theirs in zip((*self.delays, *self.then), (*other.delays, *other.then), strict=False)
        )

    def __eq__(self, other: object) -> bool:
        return isinstance(other, PathSummary) and self.delays == other.delays and self.then == other.then

    def __hash__(self) -> int:
        return hash((self.delays, self.then))

    def __repr__(self) -> str:
        then = f", then={self.then}" if self.then else ""
        return f"PathSummary({', '.join(map(str, self.delays))}{then})"


IDENTITY = PathSummary(0)
"""The summary of a path that leaves integer times as they are."""


def identity(depth: int) -> PathSummary:
    """The summary of a path that leaves times of `depth` coordinates as they are."""
    return PathSummary(*(0,) * depth) if depth > 1 else IDENTITY


def enter_summary(depth: int) -> PathSummary:
    """From a scope of `depth` coordinates into a loop within it, at its round 0."""
    return PathSummary(*(0,) * depth, then=(0,))


def leave_summary(depth: int) -> PathSummary:
    """From a loop of `depth` coordinates to the scope around it: the loop's counter is forgotten."""
    return PathSummary(*(0,) * (depth - 1))


def feedback_summary(depth: int, increment: int = 1) -> PathSummary:
    """Around a loop of `depth` coordinates once: its counter advances."""
    return PathSummary(*(0,) * (depth - 1), increment)
