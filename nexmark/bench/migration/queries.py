"""NEXMark's queries in an open loop, while half of the bins move away and back."""

from __future__ import annotations

from typing import Any

from tokenring.engine import Worker
from tokenring.nexmark.bench.migration.moving import measured_moves, run_moving
from tokenring.nexmark.bench.parts import Row
from tokenring.nexmark.run import Measurements, Plan, declare, prepare


def measured_query(point: Row, folder: str, quiet_s: float) -> Row:
    """One run over staged events, of which there are to be enough for its moves: at `rate` events a second. point: the
    query, workers, bins, plan and rate."""
    bins = 1 << point["bins_log2"]
    run = Plan(point["workload"], folder, point["workers"], rate=point["rate"], bins=bins)
    query, staged, config, pace = prepare(run)

    def program(worker: Worker) -> dict[str, Any]:
        measurements = Measurements(pace.discard_ns)
        result = declare(worker, run, query, staged, pace, measurements)
        assert measurements.placement is not None
        part = run_moving(worker, measurements, measurements.placement, point["plan"], quiet_s)
        result()
        return part

    return measured_moves(point, config.workers, program, config)
