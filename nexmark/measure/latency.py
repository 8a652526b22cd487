"""A histogram of latencies in logarithmic bins, filled by a kernel: a batch of evenly spaced events at once."""

from collections.abc import Iterable

import numpy as np

from tokenring.engine import WORDS, int64, kernel, void
from tokenring.engine.compiled import Words

_SUB_BITS = 5  # 32 bins an octave: 3 % resolution
_OCTAVES = 40
BINS = (_OCTAVES + 1) << _SUB_BITS
SPREAD = 64
"""Points that stand for a larger batch."""


@kernel
def bin_of(value: int) -> int:
    """The bin of a value in ns (negative counts as 0)."""
    value = max(value, 0)
    octave = 0
    while value >> octave >= 2 << _SUB_BITS:
        octave += 1
    if octave == 0 and value < 1 << _SUB_BITS:
        return value
    return min(((octave + 1) << _SUB_BITS) + (value >> octave) - (1 << _SUB_BITS), BINS - 1)


@kernel(void(WORDS, WORDS, int64, int64, int64))
def record(bins: Words, extremes: Words, first_ns: int, last_ns: int, count: int) -> None:
    """Add `count` latencies spaced evenly from first_ns to last_ns. bins: int64 (BINS,); extremes: int64 (2,) of sum
    and maximum.
    """
    points = min(count, SPREAD)
    for i in range(points):
        value = first_ns if points == 1 else first_ns + (last_ns - first_ns) * i // (points - 1)
        bins[bin_of(value)] += count * (i + 1) // points - count * i // points
        extremes[0] += value * (count * (i + 1) // points - count * i // points)
    extremes[1] = max(extremes[1], first_ns, last_ns)


def lower_bound_ns(at: int) -> int:
    """The least value of a bin."""
    if at < 1 << _SUB_BITS:
        return at
    octave = (at >> _SUB_BITS) - 1
    return ((at & ((1 << _SUB_BITS) - 1)) + (1 << _SUB_BITS)) << octave


class Histogram:
    """Latencies of one worker, or of several merged. parts: such as workers return them, in sparse form."""

    def __init__(self, parts: Iterable[dict[str, list[int]]] = ()) -> None:
        self.bins = np.zeros(BINS, np.int64)
        self.extremes = np.zeros(2, np.int64)
        for part in parts:
            self.merge(part)

    def record(self, first_ns: int, last_ns: int, count: int) -> None:
        """Add `count` latencies spaced evenly from first_ns to last_ns."""
        record(self.bins, self.extremes, first_ns, last_ns, count)

    def to_json(self) -> dict[str, object]:
        """Sparse form for a pipe."""
        used = np.flatnonzero(self.bins)
        return {"bins": used, "counts": self.bins[used], "extremes": self.extremes}

    def merge(self, other: dict[str, list[int]]) -> None:
        """Add a histogram in sparse form."""
        self.bins[other["bins"]] += np.array(other["counts"], np.int64)
        self.extremes[0] += other["extremes"][0]
        self.extremes[1] = max(self.extremes[1], other["extremes"][1])

    @property
    def count(self) -> int:
        """Recorded latencies."""
        return int(self.bins.sum())

    def quantile_ms(self, share: float) -> float | None:
        """The latency that `share` of the events did not exceed, as the middle of its bin; None without events."""
        total = self.count
        if total == 0:
            return None
        at = int(np.searchsorted(np.cumsum(self.bins), share * total))
        middle = (lower_bound_ns(at) + lower_bound_ns(at + 1)) / 2
        return float(min(middle, float(self.extremes[1])) / 1e6)

    def quantiles_ms(self) -> dict[str, float | None]:
        """p50, p99, p999 and max."""
        shares = {"p50": 0.5, "p99": 0.99, "p999": 0.999}
        return {**{name: self.quantile_ms(share) for name, share in shares.items()}, "max": self.max_ms}

    @property
    def max_ms(self) -> float | None:
        """The largest latency."""
        return float(self.extremes[1] / 1e6) if self.count else None
