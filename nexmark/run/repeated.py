"""Runs a query again and again in the same workers, for as long as a profiler needs to see enough of it."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tokenring.engine import Worker, execute
from tokenring.nexmark.queries import Query
from tokenring.nexmark.run.pace import Measurements, Pace
from tokenring.nexmark.run.runner import Plan, declare, prepare
from tokenring.nexmark.staging import StagedEvents
from tokenring.tools.profile import wait_at_gate

_HEAD_START_NS = 5_000_000


@dataclass(frozen=True)
class Repeated:
    """What was run while the profiler watched."""

    workers: int
    runs: int
    events: int
    seconds: float
    dnf: bool


def repeat_query(
    plan: Plan, seconds: float, attach: Callable[[list[int]], None], on_progress: Callable[[float], None]
) -> Repeated:
    """Run the plan until `seconds` have passed, each run to its end. The workers wait until attach(pids) has returned;
    on_progress(seconds so far) is called a few times a second."""
    query, staged, config, pace = prepare(plan)
    # Every worker blocks on the gate until the launcher closes the only writing end that is left.
    gate, opener = os.pipe()
    began_s = time.monotonic()

    def start(pids: list[int]) -> None:
        nonlocal opener, began_s
        try:
            attach(pids)
        finally:
            os.close(opener)
            opener = -1
        began_s = time.monotonic()

    def program(worker: Worker) -> dict[str, Any]:
        os.close(opener)
        wait_at_gate(gate)
        return _repeat(worker, plan, query, staged, pace, int(seconds * 1e9))

    try:
        parts = execute(
            program,
            config=config,
            on_note=lambda _worker, _value: on_progress(time.monotonic() - began_s),
            on_start=start,
        )
    finally:
        os.close(gate)
        if opener >= 0:
            os.close(opener)
    return Repeated(
        workers=config.workers,
        runs=parts[0]["runs"],
        events=sum(part["events"] for part in parts),
        seconds=time.monotonic() - began_s,
        dnf=any(part["dnf"] for part in parts),
    )


def _repeat(
    worker: Worker, plan: Plan, query: Query, staged: StagedEvents, pace: Pace, duration_ns: int
) -> dict[str, Any]:
    """One worker's program."""
    runs = events = 0
    now_ns = worker.barrier()
    end_ns = now_ns + duration_ns
    while now_ns < end_ns:  # the barrier's instant is the same on every worker, and so is what it decides
        measurements = Measurements()
        declare(worker, plan, query, staged, pace, measurements)
        measurements.start_ns = worker.barrier() + _HEAD_START_NS
        worker.run()
        runs += 1
        events += measurements.offered
        now_ns = worker.barrier()
        if worker.ending.asked:
            return {"runs": runs, "events": events, "dnf": True}
    return {"runs": runs, "events": events, "dnf": False}
