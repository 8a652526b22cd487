"""Times and path summaries: the order on timestamps, and what a path through the graph does to one.

Laws (held by tests/engine/test_timestamp.py):
1. `less_equal` is a partial order; on integers it is total.
2. `results_in` never moves a time back, is monotone, and is None only where the result cannot be represented.
3. `followed_by` is associative with `IDENTITY` as its unit, and p.followed_by(q) results in what q makes of what p
   results in.

Source: the progress-tracking chapter ("Path Summaries").
"""

from dataclasses import dataclass

Time = int
"""A totally ordered timestamp: an integer 0 <= t <= MAX_TIME (for event time: nanoseconds)."""

MAX_TIME: Time = 2**62 - 1
"""The last representable time."""

COMPLETE: Time = 2**63 - 1
"""The frontier that no time reaches: the empty antichain, as an integer, so that `time < frontier` stays one
comparison.
"""


def less_equal(left: Time, right: Time) -> bool:
    """Whether a message at `left` could still have effects at `right`."""
    return left <= right


@dataclass(frozen=True, order=True)
class PathSummary:
    """The least change to a timestamp along a path: here, `delay` to add (0 <= delay <= MAX_TIME)."""

    delay: int = 0

    def __post_init__(self) -> None:
        if not 0 <= self.delay <= MAX_TIME:
            raise ValueError(f"a path summary only advances times: delay {self.delay} is not in 0..{MAX_TIME}")

    def results_in(self, time: Time) -> Time | None:
        """The least time at the end of the path for `time` at its start, or None if there is none."""
        result = time + self.delay
        return result if result <= MAX_TIME else None

    def followed_by(self, other: "PathSummary") -> "PathSummary | None":
        """The summary of this path and then `other`, or None if no time survives it."""
        delay = self.delay + other.delay
        return PathSummary(delay) if delay <= MAX_TIME else None

    def less_equal(self, other: "PathSummary") -> bool:
        """Whether this summary's result is never later than the other's."""
        return self.delay <= other.delay


IDENTITY = PathSummary(0)
"""The summary of a path that leaves times as they are."""
