"""What a step's kernels cost in a group of many workers, all of them in this one process."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from scripts.benchmarks.step_kernels import each_us, per_call_us
from tokenring.engine import Config, Schema
from tokenring.engine.group.warm_up import warm_up
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.shm.queues import commit_all, partition_for, receive, release_all, send_for

_CALLS = 200  # of a run: short ones are rarely interrupted
_ROWS = 1_000
_COLUMNS = 3


def kernel_costs(workers: int, queue_bytes: int) -> dict[str, float]:
    """µs a call of worker 0, whose peers have done before what it is to find."""
    group, handles = _group(workers, queue_bytes)
    first = group.workers[0]
    plane = first.plane
    costs = {"a step with nothing to do": per_call_us(first.step, _CALLS)}
    costs["receive, nothing there"] = per_call_us(lambda: receive(plane.incoming, plane.inbox), _CALLS)

    partition, rng = partition_for(_COLUMNS), np.random.default_rng(1)
    columns = tuple(rng.integers(0, 1 << 40, _ROWS) for _ in range(_COLUMNS))

    def exchange_rows() -> None:
        partition(columns, 0, 0, _ROWS, plane.outgoing, plane.routes, plane.counts, 0, 0)
        commit_all(plane.outgoing)

    def drain() -> None:
        for worker in group.workers:
            receive(worker.plane.incoming, worker.plane.inbox)
            release_all(worker.plane.incoming)

    send, row = send_for(1), (np.zeros(1, np.int64),)

    def sent_by(senders: list[Any]) -> Callable[[], None]:
        def call() -> None:
            drain()
            for worker in senders:
                send(row, 0, 1, worker.plane.outgoing, 0, 0, 0)
                commit_all(worker.plane.outgoing)

        return call

    costs[f"exchange {_ROWS:,} rows to all, show them"] = each_us(exchange_rows, drain, _CALLS)
    for what, senders in (("one message", group.workers[-1:]), ("a message from each", group.workers)):
        sent_by(senders)()
        costs[f"receive {what}"] = each_us(lambda: receive(plane.incoming, plane.inbox), sent_by(senders), _CALLS)
    drain()
    costs["exchange progress, nothing to say"] = per_call_us(lambda: first.progress.exchange(False), _CALLS)
    stamp = 0

    def others_move() -> None:
        nonlocal stamp
        stamp += 1
        for worker in group.workers:
            worker.progress.exchange(False)
        for handle in handles[1:]:
            handle.advance_to(stamp)

    others_move()
    costs["exchange progress, a batch from each"] = each_us(lambda: handles[0].advance_to(stamp), others_move, _CALLS)
    for handle in handles:
        handle.close()
    group.run()
    group.close()
    return costs


def _group(workers: int, queue_bytes: int) -> tuple[SimulatedGroup, list[Any]]:
    """A group whose inputs hold tokens and whose probes wait, with nothing left to do."""
    group = SimulatedGroup(Config(workers=workers, queue_bytes=queue_bytes))
    handles = []
    for worker in group.workers:
        with group.building(worker), worker.dataflow("rounds") as scope:
            handle, stream = scope.new_input(Schema("value"))
            stream.probe()
        handles.append(handle)
    warm_up()
    while any([worker.step() for worker in group.workers]):
        pass
    return group, handles
