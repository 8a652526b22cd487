"""Runs of one operator on simulated workers, between which bins of keys move at given times."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from tests.operators.migrate.two_benches import Rows
from tokenring.engine import Config, InputPort, OperatorContext, Schema, Stream
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.operators.fluent import Worker
from tokenring.operators.migrate import Change

BINS = 8


def run(
    schema: Schema,
    make: Callable[[Any], Stream],
    messages: Sequence[Rows],
    workers: int,
    changes: Iterable[Change] = (),
    steps: Sequence[int] = (),
    from_all: bool = True,
    with_times: bool = True,
) -> list[str]:
    """What the operator sends, sorted, of messages one at a time, from 0 on. steps: whom to let step between messages.
    from_all: whether messages come from all workers in turn; else from the first one, in order. with_times: whether
    rows begin with the time at which they were sent."""
    seen: list[str] = []

    def recorder(context: OperatorContext) -> Callable[[InputPort], None]:
        def logic(port: InputPort) -> None:
            for reference, batch in port:
                columns = [batch[name].tolist() for name in batch.schema.names]
                sent_at = (reference.time,) if with_times else ()
                seen.extend(repr((*sent_at, *row)) for row in zip(*columns, strict=True))

        return logic

    settings: dict[str, Any] = {"ring_records": 256, "queue_bytes": 1 << 16, "pin": False, "checks": "exhaustive"}
    group = SimulatedGroup(Config(workers=workers, **settings), Worker)
    try:
        handles = []
        for worker in group.workers:
            assert isinstance(worker, Worker)
            with group.building(worker), worker.dataflow("test", bins=BINS, moves=changes) as scope:
                handle, rows = scope.new_input(schema)
                make(rows).sink("recorder", recorder)
                handles.append(handle)
        for time, message in enumerate(messages):
            for handle in handles:
                handle.advance_to(time)
            if message:
                columns = dict(zip(schema.names, map(list, zip(*message, strict=True)), strict=True))
                handles[time % workers if from_all else 0].send(columns)
            for index in steps:
                group.workers[index % workers].step()
        for handle in handles:
            handle.close()
        group.run()
    finally:
        for worker in group.workers:
            worker.lost.report = lambda *_: None  # type: ignore[method-assign]
            for handle in worker.inputs:
                handle.close()
        group.close()
    return sorted(seen)
