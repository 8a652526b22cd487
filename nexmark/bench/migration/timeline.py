"""What the latency was from one hundredth of a second to the next, and what a move of state made of it."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tokenring.nexmark.measure import Histogram, anonymous_mb

SLOT_NS = 10_000_000
"""Of the timeline."""
_LOOK_MEMORY_EVERY = 5  # slots
_DRAWN_SLOTS_A_S = 20


class Timeline:
    """One worker's histogram, copied once a slot while it fills."""

    def __init__(self, histogram: Histogram) -> None:
        self._bins = histogram.bins
        self._next_ns = 0
        self.at_ns: list[int] = []
        self.copies: list[np.ndarray] = []
        self.memory_mb: list[float] = []

    def look(self) -> None:
        """Copy the histogram, if a slot is over. To be called once a step."""
        now_ns = time.monotonic_ns()
        if now_ns < self._next_ns:
            return
        if len(self.at_ns) % _LOOK_MEMORY_EVERY == 0:
            self.memory_mb.append(anonymous_mb())
        self.at_ns.append(now_ns)
        self.copies.append(self._bins.copy())
        self._next_ns = now_ns + SLOT_NS

    def part(self) -> dict[str, Any]:
        """What a worker returns of it: instants (monotonic ns), counts (slots, bins) of those bins that are used,
        memory."""
        counts = np.diff(np.array(self.copies), axis=0)
        used = np.flatnonzero(counts.any(axis=0))
        return {
            "at_ns": np.array(self.at_ns),
            "used": used,
            "counts": np.ascontiguousarray(counts[:, used]),
            "memory_mb": np.array(self.memory_mb),
        }


def quantiles_ms(parts: list[dict[str, Any]], from_ns: int, to_ns: int) -> dict[str, float | None]:
    """Of the latencies that all workers noted in slots that end within [from_ns, to_ns)."""
    histogram = Histogram()
    for part in parts:
        inside = (part["at_ns"][1:] >= from_ns) & (part["at_ns"][1:] < to_ns)
        histogram.bins[part["used"]] += part["counts"][inside].sum(axis=0)
    histogram.extremes[1] = 1 << 62  # it is not known of a part: a quantile is then the middle of its bin
    found = histogram.quantiles_ms() | {"max": histogram.quantile_ms(1.0)}
    return {f"{name}_ms": value for name, value in found.items()}


def greatest_ms(parts: list[dict[str, Any]], start_ns: int, end_ns: int) -> list[list[float]]:
    """The timeline: (seconds from the start, greatest latency in ms) of each slot in which something was done."""
    points = []
    for at_ns in range(start_ns, end_ns, SLOT_NS):
        found = quantiles_ms(parts, at_ns, at_ns + SLOT_NS)["max_ms"]
        if found is not None:
            points.append([(at_ns - start_ns) / 1e9, found])
    return points


def coarser(timeline: list[list[float]]) -> list[list[float]]:
    """The same for reports, in a fifth of the points: the greatest latency of each twentieth of a second."""
    greatest: dict[int, float] = {}
    for at_s, latency_ms in timeline:
        slot = int(at_s * _DRAWN_SLOTS_A_S)
        greatest[slot] = max(greatest.get(slot, 0.0), latency_ms)
    return [[slot / _DRAWN_SLOTS_A_S, round(latency_ms, 3)] for slot, latency_ms in greatest.items()]


def duration_above_s(timeline: list[list[float]], from_s: float, to_s: float, limit_ms: float) -> float:
    """For how long, between two instants, slots had a latency above the limit."""
    return sum(SLOT_NS / 1e9 for at_s, latency_ms in timeline if from_s <= at_s < to_s and latency_ms > limit_ms)
