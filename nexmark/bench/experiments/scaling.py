"""`tokenring bench scaling`: the word count with a load that grows with the workers (weak scaling, figure 7)."""

from __future__ import annotations

from functools import partial

from tokenring.nexmark.bench.experiments.wordcount import WORDCOUNT, measure
from tokenring.nexmark.bench.sweeps import Experiment, Job, Row, sourced_points

SCALING = Experiment("scaling", WORDCOUNT.figures)


def jobs(
    quanta: tuple[int, ...],
    rates_per_worker: tuple[float, ...],
    workers: tuple[int, ...],
    mechanisms: tuple[str, ...],
    sources: tuple[str, ...],
    duration_s: float,
) -> list[Job]:
    """A job for each quantum (log2 of ns), rate (words a second, a worker), number of workers, mechanism and source."""
    sweep = {"quantum_log2": quanta, "rate_per_worker": rates_per_worker, "workers": workers}
    points = sourced_points(sources, mechanisms, **sweep)
    return [Job(SCALING, point, partial(_measure, duration_s)) for point in points]


def _measure(duration_s: float, point: Row) -> Row:
    rate = point["rate_per_worker"] * point["workers"]
    return {"rate": rate} | measure(duration_s, point | {"rate": rate})
