"""`tokenring bench idle`: many idle dataflows in one group, by their number and size (the article's experiment)."""

from __future__ import annotations

from functools import partial

from tokenring.nexmark.bench.experiments.idle_workload import measure
from tokenring.nexmark.bench.sweeps import Experiment, Job, Row, points

IDLE = Experiment("idle", ("step_ms", "build_s", "settle_s", "peak_rss_mb", "group_mb"))


def jobs(
    sizes: tuple[tuple[int, int], ...], operator_kinds: tuple[str, ...], workers: tuple[int, ...], steps: int
) -> list[Job]:
    """A job for each size (dataflows, operators in each one's region), kind of operators and number of workers."""
    return [
        Job(IDLE, point, partial(_measure, steps))
        for dataflows, operators in sizes
        for point in points(
            dataflows=(dataflows,), operators=(operators,), operator_kind=operator_kinds, workers=workers
        )
    ]


def _measure(steps: int, point: Row) -> Row:
    return measure(**point, steps=steps)
