"""How rows cross edges: pacts on groups of one to three, dtypes, queues and rings that are far too small, what is
left waiting."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, build, edge, finish, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    Batch,
    Broadcast,
    Exchange,
    InputHandle,
    InputPort,
    OperatorContext,
    OutputPort,
    Pact,
    PathSummary,
    Pipeline,
    Probe,
    Schema,
    Scope,
    Token,
    Worker,
)
from tokenring.shm.queues.data_queue import route


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("pact", [None, Pipeline(), Exchange("value"), Broadcast()], ids=str)
def test_every_pact_delivers_its_rows(pact: Pact | None, workers: int) -> None:
    with simulated(workers) as group:
        edges = build(group, edge(pact))
        sent: list[list[tuple[int, int]]] = []
        for index, (handle, _, _) in enumerate(edges):
            rows = []
            for time in range(5):
                values = list(range(1000 * index, 1000 * index + 7 * time))
                handle.send({"value": values})
                handle.advance_to(time + 1)
                rows += [(time, value) for value in values]
            sent.append(rows)
        finish(group, edges)
        everything = sorted(row for rows in sent for row in rows)
        for index, (_, _, recorder) in enumerate(edges):
            expected = {
                Pipeline: sorted(sent[index]),
                Broadcast: everything,
                Exchange: [(t, v) for t, v in everything if route(v, workers) == index],
            }[type(pact) if pact else Pipeline]
            assert recorder.rows == expected


def test_each_input_of_an_operator_has_a_pact_of_its_own() -> None:
    got: list[tuple[int, str, int]] = []

    def declare(worker: Worker, scope: Scope) -> list[InputHandle]:
        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            token.drop()

            def logic(left: InputPort, right: InputPort, output: OutputPort) -> None:
                for name, messages in (("left", left), ("right", right)):
                    got.extend((worker.index, name, value) for _, batch in messages for value in batch["value"])

            return logic

        inputs = [scope.new_input(VALUE) for _ in range(2)]
        inputs[0][1].binary(inputs[1][1], "both", VALUE, construct, (Exchange("value"), Broadcast()))
        return [handle for handle, _ in inputs]

    with simulated(3) as group:
        handles = build(group, declare)
        handles[0][0].send({"value": range(9)})
        handles[0][1].send({"value": [100]})
        settle(group)
    assert sorted(got) == sorted(
        [(route(value, 3), "left", value) for value in range(9)] + [(index, "right", 100) for index in range(3)]
    )


@pytest.mark.parametrize("workers", [1, 3])
def test_only_the_columns_asked_for_cross(workers: int) -> None:
    schema = Schema(key="int64", amount="float64", mark="uint64")
    got: list[tuple[Any, ...]] = []

    def declare(worker: Worker, scope: Scope) -> InputHandle:
        def construct(context: OperatorContext) -> Callable[..., None]:
            def logic(messages: InputPort) -> None:
                for _, batch in messages:
                    got.append(batch.schema.names)
                    got.extend(zip(*(column.tolist() for column in batch), strict=True))

            return logic

        handle, stream = scope.new_input(schema)
        stream.sink("some", construct, Exchange("key", ("mark", "key")))
        return handle

    with simulated(workers) as group:
        handles = build(group, declare)
        handles[0].send({"key": [5], "amount": [1.5], "mark": np.array([2**64 - 1], np.uint64)})
        settle(group)
    assert got == [("mark", "key"), (2**64 - 1, 5)]


def test_every_bit_of_floats_and_unsigned_words_survives() -> None:
    schema = Schema(key="int64", x="float64", u="uint64")
    floats = np.array([0.0, -0.0, np.inf, -np.inf, np.nan, 5e-324, 1.7976931348623157e308, 1 / 3])
    words = np.array([0, 1, 2**63, 2**64 - 1, 7, 8, 9, 10], np.uint64)
    got: list[Batch] = []

    def declare(worker: Worker, scope: Scope) -> InputHandle:
        def construct(context: OperatorContext) -> Callable[..., None]:
            return lambda messages: got.extend(batch.copy() for _, batch in messages)

        handle, stream = scope.new_input(schema)
        stream.sink("bits", construct, Broadcast())
        return handle

    with simulated(2) as group:
        handles = build(group, declare)
        handles[0].send({"key": list(range(8)), "x": floats, "u": words})
        settle(group)
    assert len(got) == 2
    for batch in got:
        assert batch["x"].view(np.int64).tolist() == floats.view(np.int64).tolist()
        assert batch["u"].tolist() == words.tolist()
        assert [column.dtype for column in batch] == list(schema.dtypes)


def test_what_is_untaken_holds_the_frontier() -> None:
    def declare(worker: Worker, scope: Scope) -> tuple[InputHandle, Probe]:
        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            token.drop()
            return lambda messages, output: None

        handle, stream = scope.new_input(VALUE)
        return handle, stream.unary("lazy", VALUE, construct).probe()

    with simulated() as group:
        ((handle, probe),) = build(group, declare)
        handle.advance_to(3)
        handle.send({"value": [1]})
        handle.close()
        settle(group)
        assert probe.frontier == 3
        assert not group.workers[0].complete


def test_operator_summaries_move_frontiers() -> None:
    """An output with a delay runs ahead by it; one without a path is not held up at all."""

    def declare(worker: Worker, scope: Scope) -> tuple[InputHandle, list[Probe]]:
        handle, stream = scope.new_input(VALUE)
        builder = scope.operator("split")
        builder.input(stream)
        outputs = [builder.output(VALUE), builder.output(VALUE, {0: PathSummary(10)}), builder.output(VALUE, {0: None})]

        def construct(context: OperatorContext, *tokens: Token) -> Callable[..., None]:
            for token in tokens:
                token.drop()
            return lambda messages, *ports: None

        builder.build(construct)
        return handle, [output.probe() for output in outputs]

    with simulated(2) as group:
        (handle, probes), (other, _) = build(group, declare)
        for moved in (handle, other):
            moved.advance_to(4)
        settle(group)
        assert [probe.frontier for probe in probes[:2]] == [4, 14]
        assert probes[2].done()
        for moved in (handle, other):
            moved.close()


def test_many_outstanding_times() -> None:
    """Tokens at thousands of times at once, dropped in a scattered order: each step of the frontier is right."""
    held: dict[int, Token] = {}

    def declare(worker: Worker, scope: Scope) -> Probe:
        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            def logic(output: OutputPort) -> None:
                if token.live:
                    for time in range(3000):
                        held[time] = token.clone()
                        held[time].downgrade(time)
                    token.drop()

            return logic

        (stream,) = scope.source("holder", (VALUE,), construct)
        return stream.probe()

    with simulated() as group:
        (probe,) = build(group, declare)
        worker = group.workers[0]
        settle(group)
        for place in range(3000):
            held.pop(place * 7919 % 3000).drop()
            if place % 100 == 0:
                worker.flush()
                settle(group)
                assert probe.frontier == min(held)
        settle(group)
        assert probe.done()


def test_two_dataflows_on_one_group_do_not_disturb_each_other() -> None:
    with simulated(2) as group:
        early = build(group, edge(Exchange("value")), "early")
        early[0][0].send({"value": [1, 2, 3]})
        settle(group)
        late = build(group, edge(Broadcast()), "late")
        early[0][0].advance_to(5)
        early[1][0].advance_to(4)
        late[1][0].send({"value": [4]})
        settle(group)
        assert [probe.frontier for _, probe, _ in early] == [4, 4]
        assert [probe.frontier for _, probe, _ in late] == [0, 0]
        assert [recorder.rows for _, _, recorder in late] == [[(0, 4)], [(0, 4)]]
        assert sorted(row for _, _, recorder in early for row in recorder.rows) == [(0, 1), (0, 2), (0, 3)]
        for handle, _, _ in early:
            handle.close()
        settle(group)
        assert all(probe.done() for _, probe, _ in early)
        assert not any(worker.complete for worker in group.workers)
        finish(group, late)


def test_received_rows_are_read_only() -> None:
    def declare(worker: Worker, scope: Scope) -> InputHandle:
        def construct(context: OperatorContext) -> Callable[..., None]:
            def logic(messages: InputPort) -> None:
                for _, batch in messages:
                    with raises(ValueError, "read-only"):
                        batch["value"][0] = 9

            return logic

        handle, stream = scope.new_input(VALUE)
        stream.sink("writer", construct, Broadcast())
        return handle

    with simulated(2) as group:
        handles = build(group, declare)
        handles[0].send({"value": [1]})
        settle(group)
