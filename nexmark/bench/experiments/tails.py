"""A point's latencies as figures, and beside them what the machine did to a process that only reads the clock."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from tokenring.nexmark.bench.parts import Row, hiccup_row
from tokenring.nexmark.measure import Histogram, hiccups_ms

HICCUP_S = 0.3
_SHARES = {"p50": 0.5, "p99": 0.99, "p999": 0.999}


def merged(parts: Iterable[dict[str, Any]], name: str) -> Histogram:
    """The workers' histograms of this name as one."""
    histogram = Histogram()
    for part in parts:
        histogram.merge(part[name])
    return histogram


def latency_row(histogram: Histogram, suffix: str = "ms") -> Row:
    """p50_ms, p99_ms, p999_ms, max_ms; None where nothing was recorded."""
    quantiles = {f"{name}_{suffix}": histogram.quantile_ms(share) for name, share in _SHARES.items()}
    return {**quantiles, f"max_{suffix}": histogram.max_ms}


def measured_hiccups(workers: int) -> Row:
    """Spin where the workers will run, just before they do."""
    return hiccup_row(hiccups_ms(workers, HICCUP_S))
