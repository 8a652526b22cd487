"""State in loops: by epoch, in the order of rounds, gone with its epoch; and sinks that take rows of any round."""

from __future__ import annotations

from typing import Any

import pytest

from tests.engine.helpers import build, settle, simulated
from tokenring import operators
from tokenring.engine import Schema, Scope, Stream, Worker
from tokenring.operators import col, distinct, filter, iterate, with_columns

ROW = Schema("node left at")


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
def test_epochs_do_not_hear_of_each_other(workers: int) -> None:
    """0 sent at epoch 0 and 50 at epoch 1, each counting up to 99 while it is new."""

    def body(rows: Stream) -> tuple[Stream, Stream]:
        new = distinct(rows, "node")
        return operators.branch(with_columns(new, node=col("node") + 1), col("node") < 99)[0], new

    counts = {0: 0, 1: 0}

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(Schema("node"))

        def add(time: int, batch: Any) -> None:
            counts[time] += batch.rows

        operators.for_each(iterate(stream, body), add)
        return handle

    with simulated(workers) as group:
        handles = build(group, on_worker)
        for epoch, start in enumerate((0, 50)):
            for handle in handles:
                handle.advance_to(epoch)
            handles[0].send({"node": [start]})
        for handle in handles:
            handle.close()
        settle(group, 20_000)
    assert counts == {0: 99, 1: 49}


def test_state_goes_with_its_epoch() -> None:
    scopes: list[Scope] = []

    def on_worker(worker: Worker, scope: Scope) -> Any:
        scopes.append(scope)
        handle, stream = scope.new_input(ROW)
        iterate(stream, lambda rows: (filter(distinct(rows, "node"), "left", "<", 0), rows))
        return handle

    with simulated(2) as group:
        handles = build(group, on_worker)
        for epoch in range(3):
            for handle in handles:
                handle.advance_to(epoch)
                handle.send({name: [1, 2, 3, 4, 5, 6] for name in ROW.names})
        settle(group)
        assert [scope.running.inspect("distinct") for scope in scopes] == [{"epochs": 1}] * 2
        for handle in handles:
            handle.advance_to(3)
        settle(group)
        assert [scope.running.inspect("distinct") for scope in scopes] == [{"epochs": 0}] * 2


def test_sinks_in_a_loop() -> None:
    seen: list[Any] = []
    kept: list[Any] = []

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(Schema("node"))

        def body(rows: Stream) -> tuple[Stream, Stream]:
            kept.append(operators.collect(rows))
            operators.for_each(rows, lambda time, batch: seen.append((time, batch["node"].tolist())))
            return filter(with_columns(rows, node=col("node") - 1), "node", ">", 0), rows

        iterate(stream, body)
        return handle

    with simulated() as group:
        (handle,) = build(group, on_worker)
        handle.send({"node": [2]})
        handle.advance_to(1)
        handle.send({"node": [3]})
        handle.close()
        settle(group)
    assert sorted(seen) == [((0, 0), [2]), ((0, 1), [1]), ((1, 0), [3]), ((1, 1), [2]), ((1, 2), [1])]
    assert sorted(kept[0].columns()["node"].tolist()) == [1, 1, 2, 2, 3]
