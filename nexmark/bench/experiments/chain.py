"""`tokenring bench chain`: a tick of time through a chain of idle operators (the paper's 7.3, figure 8)."""

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from tokenring.engine import Config, Schema, Worker, execute
from tokenring.nexmark.bench.experiments.mechanisms import by_mechanism, lines, marks, style_order, workers_cell
from tokenring.nexmark.bench.experiments.tails import latency_row, measured_hiccups
from tokenring.nexmark.bench.parts import Draw, Experiment, Panels, Row, Sweep, points, ticks, workers_text
from tokenring.nexmark.measure import Histogram
from tokenring.operators import no_op
from tokenring.operators.mechanisms import use

_SCHEMA = Schema("key time")


def _points(sweep: Sweep) -> list[Row]:
    return points(**{name: sweep[name] for name in ("operators", "workers", "mechanism")})


def _measure(point: Row, sweep: Sweep) -> Row:
    """Ticks back to back, nothing else under way: the latency of each, as every worker sees it."""
    config = Config(workers=point["workers"])
    hiccups = measured_hiccups(config.workers)
    duration_ns = int(sweep["duration"] * 1e9)
    parts = execute(lambda worker: _work(worker, point["operators"], point["mechanism"], duration_ns), config=config)
    return {
        **latency_row(Histogram(part["latency"] for part in parts)),
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


def _tables(rows: list[Row], _sweep: Sweep) -> list[str]:
    ordered = sorted(rows, key=lambda row: (row["workers"], row["operators"]))
    named = (("operators", "operators"), ("workers", workers_cell))
    said = "A tick of time through a chain of idle operators, in µs."
    return [said, by_mechanism(ordered, named, ("p50_ms", "p99_ms"), 1e-3), *marks(rows)]


def _panels(rows: list[Row]) -> Iterator[Draw]:
    """Figure 8: latency of a tick over the chain's length, for each number of workers."""
    for workers in sorted({row["workers"] for row in rows}):
        chosen = [row for row in rows if row["workers"] == workers]
        yield partial(_over_length, rows=chosen, title=f"a tick, {workers_text(workers)}")


def _over_length(ax: Any, rows: list[Row], title: str) -> None:
    lines(ax, rows, "operators", ("p50_ms", "p99_ms"), title, "idle operators")
    ax.set_xscale("log")
    ticks(ax, [row["operators"] for row in rows], lambda value: f"{value:g}")


CHAIN = Experiment("chain", _points, _measure, _tables, Panels(_panels, order=style_order), ("p50_ms", "p99_ms"))
