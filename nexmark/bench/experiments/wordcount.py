"""`tokenring bench wordcount`: a rolling count of words, by timestamp quantum, load, workers and mechanism (the paper's
7.2, figures 6 and 7).
"""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from tokenring.engine import Config, Worker, execute
from tokenring.nexmark.bench.experiments.tails import latency_row, measured_hiccups, merged
from tokenring.nexmark.bench.experiments.word_ring import WordMeasurements
from tokenring.nexmark.bench.experiments.word_schedule import Schedule
from tokenring.nexmark.bench.experiments.word_source import word_source
from tokenring.nexmark.bench.sweeps import EACH_TIME, Experiment, Job, Row, sourced_points
from tokenring.nexmark.measure import DNF, LONGEST, Histogram, judge, until_decided
from tokenring.operators import word_count
from tokenring.operators.mechanisms import use

WORDCOUNT = Experiment("wordcount", ("p50_ms", "p99_ms", "p999_ms", "max_ms", "dnf", "verdict", "slope", "seconds"))
_HEAD_START_NS = 5_000_000


def jobs(
    quanta: tuple[int, ...],
    rates: tuple[float, ...],
    workers: tuple[int, ...],
    mechanisms: tuple[str, ...],
    sources: tuple[str, ...],
    duration_s: float,
) -> list[Job]:
    """A job for each quantum (log2 of ns), rate (words a second over all workers), number of workers, mechanism and
    source (tokenring.nexmark.bench.sources)."""
    sweep = {"quantum_log2": quanta, "rate": rates, "workers": workers}
    points = sourced_points(sources, mechanisms, **sweep)
    return [Job(WORDCOUNT, point, partial(measure, duration_s)) for point in points]


def measure(duration_s: float, point: Row) -> Row:
    """One open loop, or longer ones until it is decided whether it holds."""
    return until_decided(partial(_run, point), duration_s, LONGEST * duration_s)


def _run(point: Row, duration_s: float) -> Row:
    """One open loop in a group of its own, the hiccup meter before it."""
    config = Config(workers=point["workers"])
    hiccups = measured_hiccups(config.workers)
    words = max(1, int(point["rate"] * duration_s))
    discard_ns = int(min(1.0, duration_s / 3) * 1e9)

    def program(worker: Worker) -> dict[str, Any]:
        schedule = Schedule(point["rate"], point["quantum_log2"], words, worker.index, worker.peers)
        return _work(worker, schedule, point["mechanism"], discard_ns, point["source"] == EACH_TIME)

    parts = execute(program, config=config)
    latency, after = merged(parts, "latency"), merged(parts, "after_quantum")
    verdict = judge((part["trail"] for part in parts), any(part["dnf"] for part in parts))
    if verdict.verdict == DNF:
        latency = after = Histogram()  # what was done in time says nothing about a run that fell behind
    return {
        **latency_row(latency),
        "dnf": verdict.verdict == DNF,
        "verdict": verdict.verdict,
        "slope": verdict.slope,
        **latency_row(after, "after_quantum_ms"),
        "words": sum(part["offered"] for part in parts),
        "seconds": max(part["seconds"] for part in parts),
        "cpu_us_a_word": 1e6 * sum(part["cpu_seconds"] for part in parts) / max(1, sum(p["offered"] for p in parts)),
        "cpu_seconds": sum(part["cpu_seconds"] for part in parts),
        **hiccups,
    }


def _work(worker: Worker, schedule: Schedule, name: str, discard_ns: int, each_time: bool) -> dict[str, Any]:
    """One worker's program. Worker-local watermarks leave no room for an exchange, so that each worker then counts its
    own words."""
    measurements = WordMeasurements(discard_ns)
    with worker.dataflow("wordcount") as scope:
        way = use(scope, name)
        words, attach = word_source(worker, scope, schedule, discard_ns, measurements, each_time)
        attach(way.probe(word_count(words, "word", "time", local=name == "watermarks-P")))
    measurements.start_ns = worker.barrier() + _HEAD_START_NS
    cpu_ns = time.process_time_ns()
    worker.run()
    return {
        "offered": measurements.offered,
        "dnf": measurements.dnf,
        "trail": measurements.backlog.trail,
        "latency": measurements.histogram.to_json(),
        "after_quantum": measurements.after_quantum.to_json(),
        "seconds": (time.monotonic_ns() - measurements.start_ns) / 1e9,
        "cpu_seconds": (time.process_time_ns() - cpu_ns) / 1e9,
    }
