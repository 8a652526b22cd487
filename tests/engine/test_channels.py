"""How rows cross edges: pacts on groups of one to three, dtypes, queues and rings that are far too small, what is
left waiting."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from engine import (
    Batch,
    Broadcast,
    BrokenInvariant,
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
from engine.simulation import SimulatedGroup
from shm.atomics import peek
from shm.data_queue import route
from shm.parking import begin_parking, parked_address
from tests.engine.helpers import VALUE, Recorder, build, key_for, settle, simulated

Edge = tuple[InputHandle, Probe, Recorder]


def _edge(pact: Pact | None) -> Callable[[Worker, Scope], Edge]:
    def declare(worker: Worker, scope: Scope) -> Edge:
        handle, stream = scope.new_input(VALUE)
        recorder = Recorder()
        return handle, stream.unary("record", VALUE, recorder.unary, pact).probe(), recorder

    return declare


def _finish(group: SimulatedGroup, edges: list[Edge]) -> None:
    for handle, _, _ in edges:
        handle.close()
    settle(group, 20_000)
    assert all(worker.complete for worker in group.workers)
    assert all(probe.done() for _, probe, _ in edges)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("pact", [None, Pipeline(), Exchange("value"), Broadcast()], ids=str)
def test_every_pact_delivers_its_rows(pact: Pact | None, workers: int) -> None:
    with simulated(workers) as group:
        edges = build(group, _edge(pact))
        sent: list[list[tuple[int, int]]] = []
        for index, (handle, _, _) in enumerate(edges):
            rows = []
            for time in range(5):
                values = list(range(1000 * index, 1000 * index + 7 * time))
                handle.send({"value": values})
                handle.advance_to(time + 1)
                rows += [(time, value) for value in values]
            sent.append(rows)
        _finish(group, edges)
        everything = sorted(row for rows in sent for row in rows)
        for index, (_, _, recorder) in enumerate(edges):
            expected = {
                Pipeline: sorted(sent[index]),
                Broadcast: everything,
                Exchange: [(t, v) for t, v in everything if route(v, workers) == index],
            }[type(pact) if pact else Pipeline]
            assert recorder.rows == expected


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


@pytest.mark.parametrize("pact", [Exchange("value"), Broadcast()], ids=str)
def test_a_batch_much_larger_than_a_queue(pact: Pact) -> None:
    with simulated(2) as group:
        edges = build(group, _edge(pact))
        rows = 40 * 4096 // 8
        edges[0][0].send({"value": list(range(rows))})
        assert group.workers[0].plane.waiting
        assert group.workers[0].congested == group.workers[1].congested or group.workers[0].congested
        _finish(group, edges)
        got = Counter(value for _, _, recorder in edges for _, value in recorder.rows)
        copies = 2 if isinstance(pact, Broadcast) else 1
        assert got == Counter({value: copies for value in range(rows)})
        assert not group.workers[0].plane.waiting


def test_rows_of_one_channel_stay_in_order_through_a_full_queue() -> None:
    with simulated(2) as group:
        edges = build(group, _edge(Exchange("value")))
        key = key_for(1, 2)
        for time in range(60):
            edges[0][0].send({"value": [key] * 50})
            edges[0][0].advance_to(time + 1)
        _finish(group, edges)
        times = [time for time, _, _ in edges[1][2].seen]
        assert times == sorted(times)
        assert len(edges[1][2].rows) == 3000


def _receiver_quicker_than_the_report(sabotage: bool) -> None:
    """Rows wait for room; as they go out, the receiver takes them and reports that before the sender has reported
    sending them."""
    with simulated(2, ring_records=256) as group:
        edges = build(group, _edge(Exchange("value")))
        first, second = group.workers
        if sabotage:
            first.plane.channels[0]._source_location = first.operators[1].inputs[0].location
        edges[0][0].send({"value": [key_for(1, 2)] * 3000})
        for handle, _, _ in edges:
            handle.close()
        while first.plane.waiting:
            while second.step():
                pass
            first.plane.retry()
            second.step()
            assert edges[1][1].frontier == 0
        _finish(group, edges)
        assert all(frontier == 0 for _, _, frontier in edges[1][2].seen)
        assert len(edges[1][2].rows) == 3000


def test_a_time_is_open_as_long_as_its_rows_wait() -> None:
    _receiver_quicker_than_the_report(sabotage=False)


def test_counting_a_wait_at_the_target_would_not_do() -> None:
    """The early report of a first piece would cancel the wait, and the frontier pass what still waits."""
    with pytest.raises((AssertionError, BrokenInvariant)):
        _receiver_quicker_than_the_report(sabotage=True)


class Posts:
    """Remembers whom it was asked to wake."""

    def __init__(self) -> None:
        self.woken: list[int] = []

    def post(self, worker: int) -> None:
        """Instead of a semaphore."""
        self.woken.append(worker)

    def close(self) -> None:
        """Nothing to close."""


def test_a_sleeper_is_woken_by_rows_that_had_waited() -> None:
    """Sending what waited may net to no change at all; the receiver must hear of it even so."""
    with simulated(2) as group:
        edges = build(group, _edge(Exchange("value")))
        first, second = group.workers
        posts = Posts()
        first._lot = second._lot = posts  # type: ignore[assignment]
        settle(group)
        while not first.plane.waiting:
            edges[0][0].send({"value": [key_for(1, 2)] * 100})
        first.step()
        while second.step():
            pass
        begin_parking(parked_address(group._segment, 1))
        posts.woken.clear()
        first.step()
        assert posts.woken == [1]
        assert peek(parked_address(group._segment, 1)) == 0
        _finish(group, edges)


def test_untaken_messages_wait_and_stay_what_they_were() -> None:
    """An operator that takes one message a call; the queue's bytes are reused many times meanwhile."""
    got: list[tuple[int, int]] = []

    def declare(worker: Worker, scope: Scope) -> tuple[InputHandle, Probe]:
        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            token.drop()

            def logic(messages: InputPort, output: OutputPort) -> None:
                for reference, batch in messages:
                    assert len(set(batch["value"].tolist())) == 1
                    got.append((reference.time, int(batch["value"][0])))
                    output.give(reference, batch)
                    break
                if messages.queue:
                    context.activate()

            return logic

        handle, stream = scope.new_input(VALUE)
        return handle, stream.unary("slow", VALUE, construct, Broadcast()).probe()

    with simulated(2) as group:
        (handle, probe), (other, _) = build(group, declare)
        for time in range(40):
            handle.send({"value": [time] * 30})
            handle.advance_to(time + 1)
            group.workers[1].step()
        while len(got) < 60:
            for worker in group.workers:
                worker.step()
        waiting = min(time for time, count in Counter(time for time, _ in got).items() if count)
        assert waiting == 0
        assert probe.frontier <= 40
        handle.close()
        other.close()
        settle(group, 5000)
        assert probe.done()
    assert sorted(got) == sorted([(time, time) for time in range(40)] * 2)


