"""Operators that hand on what comes do so in the worker's inner loop: by reference, bursts as bursts."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import build, settle, simulated
from tests.errors import raises
from tokenring.engine import Batch, OutputPort, Schema, Scope, Stream, Token, Worker
from tokenring.operators import broadcast, col, collect, exchange, filter, no_op, select, union, with_columns

PAIR = Schema("key value")
ROWS = 1000


def burst_source(scope: Scope, messages: int = 1) -> Stream:
    """Each worker sends bursts of rows, four of each time, and drops its token."""

    def construct(context: Any, token: Token) -> Any:
        def logic(output: OutputPort) -> None:
            if token.live:
                for _ in range(messages):
                    values = np.arange(ROWS)
                    output.give_each(token, Batch(PAIR, {"key": values % 7, "value": values}), values // 4)
                token.drop()

        return logic

    (stream,) = scope.source("bursts", PAIR, construct)
    return stream


def pairs(collected: Any) -> list[tuple[int, int]]:
    columns = collected.columns()
    return sorted(zip(columns["key"].tolist(), columns["value"].tolist(), strict=True))


@pytest.mark.parametrize("workers", [1, 2])
def test_each_row_comes_once_and_to_its_owner(workers: int) -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        source = burst_source(scope)
        chain = no_op(no_op(no_op(source, "key"), "key", local=True), "value")
        both = union(chain, exchange(source, "key"))
        return [collect(each) for each in (chain, both, exchange(both, "key"), broadcast(chain))]

    with simulated(workers) as group:
        made = build(group, declare)
        assert all([operator.compiled >= 0 for operator in group.workers[0].inspection.operators[1:7]])
        settle(group)
        assert all(worker.complete for worker in group.workers)
        rows = [(value % 7, value) for value in range(ROWS) for _ in range(workers)]
        found = [sorted([pair for one in made for pair in pairs(one[at])]) for at in range(4)]
        assert found == [sorted(rows), sorted(2 * rows), sorted(2 * rows), sorted(workers * rows)]
        owned = [{key for key, _ in pairs(one[2])} for one in made]
        assert not set.intersection(*owned) or workers == 1


def test_stages_keep_a_burst_and_its_times() -> None:
    times: list[tuple[int, int]] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        source = no_op(burst_source(scope), "key")
        chosen = filter(with_columns(source, key=col("value") // 4), col("value") % 3 == 0)

        def construct(context: Any) -> Any:
            def logic(rows: Any) -> None:
                for reference, batch in rows:
                    times.extend((reference.time, value) for value in batch["key"].tolist())

            return logic

        no_op(select(chosen, "key"), "key").sink("look", construct)

    with simulated() as group:
        build(group, declare)
        settle(group)
        assert group.workers[0].complete
    assert times == [(value // 4, value // 4) for value in range(0, ROWS, 3)]


def test_the_row_of_an_error_counts_from_its_own_message() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        return collect(with_columns(no_op(burst_source(scope), "key"), value=1 // (col("value") - 402)))

    with simulated() as group:
        build(group, declare)
        with raises(
            Exception,
            "operator 'with_columns'",
            "worker 0",
            "(1 // (value - 402))",
            "row 2 of the batch",
            "division by zero",
        ):
            settle(group)


def test_what_waited_may_be_handed_on() -> None:
    """A message that outlived its round has memory of its own, which goes when that round ends in which it is taken."""
    many = 200

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(PAIR)
        passed = no_op(no_op(stream, "key"), "key")
        return handle, collect(union(passed, passed)), collect(select(filter(passed, "value", ">=", 0), "key", "value"))

    with simulated() as group:
        ((handle, both, chosen),) = build(group, declare)
        settle(group)
        world = group.workers[0].world
        for at in range(many):
            handle.send({"key": np.full(100, at), "value": np.arange(100)})
        capacity = world.state.log_capacity
        world.state.log_capacity = 500  # a log that is soon half full: what waits outlives its round
        settle(group)
        assert world.operators["runs"].max() > 2, "taken in several rounds"
        world.state.log_capacity = capacity
        handle.close()
        settle(group)
        rows = sorted((at, value) for at in range(many) for value in range(100))
        assert pairs(chosen) == rows
        assert pairs(both) == sorted(2 * rows)
