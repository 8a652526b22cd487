"""A region that makes ten thousand rows of each, bounded and not: memory at its peak, and rows a second."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from tokenring.engine import Config, Schema, Worker, execute
from tokenring.nexmark.bench.parts import Row
from tokenring.nexmark.measure import anonymous_mb
from tokenring.operators import Count, aggregate, collect, exchange, limited, map_batches

BOUNDS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "default": {},
    "64 MB": {"most": 64_000_000, "per": "bytes"},
}
"""What `limited` is asked for; None: it is left out."""
COPIES = 10_000
_VALUE = Schema("value")


def measured_multiplied(workers: int, rows: int, bound: str) -> Row:
    """One run: `rows` rows over all workers, each made COPIES rows, exchanged and counted."""
    asked = BOUNDS[bound]
    parts = execute(lambda worker: _work(worker, rows, asked), config=Config(workers=workers))
    seconds = max(part["seconds"] for part in parts)
    counted = sum(part["counted"] for part in parts)
    if counted != rows * COPIES:
        raise RuntimeError(f"{rows * COPIES:,} rows were made, {counted:,} counted")
    return {
        "rows_made": counted,
        "seconds": seconds,
        "rows_per_s": counted / seconds,
        "peak_mb": sum(part["peak_mb"] for part in parts),
    }


def _work(worker: Worker, rows: int, asked: dict[str, Any] | None) -> dict[str, Any]:
    """One worker's program."""
    peak_mb = 0.0

    def look() -> None:
        nonlocal peak_mb
        peak_mb = max(peak_mb, anonymous_mb())

    def multiplied(batch: Any) -> dict[str, np.ndarray]:
        values = batch["value"]
        made = np.repeat(values, COPIES) * COPIES + np.tile(np.arange(COPIES), len(values))
        look()
        return {"value": made}

    def region(stream: Any) -> Any:
        made = exchange(map_batches(stream, _VALUE, multiplied), "value")
        return aggregate(made, n=Count(), emit="final")

    with worker.dataflow("multiplied") as scope:
        numbers, stream = scope.new_input(_VALUE)
        counted = collect(region(stream) if asked is None else limited(stream, region, **asked))
    worker.barrier()
    start_mb, start_ns = anonymous_mb(), time.monotonic_ns()
    numbers.send({"value": np.arange(worker.index, rows, worker.peers)})
    numbers.close()

    def goes_on() -> bool:
        look()
        return not worker.complete

    worker.step_while(goes_on)
    seconds = (time.monotonic_ns() - start_ns) / 1e9
    worker.run()
    return {
        "seconds": seconds,
        "counted": int(counted.columns()["n"].sum()),
        "peak_mb": max(0.0, peak_mb - start_mb),
    }