def test_messages_stay_what_they_were_when_a_step_ends_before_their_operator_ran(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A step runs one operator only, the first of two always has something to do, and the sender fills the queue
    again."""
    monkeypatch.setattr("engine.worker._OPERATORS_A_STEP", 1)

    def declare(worker: Worker, scope: Scope) -> tuple[InputHandle, Recorder, Recorder]:
        handle, stream = scope.new_input(VALUE)
        first, second = Recorder(), Recorder()
        stream.sink("first", first.sink, Broadcast())
        stream.sink("second", second.sink, Broadcast())
        return handle, first, second

    with simulated(2) as group:
        (handle, *_), (other, first, second) = build(group, declare)
        for number in range(60):
            handle.send({"value": [number] * 40})
            for worker in group.workers:
                worker.step()
        handle.close()
        other.close()
        settle(group, 5000)
        expected = sorted((0, number) for number in range(60) for _ in range(40))
        assert first.rows == expected
        assert second.rows == expected


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
        early = build(group, _edge(Exchange("value")), "early")
        early[0][0].send({"value": [1, 2, 3]})
        settle(group)
        late = build(group, _edge(Broadcast()), "late")
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
        _finish(group, late)


def test_received_rows_are_read_only() -> None:
    def declare(worker: Worker, scope: Scope) -> InputHandle:
        def construct(context: OperatorContext) -> Callable[..., None]:
            def logic(messages: InputPort) -> None:
                for _, batch in messages:
                    with pytest.raises(ValueError, match="read-only"):
                        batch["value"][0] = 9

            return logic

        handle, stream = scope.new_input(VALUE)
        stream.sink("writer", construct, Broadcast())
        return handle

    with simulated(2) as group:
        handles = build(group, declare)
        handles[0].send({"value": [1]})
        settle(group)
