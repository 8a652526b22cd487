"""`tokenring bench wordcount`, a rolling count of words by timestamp quantum, load, workers and mechanism (the paper's
7.2, figures 6 and 7); and `scaling`, the same with a load that grows with the workers.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from tokenring.engine import Config, Worker, execute
from tokenring.nexmark.bench.experiments.mechanisms import (
    DNF_SAID,
    EACH_TIME,
    SAID,
    by_mechanism,
    by_source,
    lines,
    marks,
    over_workers,
    sourced_points,
    style_order,
    workers_cell,
)
from tokenring.nexmark.bench.experiments.tails import latency_row, measured_hiccups
from tokenring.nexmark.bench.experiments.word_schedule import Schedule
from tokenring.nexmark.bench.experiments.word_source import WordMeasurements, word_source
from tokenring.nexmark.bench.parts import Column, Draw, Experiment, Panels, Row, Sweep, rate_text, ticks, workers_text
from tokenring.nexmark.measure import DNF, Histogram, judge, until_decided
from tokenring.operators import word_count
from tokenring.operators.mechanisms import use

_FIGURES = ("p50_ms", "p99_ms", "p999_ms", "max_ms", "dnf", "verdict", "slope", "seconds")
_LATENCIES = ("p50_ms", "p99_ms", "p999_ms")
_NAMED: tuple[Column, ...] = (
    ("rate", lambda row: rate_text(row["rate"])), ("workers", workers_cell), ("quantum_log2", "2^{quantum_log2} ns"),
)  # fmt: skip
_HEAD_START_NS = 5_000_000


def _points(sweep: Sweep) -> list[Row]:
    """Every quantum (log2 of ns), rate (words a second: over all workers, or of each), number of workers, mechanism and
    source."""
    swept = {name: sweep[name] for name in ("quantum_log2", "rate", "rate_per_worker", "workers") if name in sweep}
    return sourced_points(sweep["source"], sweep["mechanism"], **swept)


def measure(point: Row, sweep: Sweep) -> Row:
    """One open loop, or longer ones until it is decided whether it holds."""
    rate = point["rate_per_worker"] * point["workers"] if "rate_per_worker" in point else point["rate"]
    run = partial(_run, point | {"rate": rate})
    return {"rate": rate} | until_decided(run, sweep["duration"])


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
    latency, after = (Histogram(part[name] for part in parts) for name in ("latency", "after_quantum"))
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


def _wordcount_tables(rows: list[Row], _sweep: Sweep) -> list[str]:
    parts = [
        f"Word count, open loop: latency in µs from the instant a word is due until the probe passes the time it "
        f"carries. {DNF_SAID}",
    ]
    for source, own in by_source(rows):
        ordered = sorted(own, key=lambda row: (row["rate"], row["workers"], row["quantum_log2"]))
        parts += [
            SAID[source],
            by_mechanism(ordered, _NAMED, _LATENCIES, 1e-3),
            "The same p50 from the instant the last word of the same time is due, before which no frontier can pass "
            "that time: what the mechanism itself adds, in µs.",
            by_mechanism(ordered, _NAMED, ("p50_after_quantum_ms",), 1e-3),
            *_cpu_table([row for row in ordered if not row["error"] and "cpu_us_a_word" in row]),
        ]
    return parts + marks(rows)


def _cpu_table(rows: list[Row]) -> list[str]:
    """CPU time a word, at the greatest rate, where workers have no time to spin."""
    greatest = max((row["rate"] for row in rows), default=0.0)
    busy = [row | {"dnf": False, "verdict": None} for row in rows if row["rate"] == greatest]
    if not busy:
        return []
    return [
        "CPU time of all workers for each word sent, in µs, at the greatest rate, at which few of them have time to "
        "spin (of runs that fell behind, too):",
        by_mechanism(busy, _NAMED, ("cpu_us_a_word",), 1.0),
    ]


def _scaling_tables(rows: list[Row], _sweep: Sweep) -> list[str]:
    parts = [f"Weak scaling: the word count with a load that grows with the workers; latency in µs. {DNF_SAID}"]
    named: tuple[Column, ...] = (
        _NAMED[2], ("rate_per_worker", lambda row: rate_text(row["rate_per_worker"])), _NAMED[1],
    )  # fmt: skip
    for source, own in by_source(rows):
        ordered = sorted(own, key=lambda row: (row["quantum_log2"], row["rate_per_worker"], row["workers"]))
        parts += [SAID[source], by_mechanism(ordered, named, _LATENCIES, 1e-3)]
    return parts + marks(rows)


def _wordcount_panels(rows: list[Row]) -> Iterator[Draw]:
    """Figure 6, latency over the quantum for each load, then figure 7, over workers at the finest and coarsest, at the
    greatest load that somebody holds."""
    for source, own in by_source(rows):
        most = max((row["workers"] for row in own), default=0)
        for rate in sorted({row["rate"] for row in own}):
            chosen = [row for row in own if row["rate"] == rate and row["workers"] == most]
            title = f"{rate_text(rate)}, {workers_text(most)}, {source}"
            yield partial(_over_quanta, rows=chosen, title=title)
        if len({row["workers"] for row in own}) > 1:
            for quantum in sorted({of(row["quantum_log2"] for row in own) for of in (min, max)}):
                of_quantum = [row for row in own if row["quantum_log2"] == quantum]
                greatest = max((row["rate"] for row in of_quantum if not row.get("dnf")), default=0.0)
                chosen = [row for row in of_quantum if row["rate"] == greatest]
                if chosen:
                    title = f"{rate_text(greatest)}, quantum $2^{{{quantum}}}$ ns, {source}"
                    yield partial(over_workers, rows=chosen, title=title)


def _over_quanta(ax: Any, rows: list[Row], title: str) -> None:
    lines(ax, rows, "quantum_log2", ("p50_ms", "p999_ms"), title, "timestamp quantum, ns")
    ticks(ax, [row["quantum_log2"] for row in rows], lambda value: f"$2^{{{value:g}}}$")


def _scaling_panels(rows: list[Row]) -> Iterator[Draw]:
    """Figure 7, weak scaling: latency over workers, for each quantum and load a worker."""
    for source, own in by_source(rows):
        for quantum, rate in sorted({(row["quantum_log2"], row["rate_per_worker"]) for row in own}):
            chosen = [row for row in own if (row["quantum_log2"], row["rate_per_worker"]) == (quantum, rate)]
            title = f"{rate_text(rate)} a worker, quantum $2^{{{quantum}}}$ ns, {source}"
            yield partial(over_workers, rows=chosen, title=title)


WORDCOUNT = Experiment(
    "wordcount", _points, measure, _wordcount_tables, Panels(_wordcount_panels, order=style_order), _FIGURES
)
SCALING = Experiment("scaling", _points, measure, _scaling_tables, Panels(_scaling_panels, order=style_order), _FIGURES)
