"""A point's latencies as figures, and beside them what the machine did to a process that only reads the clock."""

from __future__ import annotations

from tokenring.nexmark.bench.parts import Row, hiccup_row
from tokenring.nexmark.measure import Histogram, hiccups_ms

HICCUP_S = 0.3


def latency_row(histogram: Histogram, suffix: str = "ms") -> Row:
    """p50_ms, p99_ms, p999_ms, max_ms; None where nothing was recorded."""
    return {f"{name}_{suffix}": value for name, value in histogram.quantiles_ms().items()}


def measured_hiccups(workers: int) -> Row:
    """Spin where the workers will run, just before they do."""
    return hiccup_row(hiccups_ms(workers, HICCUP_S))
