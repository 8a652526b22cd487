"""What one call of each of a step's kernels costs, and an idle step: a whole group in this one process."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from time import monotonic_ns
from typing import Any

import numpy as np

from tokenring.engine import Batch, Config, Schema, Worker
from tokenring.engine.group.warm_up import warm_up
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.cursors import Cursor, Cursors
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.shm.queues.data_queue import commit_all, partition_for, receive, release_all

ROWS = (100, 1_000, 8_000)
_REPEATS = 9


def kernel_costs(staged: StagedEvents) -> list[dict[str, Any]]:
    """Every figure as {"what", "us"} in microseconds a call."""
    warm_up()
    return [{"what": what, "us": us} for what, us in _figures(staged)]


def per_call_us(call: Callable[[], Any], calls: int = 2_000) -> float:
    """The median over several runs of `calls` calls, a bare loop's time taken off."""
    times = []
    for _ in range(_REPEATS):
        start_ns = monotonic_ns()
        for _ in range(calls):
            call()
        whole_ns = monotonic_ns() - start_ns
        start_ns = monotonic_ns()
        for _ in range(calls):
            pass
        times.append((whole_ns - (monotonic_ns() - start_ns)) / calls / 1e3)
    return statistics.median(times)


def each_us(call: Callable[[], Any], between: Callable[[], Any], calls: int = 500) -> float:
    """The median time of one call, with something to be done after each that is not timed."""
    for _ in range(20):
        call()
        between()
    # A look at the clock is taken off as calls are timed, one by one: those in which others had the core do not count.
    look_ns = statistics.median([-(monotonic_ns() - monotonic_ns()) for _ in range(calls)])
    times = []
    for _ in range(calls):
        start_ns = monotonic_ns()
        call()
        times.append(monotonic_ns() - start_ns)
        between()
    return max(0.0, statistics.median(times) - look_ns) / 1e3


def _figures(staged: StagedEvents) -> Iterator[tuple[str, float]]:
    yield "read the clock", per_call_us(monotonic_ns)
    group, handles = _holding_tokens("q4", workers=2)
    worker = group.workers[0]
    plane = worker.plane
    yield "idle step (Q4, 2 workers, tokens held)", per_call_us(worker.step)
    yield "  give back queue bytes, kernel, nothing to do", per_call_us(lambda: release_all(plane.incoming))
    yield "  receive, kernel, nothing there", per_call_us(lambda: receive(plane.incoming, plane.inbox))
    yield "  exchange progress, nothing to say", per_call_us(lambda: worker.progress.exchange(False))
    peer = group.workers[1]

    def drain() -> None:
        for other in group.workers:
            receive(other.plane.incoming, other.plane.inbox)
            release_all(other.plane.incoming)

    partition, rng = partition_for(3), np.random.default_rng(1)
    columns = tuple(rng.integers(0, 1 << 40, max(ROWS)) for _ in range(3))
    for rows in ROWS:
        call = _partition_call(partition, columns, rows, plane)
        yield f"exchange {rows:,} rows of 3 columns to 2 workers, two kernels", each_us(call, drain)
    call = _partition_call(partition, columns, 100, plane)
    call()

    def drain_and_send() -> None:
        drain()
        call()

    take_one = each_us(lambda: receive(peer.plane.incoming, peer.plane.inbox), drain_and_send)
    yield "receive one message, kernel", take_one
    drain()
    handle, stamp = handles[0][0], 0

    def move_token() -> None:
        nonlocal stamp
        stamp += 1
        handle.advance_to(stamp)

    def catch_up() -> None:
        for one in group.workers:
            one.progress.exchange(False)

    yield "downgrade a token: publish, apply, move frontiers", each_us(move_token, catch_up)
    _close(group, handles)

    cursors = Cursors([Cursor(staged, name, columns) for name, columns in QUERIES["q4"].reads.items()])
    event = 0

    def move_cursors() -> None:
        nonlocal event
        event = event + 100 if event + 100 < staged.events else 0
        if event == 0:
            cursors.advance(0)
        cursors.advance(event)

    yield "find 100 events' rows in two streams", per_call_us(move_cursors, min(1_000, staged.events // 1_000 + 1))
    for workers in (1, 2):
        for rows in (100, 1_000):
            yield f"{rows:,} bids through Q4, a group of {workers}, all its time", _batch_through_q4(workers, rows)


def _partition_call(partition: Any, columns: tuple[np.ndarray, ...], rows: int, plane: Any) -> Callable[[], None]:
    def call() -> None:
        partition(columns, 0, 0, rows, plane.outgoing, plane.routes, plane.counts, 0, 0)
        commit_all(plane.outgoing)

    return call


def _holding_tokens(query: str, workers: int) -> tuple[SimulatedGroup, list[list[Any]]]:
    """A query on manual inputs, whose handles hold tokens: a group with nothing left to do, and its handles."""
    group = SimulatedGroup(Config(workers=workers))
    handles: list[list[Any]] = []
    for worker in group.workers:
        with group.building(worker), worker.dataflow(query) as scope:
            inputs = [scope.new_input(Schema(" ".join(columns))) for columns in QUERIES[query].reads.values()]
            QUERIES[query].build(*[stream for _, stream in inputs])
        handles.append([handle for handle, _ in inputs])
    _settle(group.workers)
    return group, handles


def _settle(workers: list[Worker]) -> None:
    while any([worker.step() for worker in workers]):
        pass


def _close(group: SimulatedGroup, handles: list[list[Any]]) -> None:
    for inputs in handles:
        for handle in inputs:
            handle.close()
    group.run()
    group.close()


def _batch_through_q4(workers: int, rows: int) -> float:
    """Time to send bids, advance both inputs of every worker and step all workers until nothing is left to do: what
    they spend together, one after the other."""
    group, handles = _holding_tokens("q4", workers)
    rng = np.random.default_rng(2)
    auctions = 4 * rows
    opening = {
        "id": range(auctions),
        "date_time": [0] * auctions,
        "expires": [1 << 60] * auctions,
        "reserve": [0] * auctions,
    }
    handles[0][0].send(opening | {"category": [10] * auctions})
    _settle(group.workers)
    schema = Schema(" ".join(QUERIES["q4"].reads["bid"]))
    at = 0
    batch = Batch(
        schema,
        {
            "auction": rng.integers(0, auctions, rows),
            "date_time": np.full(rows, 1),
            "price": rng.integers(1, 10**8, rows),
        },
    )

    def once() -> None:
        nonlocal at
        at += 1
        handles[0][1].send(batch)
        for inputs in handles:
            for handle in inputs:
                handle.advance_to(at)
        _settle(group.workers)

    cost_us = each_us(once, lambda: None)
    _close(group, handles)
    return cost_us
