"""`tokenring bench chain`: a tick of time through a chain of idle operators (the paper's 7.3, figure 8)."""

from __future__ import annotations

import time
from functools import partial
from typing import Any

from tokenring.engine import Config, Schema, Worker, execute
from tokenring.nexmark.bench.experiments.tails import latency_row, measured_hiccups, merged
from tokenring.nexmark.bench.sweeps import Experiment, Job, Row, points
from tokenring.nexmark.measure import Histogram
from tokenring.operators import no_op
from tokenring.operators.mechanisms import use

CHAIN = Experiment("chain", ("p50_ms", "p99_ms"))
_SCHEMA = Schema("key time")


def jobs(
    operators: tuple[int, ...], workers: tuple[int, ...], mechanisms: tuple[str, ...], duration_s: float
) -> list[Job]:
    """A job for each length of the chain, number of workers and mechanism."""
    return [
        Job(CHAIN, point, partial(_measure, duration_s))
        for point in points(operators=operators, workers=workers, mechanism=mechanisms)
    ]


def _measure(duration_s: float, point: Row) -> Row:
    """Ticks back to back, nothing else under way: the latency of each, as every worker sees it."""
    config = Config(workers=point["workers"])
    hiccups = measured_hiccups(config.workers)
    duration_ns = int(duration_s * 1e9)
    parts = execute(lambda worker: _work(worker, point["operators"], point["mechanism"], duration_ns), config=config)
    return {
        **latency_row(merged(parts, "latency")),
        **hiccups,
        "ticks": min(part["ticks"] for part in parts),
        "build_s": max(part["build_s"] for part in parts),
    }


def _work(worker: Worker, operators: int, name: str, duration_ns: int) -> dict[str, Any]:
    """One worker's program. All channels may cross workers, save with worker-local watermarks, which are the bound that
    no exchange at all would give."""
    histogram = Histogram()
    began_ns = time.monotonic_ns()
    with worker.dataflow("chain") as scope:
        way = use(scope, name)
        source, stream = way.new_input(scope, _SCHEMA, time="time")
        for _ in range(operators):
            stream = no_op(stream, key="key", local=name == "watermarks-P")
        probe = way.probe(stream)
    start_ns = worker.barrier()
    tick = measured = 0
    now_ns = time.monotonic_ns()
    while now_ns < start_ns + duration_ns or not measured:  # on a busy machine, one tick may take all the time
        sent_ns = now_ns
        tick += 1
        source.advance_to(tick)
        while probe.less_than(tick):
            worker.step_or_park()
        now_ns = time.monotonic_ns()
        if sent_ns > start_ns + duration_ns // 4:  # the first quarter warms up
            histogram.record(now_ns - sent_ns, now_ns - sent_ns, 1)
            measured += 1
    return {"latency": histogram.to_json(), "ticks": tick, "build_s": (start_ns - began_ns) / 1e9}
