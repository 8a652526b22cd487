"""Messages of compiled operators: sent on, kept from round to round, handed to Python and back, counted each."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tests.engine.native.scripted import BY_VALUE, forward, later, operate
from tokenring.engine import Batch, Exchange, InputPort, OperatorContext, Schema, Scope, Worker
from tokenring.engine.compiled import (
    DONE,
    Compiled,
    address_of,
    addresses_of,
    answer,
    bring_texts,
    column_of,
    entry,
    new_message,
    state_of,
    take,
)
from tokenring.engine.native.layout import MOST_ROUNDS
from tokenring.engine.native.memory import MOST_KEPT_BYTES

PAIR = Schema("key value")


TEXT = Schema(name="string")
HELLO = np.frombuffer(b"hello", np.uint8)


@entry
def telling(world, me):  # type: ignore[no-untyped-def]
    """Answer each message with a row of text, whose bytes the state's second word points to."""
    while take(world, me, 0) != 0:
        made = new_message(world, me, 0, 1)
        column_of(made, 0)[0] = len(HELLO)  # from the first byte on
        bring_texts(world, addresses_of(made), state_of(world, me, 2)[1:], 1)
        answer(world, me, 0, 0, made)
    return DONE


def chain(script: list[Any], length: int, states: list[np.ndarray] | None = None, pact: Any = None) -> Any:
    """A dataflow of an input, so many compiled operators one after the other, and a recorder."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        for number in range(length):
            (stream,) = operate(stream, script, f"compiled {number}", pact=pact, states=states)
        recorder = Recorder()
        return handle, stream.unary("record", VALUE, recorder.unary).probe(), recorder

    return declare


def finish(group: Any, made: list[Any]) -> None:
    for handle, _, _ in made:
        handle.close()
    settle(group)
    assert all(worker.complete for worker in group.workers)
    assert all(probe.done() for _, probe, _ in made)


@pytest.mark.parametrize("checks", ["", "exhaustive"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_rows_pass_a_chain_of_compiled_operators(workers: int, checks: str) -> None:
    with simulated(workers, checks=checks) as group:
        made = build(group, chain(forward(), 3, pact=BY_VALUE))
        for time in range(5):
            for handle, _, _ in made:
                handle.send({"value": [10 * time, 10 * time + 1]})
                handle.advance_to(time + 1)
            group.workers[time % workers].step()
        finish(group, made)
    found = sorted(row for _, _, recorder in made for row in recorder.rows)
    assert found == sorted((time, 10 * time + more) for time in range(5) for more in (0, 1) for _ in range(workers))


def test_what_waited_in_its_own_memory_is_sent_on_and_read_long_after() -> None:
    states: list[np.ndarray] = []
    with simulated() as group:
        made = build(group, chain(later(), 3, states))
        for state in states:
            state[2] = -7
        handle, _, recorder = made[0]
        for time in range(30):
            handle.send({"value": np.arange(time * 100, time * 100 + 100)})
            handle.advance_to(time + 1)
        finish(group, made)
        assert group.workers[0].world.state.waiting == 0
    assert recorder.rows == [(value // 100, value) for value in range(3000)]


def test_one_message_goes_to_several_outputs_and_edges() -> None:
    recorders = [Recorder() for _ in range(4)]

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        first, second = operate(stream, forward(2), outputs=2)
        for stream, recorder in zip((first, first, second, second), recorders, strict=True):
            (onward,) = operate(stream, forward())
            onward.unary("record", VALUE, recorder.unary)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        for time in range(3):
            handle.send({"value": [time, time + 10]})
            handle.advance_to(2 * time + 2)
        handle.close()
        settle(group)
        assert group.workers[0].complete
    for recorder in recorders:
        assert recorder.rows == [(0, 0), (0, 10), (2, 1), (2, 11), (4, 2), (4, 12)]


def test_python_gets_the_columns_that_it_chose_behind_a_compiled_operator() -> None:
    chosen = Schema("value")
    seen: list[tuple[tuple[str, ...], list[int]]] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(PAIR)
        (onward,) = operate(stream, forward())

        def constructor(context: OperatorContext) -> Any:
            def logic(messages: InputPort) -> None:
                for _, batch in messages:
                    seen.append((batch.schema.names, batch["value"].tolist()))

            return logic

        onward.sink("look", constructor, Exchange("value", ("value",)))
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.send({"key": [1, 2], "value": [3, 4]})
        handle.close()
        settle(group)
    assert seen == [(chosen.names, [3, 4])]


def test_python_keeps_batches_of_compiled_operators() -> None:
    kept: list[Batch] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        (onward,) = operate(stream, forward())

        def constructor(context: OperatorContext) -> Any:
            return lambda messages: kept.extend([batch for _, batch in messages])

        onward.sink("keep", constructor)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        for time in range(50):
            handle.send({"value": np.full(1000, time)})
            handle.advance_to(time + 1)
            group.workers[0].step()
        handle.close()
        settle(group)
        assert [batch["value"].tolist() for batch in kept] == [[time] * 1000 for time in range(50)]


def test_a_batch_that_its_sender_drops_is_still_read() -> None:
    states: list[np.ndarray] = []
    with simulated() as group:
        made = build(group, chain(later(), 1, states))
        states[0][2] = -3
        handle, _, recorder = made[0]
        values = np.arange(5000)
        handle.send({"value": values.copy()})
        for _ in range(3):
            trash = [np.full(5000, -1) for _ in range(4)]
            del trash
            group.workers[0].step()
        finish(group, made)
    assert [value for _, value in recorder.rows] == values.tolist()


@pytest.mark.parametrize("rows", [40, 5000])
def test_a_burst_has_a_count_for_each_message_whatever_the_log_holds(
    rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tokenring.engine.worker.worker._CHANGES", 64)
    recorder = Recorder()

    def declare(worker: Worker, scope: Scope) -> Any:
        source = scope.operator("source")
        stream = source.output(VALUE)

        def constructor(context: OperatorContext, token: Any) -> Any:
            def logic(output: Any) -> None:
                if token.live:
                    times = np.arange(rows)
                    output.give_each(token, Batch(VALUE, {"value": times}), times)
                    token.drop()

            return logic

        source.build(constructor)
        onward, beside = operate(stream, forward(2), outputs=2)
        (onward,) = operate(onward, forward())
        operate(beside, forward())
        return onward.unary("record", VALUE, recorder.unary).probe()

    with simulated(ring_records=1 << 14) as group:
        (probe,) = build(group, declare)
        settle(group)
        assert probe.done()
        assert group.workers[0].complete
    assert recorder.rows == [(value, value) for value in range(rows)]


def test_memory_of_rounds_grows_becomes_one_chunk_and_is_given_back() -> None:
    with simulated() as group:
        made = build(group, chain(forward(), 1, pact=None))
        handle, _, _ = made[0]
        view = group.workers[0].world.state
        handle.send({"value": np.zeros(10, np.int64)})
        handle.advance_to(1)
        group.workers[0].step()
        first = view.chunks_bytes
        assert first > 0
        for time in range(1, 12000):
            handle.send({"value": [time]})
            handle.advance_to(time + 1)
        group.workers[0].step()
        grown = view.chunks_bytes
        assert grown > first
        for _ in range(3):
            handle.send({"value": [-1]})
            group.workers[0].step()
            assert view.chunks_bytes == grown <= MOST_KEPT_BYTES
        finish(group, made)


def test_rounds_are_counted_anew_before_their_number_is_too_great() -> None:
    with simulated() as group:
        made = build(group, chain(forward(), 2))
        settle(group)
        world = group.workers[0].world
        world.state.round = MOST_ROUNDS - 2
        handle, _, recorder = made[0]
        for time in range(10):
            handle.send({"value": [time]})
            handle.advance_to(time + 1)
            group.workers[0].step()
        assert 0 <= world.state.round < 1000
        finish(group, made)
    assert recorder.rows == [(time, time) for time in range(10)]


def test_texts_come_from_an_operator_that_gets_none() -> None:
    said: list[str] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        builder = scope.operator("telling")
        builder.input(stream)
        told = builder.output(TEXT)
        builder.build_compiled(lambda _: Compiled(telling, np.array([0, address_of(HELLO)])), texts=True)
        told.sink("said", lambda _: lambda messages: said.extend(text for _, rows in messages for text in rows["name"]))
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.send({"value": [1]})
        settle(group)
    assert said == ["hello"]
