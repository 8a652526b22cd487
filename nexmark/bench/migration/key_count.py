"""Megaphone's key-count: an open loop of keys, each counted, while half of the bins move away and back."""

from __future__ import annotations

from typing import Any

from tokenring.engine import Config, Worker
from tokenring.nexmark.bench.experiments import Schedule, WordMeasurements, offered_words
from tokenring.nexmark.bench.migration.moving import measured_moves, run_moving
from tokenring.nexmark.bench.parts import Row
from tokenring.operators import Count, aggregate
from tokenring.operators.mechanisms import mechanism_of
from tokenring.operators.migrate import use_bins

LONGEST_S = 60.0
"""Of a run: by then its moves have ended, or have failed to."""
_QUANTUM_LOG2 = 8  # each key's time is its due instant, to 256 ns
_DISCARD_S = 0.5


def measured_key_count(point: Row, quiet_s: float) -> Row:
    """One run: counts of 2^keys_log2 keys, in 2^bins_log2 bins, at `rate` keys a second over all workers. point: what
    these are."""

    def program(worker: Worker) -> dict[str, Any]:
        words, keys = int(point["rate"] * LONGEST_S), 1 << point["keys_log2"]
        schedule = Schedule(point["rate"], _QUANTUM_LOG2, words, worker.index, worker.peers, keys, all_first=True)
        return _work(worker, schedule, point, quiet_s)

    return measured_moves(point, point["workers"], program, Config(workers=point["workers"]))


def _work(worker: Worker, schedule: Schedule, point: Row, quiet_s: float) -> dict[str, Any]:
    """One worker's program."""
    discard_ns = int(_DISCARD_S * 1e9)
    measurements = WordMeasurements(discard_ns)
    with worker.dataflow("key-count") as scope:
        placement = use_bins(scope, worker.index, worker.peers, 1 << point["bins_log2"])
        words, attach = offered_words(worker, scope, schedule, discard_ns, measurements)
        attach(mechanism_of(scope).probe(aggregate(words, "word", n=Count())))
    return run_moving(worker, measurements, placement, point["plan"], quiet_s)
