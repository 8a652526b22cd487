"""`tokenring bench idle`: many dataflows, of which one gets an update while time advances in all of them.

Source: the article "Speeding up Timely Dataflow by 100x". Each dataflow is input -> region { arrange -> next^(n - 1) }
-> probe, n being the operators of its region. What is next has one of these kinds:

    real    operators with a state, a queue and locations of their own, which progress tracking knows one by one; like
            the article's filters they do not ask what time it is
    always  the same, but each is notified when its frontier moves: the state of things before the article's change
    fused   filters, which become one function call, and progress tracking sees none of them
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator
from functools import partial
from typing import Any

from tokenring.engine import (
    Batch,
    Config,
    InputGroup,
    InputHandle,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Probe,
    ProbeGroup,
    Schema,
    Stream,
    Token,
    Worker,
    execute,
)
from tokenring.nexmark.bench.parts import (
    Draw,
    Experiment,
    Panels,
    Row,
    Sweep,
    figure,
    points,
    table,
    ticks,
    workers_text,
)
from tokenring.nexmark.measure import group_mb, peak_rss_mb
from tokenring.operators import arrange, filter

_SCHEMA = Schema("key change")
_WARM_UP = 20
_RECORDS_AN_INPUT = 16  # of the ring, so that all inputs of a worker move as one batch
_FIGURES = ("step_ms", "build_s", "settle_s", "peak_rss_mb", "group_mb")


def _points(sweep: Sweep) -> list[Row]:
    """Each size (dataflows, operators in each one's region), kind of operators and number of workers."""
    others = points(operator_kind=sweep["operator_kind"], workers=sweep["workers"])
    sizes = dict.fromkeys(sweep["sizes"])
    return [{"dataflows": many, "operators": each, **other} for many, each in sizes for other in others]


def measure(dataflows: int, operators: int, operator_kind: str, workers: int, steps: int) -> dict[str, Any]:
    """Run the experiment in a fresh group; returns a row.

    A step puts one update into one input (round robin, over the workers too), advances the inputs of all dataflows and
    steps until every probe has passed the time, on every worker. Of the slowest worker: step_ms, the median of `steps`
    steps; step_p99_ms, step_max_ms; step_ms_no_update, the median of as many steps without an update. `always` makes a
    fiftieth of the steps, since each runs every operator.

    build_s: until all dataflows are built; settle_s: from then until all operators had their first runs. peak_rss_mb:
    of the largest worker; group_mb: of all processes of the group after the steps, launcher included (PSS: what they
    share counts once). rows_out: updates that came out at the ends of the regions, which are as many as went in, or
    RuntimeError is raised.
    """
    ring_records = 1 << max(14, (_RECORDS_AN_INPUT * dataflows * workers - 1).bit_length())
    config = Config(workers=workers, ring_records=ring_records)
    if operator_kind == "always":
        steps = max(3, steps // 50)
    parts = execute(lambda worker: _work(worker, dataflows, operators, operator_kind, steps), config=config)
    rows_in, rows_out = (sum(part[name] for part in parts) for name in ("rows_in", "rows_out"))
    if rows_in != rows_out:
        raise RuntimeError(f"{rows_in} updates went in, but {rows_out} came out")
    slowest = {
        name: max(part[name] for part in parts)
        for name in (
            *("step_ms", "step_p99_ms", "step_max_ms", "step_ms_no_update"),
            *("build_s", "settle_s", "peak_rss_mb", "group_mb"),
        )
    }
    sizes = {"dataflows": dataflows, "operators": operators, "operator_kind": operator_kind}
    sizes |= {"workers": workers, "steps": steps}
    return sizes | slowest | {"rows_out": rows_out}


class _Next:
    """An operator that counts the rows that pass it."""

    __slots__ = ("rows",)

    def __init__(self, context: OperatorContext, token: Token) -> None:
        token.drop()
        self.rows = 0

    def __call__(self, messages: InputPort, output: OutputPort) -> None:
        for reference, batch in messages:
            self.rows += batch.rows
            output.give(reference, batch)


def _next(stream: Stream, operator_kind: str) -> Stream:
    if operator_kind == "fused":
        return filter(stream, "key", ">=", 0)
    notify = Notify.NEVER if operator_kind == "real" else Notify.ALWAYS
    return stream.unary("next", _SCHEMA, _Next, notify=notify)


def _declare(worker: Worker, operators: int, operator_kind: str, passed: list[int]) -> tuple[InputHandle, Probe]:
    """One dataflow. What comes out of its region is counted in passed[0]."""

    def count(batch: Batch) -> None:
        passed[0] += batch.rows

    with worker.dataflow("idle") as scope:
        handle, stream = scope.new_input(_SCHEMA)
        with scope.region("region"):
            stream, _ = arrange(stream, "key", "change")
            for _ in range(operators - 1):
                stream = _next(stream, operator_kind)
        stream.apply("count", _SCHEMA, count)
        return handle, stream.probe()


def _work(worker: Worker, dataflows: int, operators: int, operator_kind: str, steps: int) -> dict[str, Any]:
    """One worker's program."""
    passed = [0]
    began_ns = time.monotonic_ns()
    declared = (_declare(worker, operators, operator_kind, passed) for _ in range(dataflows))
    handles, probes = zip(*declared, strict=True)
    inputs, outputs = InputGroup(handles), ProbeGroup(probes)
    built_ns = worker.barrier()
    while worker.step():
        pass
    settle_s = (worker.barrier() - built_ns) / 1e9
    now = sent = 0

    def step(update: bool) -> float:
        nonlocal now, sent
        began_ns = time.monotonic_ns()
        if update and now % worker.peers == worker.index:
            handles[now % dataflows].send({"key": [now], "change": [1]})
            sent += 1
        now += 1
        inputs.advance_to(now)
        worker.step_while(lambda: outputs.less_than(now))
        return (time.monotonic_ns() - began_ns) / 1e6

    for _ in range(min(_WARM_UP, steps)):
        step(True)
    worker.barrier()
    busy_ms = sorted(step(True) for _ in range(steps))
    worker.barrier()
    idle_ms = [step(False) for _ in range(steps)]
    worker.barrier()
    mb = group_mb() if worker.index == 0 else 0.0
    worker.barrier()
    inputs.close()
    worker.run()
    return {
        "step_ms": statistics.median(busy_ms),
        "step_p99_ms": busy_ms[len(busy_ms) * 99 // 100],
        "step_max_ms": busy_ms[-1],
        "step_ms_no_update": statistics.median(idle_ms),
        "build_s": (built_ns - began_ns) / 1e9,
        "settle_s": settle_s,
        "group_mb": mb,
        "peak_rss_mb": peak_rss_mb(),
        "rows_in": sent,
        "rows_out": passed[0],
    }


def _tables(rows: list[Row], _sweep: Sweep) -> list[str]:
    named = {"ms a step": "step_ms", "s to build": "build_s", "s of first runs": "settle_s"}
    named["MB, all processes"] = "group_mb"
    return [
        "One update into one of many idle dataflows, all inputs advanced, all probes confirmed.",
        table(
            rows, ("dataflows", "{dataflows:,}"), ("operators each", "{operators:,}"), ("kind", "operator_kind"),
            ("workers", "workers"), *[(said, partial(_figure, name)) for said, name in named.items()],
        ),
    ]  # fmt: skip


def _figure(name: str, row: Row) -> str:
    return "failed" if row["error"] else figure(row[name])


def _panels(rows: list[Row]) -> Iterator[Draw]:
    """Cost of a step and of building over the operators of a dataflow."""
    for name, title in (("step_ms", "ms a step"), ("build_s", "s to build"), ("group_mb", "MB, all processes")):
        if rows:
            yield partial(_over_operators, rows=rows, name=name, title=title)


def _over_operators(ax: Any, rows: list[Row], name: str, title: str) -> None:
    ax.set(title=title, xlabel="operators a dataflow", xscale="log")
    ax.set_yscale("log")
    found: dict[tuple[int, int, str], list[tuple[int, float]]] = {}
    for row in rows:
        line = (row["dataflows"], row["workers"], row["operator_kind"])
        found.setdefault(line, []).append((row["operators"], row[name]))
    for at, ((dataflows, workers, kind), known) in enumerate(sorted(found.items())):
        text = f"{dataflows:,} dataflows, {kind}, {workers_text(workers)}"
        ax.plot(*zip(*sorted(known), strict=True), "o-", color=f"C{at}", ms=4, label=text)
    ticks(ax, [row["operators"] for row in rows], lambda value: f"{value:,.0f}")
    ax.grid(True, alpha=0.25)


IDLE = Experiment(
    "idle", _points, lambda point, sweep: measure(**point, steps=sweep["steps"]), _tables,
    Panels(_panels, shares_y=False), _FIGURES,
)  # fmt: skip
