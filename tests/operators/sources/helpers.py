"""Runs a source on simulated workers and keeps what it sent, with times and what was promised before."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from tests.engine.helpers import build, simulated
from tokenring.engine import InputPort, OperatorContext, Scope, Stream, Worker


@dataclass
class Sent:
    """What a source sent on all workers. rows: (worker, message's time, row), in order of arrival at each worker."""

    rows: list[tuple[int, int, tuple[Any, ...]]] = field(default_factory=list)
    frontiers: list[int] = field(default_factory=list)
    """What worker 0 saw promised."""

    @property
    def values(self) -> list[tuple[Any, ...]]:
        return [row for _, _, row in self.rows]


def run(declare: Callable[[Scope], Stream], workers: int = 1) -> Sent:
    """Run the source to its end. Fails if a message came after the frontier had passed its time."""
    sent = Sent()

    def on_worker(worker: Worker, scope: Scope) -> None:
        def construct(context: OperatorContext) -> Callable[[InputPort], None]:
            seen = 0

            def logic(rows: InputPort) -> None:
                nonlocal seen
                for reference, batch in rows:
                    assert reference.time >= seen
                    columns = [batch[name].tolist() for name in batch.schema.names]
                    sent.rows += [(worker.index, reference.time, row) for row in zip(*columns, strict=True)]
                seen = rows.frontier
                if worker.index == 0:
                    sent.frontiers.append(seen)

            return logic

        declare(scope).sink("recorder", construct)

    with simulated(workers, queue_bytes=1 << 16) as group:
        build(group, on_worker)
        group.run()
    return sent
