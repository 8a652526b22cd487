"""What one call of each of a step's kernels costs, and an idle step: whole groups, small and large, in this process."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from itertools import count
from time import monotonic_ns
from typing import Any

import numpy as np

from tokenring.engine import Batch, Config, InputHandle, Schema, Scope
from tokenring.engine.group.warm_up import warm_up
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.cursors import Cursor, Cursors
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.shm.queues import commit_all, partition_for, receive, release_all, send_for

ROWS = (100, 1_000, 8_000)
_REPEATS = 9
_CALLS = 200  # of a run, in a group of many: short ones are rarely interrupted


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


class Group:
    """A group in this one process that has nothing left to do, whose inputs hold tokens; its handles, by worker.
    `declare` makes a dataflow and returns its handles."""

    def __init__(self, config: Config, declare: Callable[[Scope], list[InputHandle]]) -> None:
        self._group = SimulatedGroup(config)
        self.workers = self._group.workers
        self.handles = []
        for worker in self.workers:
            with self._group.building(worker), worker.dataflow("kernels") as scope:
                self.handles.append(declare(scope))
        warm_up()
        self.settle()

    def settle(self) -> None:
        """Step until nobody has anything to do."""
        while any([worker.step() for worker in self.workers]):
            pass

    def exchange(self, rows: int) -> Callable[[], None]:
        """What has worker 0 send so many rows to all, and show them."""
        plane, rng = self.workers[0].plane, np.random.default_rng(1)
        partition, columns = partition_for(3), tuple(rng.integers(0, 1 << 40, rows) for _ in range(3))

        def call() -> None:
            partition(columns, 0, 0, rows, plane.outgoing, plane.routes, plane.counts, 0, 0)
            commit_all(plane.outgoing)

        return call

    def drain(self) -> None:
        """Have everybody receive what is there, and give it back."""
        for worker in self.workers:
            receive(worker.plane.incoming, worker.plane.inbox)
            release_all(worker.plane.incoming)

    def exchange_progress(self) -> None:
        """Have everybody take in what others published."""
        for worker in self.workers:
            worker.progress.exchange(False)

    def close(self) -> None:
        """Let all end."""
        for handles in self.handles:
            for handle in handles:
                handle.close()
        self._group.run()
        self._group.close()


def kernel_costs(staged: StagedEvents) -> list[dict[str, Any]]:
    """Every figure of a step as {"what", "us"} in microseconds a call."""
    return [{"what": what, "us": us} for what, us in _figures(staged)]


def _query(scope: Scope) -> list[InputHandle]:
    inputs = [scope.new_input(Schema(" ".join(columns))) for columns in QUERIES["q4"].reads.values()]
    QUERIES["q4"].build(*[stream for _, stream in inputs])
    return [handle for handle, _ in inputs]


def _figures(staged: StagedEvents) -> Iterator[tuple[str, float]]:
    group = Group(Config(workers=2), _query)
    yield "read the clock", per_call_us(monotonic_ns)
    worker, peer = group.workers
    plane = worker.plane
    yield "idle step (Q4, 2 workers, tokens held)", per_call_us(worker.step)
    yield "  give back queue bytes, kernel, nothing to do", per_call_us(lambda: release_all(plane.incoming))
    yield "  receive, kernel, nothing there", per_call_us(lambda: receive(plane.incoming, plane.inbox))
    yield "  exchange progress, nothing to say", per_call_us(lambda: worker.progress.exchange(False))
    for rows in ROWS:
        cost_us = each_us(group.exchange(rows), group.drain)
        yield f"exchange {rows:,} rows of 3 columns to 2 workers, two kernels", cost_us
    send = group.exchange(100)
    send()

    def drain_and_send() -> None:
        group.drain()
        send()

    take_one = each_us(lambda: receive(peer.plane.incoming, peer.plane.inbox), drain_and_send)
    yield "receive one message, kernel", take_one
    group.drain()
    stamps = count(1)
    moved = each_us(lambda: group.handles[0][0].advance_to(next(stamps)), group.exchange_progress)
    yield "downgrade a token: publish, apply, move frontiers", moved
    group.close()

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


def _batch_through_q4(workers: int, rows: int) -> float:
    """Time to send bids, advance both inputs of every worker and step all workers until nothing is left to do: what
    they spend together, one after the other."""
    group = Group(Config(workers=workers), _query)
    rng = np.random.default_rng(2)
    auctions = 4 * rows
    opening = {
        "id": range(auctions),
        "date_time": [0] * auctions,
        "expires": [1 << 60] * auctions,
        "reserve": [0] * auctions,
    }
    group.handles[0][0].send(opening | {"category": [10] * auctions})
    group.settle()
    schema = Schema(" ".join(QUERIES["q4"].reads["bid"]))
    stamps = count(1)
    batch = Batch(
        schema,
        {
            "auction": rng.integers(0, auctions, rows),
            "date_time": np.full(rows, 1),
            "price": rng.integers(1, 10**8, rows),
        },
    )

    def once() -> None:
        at = next(stamps)
        group.handles[0][1].send(batch)
        for inputs in group.handles:
            for handle in inputs:
                handle.advance_to(at)
        group.settle()

    cost_us = each_us(once, lambda: None)
    group.close()
    return cost_us


def kernel_costs_of(workers: int, queue_bytes: int) -> dict[str, float]:
    """µs a call of worker 0 in a group of so many, whose peers have done before what it is to find."""

    def rounds(scope: Scope) -> list[InputHandle]:
        handle, stream = scope.new_input(Schema("value"))
        stream.probe()
        return [handle]

    group = Group(Config(workers=workers, queue_bytes=queue_bytes), rounds)
    first = group.workers[0]
    plane = first.plane
    costs = {"a step with nothing to do": per_call_us(first.step, _CALLS)}
    costs["receive, nothing there"] = per_call_us(lambda: receive(plane.incoming, plane.inbox), _CALLS)
    send, row = send_for(1), (np.zeros(1, np.int64),)

    def sent_by(senders: list[Any]) -> Callable[[], None]:
        def call() -> None:
            group.drain()
            for worker in senders:
                send(row, 0, 1, worker.plane.outgoing, 0, 0, 0)
                commit_all(worker.plane.outgoing)

        return call

    rows = 1_000
    costs[f"exchange {rows:,} rows to all, show them"] = each_us(group.exchange(rows), group.drain, _CALLS)
    for what, senders in (("one message", group.workers[-1:]), ("a message from each", group.workers)):
        sent_by(senders)()
        costs[f"receive {what}"] = each_us(lambda: receive(plane.incoming, plane.inbox), sent_by(senders), _CALLS)
    group.drain()
    costs["exchange progress, nothing to say"] = per_call_us(lambda: first.progress.exchange(False), _CALLS)
    stamp = 0

    def others_move() -> None:
        nonlocal stamp
        stamp += 1
        group.exchange_progress()
        for (handle,) in group.handles[1:]:
            handle.advance_to(stamp)

    others_move()
    move = group.handles[0][0].advance_to
    costs["exchange progress, a batch from each"] = each_us(lambda: move(stamp), others_move, _CALLS)
    group.close()
    return costs
