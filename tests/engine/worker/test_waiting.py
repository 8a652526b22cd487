"""Rows that wait: for room in a queue, for a sleeper to wake, for an operator to take them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import pytest

from tests.engine.helpers import VALUE, Recorder, build, edge, finish, key_for, settle, simulated
from tests.errors import Fact, raises
from tokenring.engine import (
    Broadcast,
    BrokenInvariant,
    Exchange,
    InputHandle,
    InputPort,
    OperatorContext,
    OutputPort,
    Pact,
    Probe,
    Scope,
    Token,
    UsageError,
    Worker,
)
from tokenring.shm.memory.atomics import peek
from tokenring.shm.queues.parking import begin_parking, parked_address


@pytest.mark.parametrize("pact", [Exchange("value"), Broadcast()], ids=str)
def test_a_batch_much_larger_than_a_queue(pact: Pact) -> None:
    with simulated(2) as group:
        edges = build(group, edge(pact))
        rows = 40 * 4096 // 8
        edges[0][0].send({"value": list(range(rows))})
        assert group.workers[0].plane.waiting
        assert group.workers[0].plane.congested == group.workers[1].plane.congested or group.workers[0].plane.congested
        finish(group, edges)
        got = Counter(value for _, _, recorder in edges for _, value in recorder.rows)
        copies = 2 if isinstance(pact, Broadcast) else 1
        assert got == Counter({value: copies for value in range(rows)})
        assert not group.workers[0].plane.waiting


def test_rows_of_one_channel_stay_in_order_through_a_full_queue() -> None:
    with simulated(2) as group:
        edges = build(group, edge(Exchange("value")))
        key = key_for(1, 2)
        for time in range(60):
            edges[0][0].send({"value": [key] * 50})
            edges[0][0].advance_to(time + 1)
        finish(group, edges)
        times = [time for time, _, _ in edges[1][2].seen]
        assert times == sorted(times)
        assert len(edges[1][2].rows) == 3000


def _receiver_quicker_than_the_report(sabotage: bool) -> None:
    """Rows wait for room; as they go out, the receiver takes them and reports that before the sender has reported
    sending them."""
    with simulated(2, ring_records=256) as group:
        edges = build(group, edge(Exchange("value")))
        first, second = group.workers
        if sabotage:
            first.plane.channels[0].source_location = first.inspection.operators[1].inputs[0].location
        edges[0][0].send({"value": [key_for(1, 2)] * 3000})
        for handle, _, _ in edges:
            handle.close()
        while first.plane.waiting:
            while second.step():
                pass
            first.plane.retry()
            second.step()
            assert edges[1][1].frontier == 0
        finish(group, edges)
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
        edges = build(group, edge(Exchange("value")))
        first, second = group.workers
        posts = Posts()
        first.parking._lot = second.parking._lot = posts  # type: ignore[assignment]
        settle(group)
        while not first.plane.waiting:
            edges[0][0].send({"value": [key_for(1, 2)] * 100})
        first.step()
        while second.step():
            pass
        begin_parking(parked_address(group._segment), 1)
        posts.woken.clear()
        first.step()
        assert posts.woken == [1]
        assert peek(parked_address(group._segment)) == 0
        finish(group, edges)


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
                if messages.inbox.queue:
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
    monkeypatch.setattr("tokenring.engine.worker.turns._OPERATORS_A_STEP", 1)

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


@pytest.mark.parametrize(
    ("wait", "said"),
    [
        (lambda worker: worker.step("x"), ("step", "wait_ns", "not 'x'")),
        (lambda worker: worker.step(1.5), ("step", "wait_ns", "not 1.5")),
        (lambda worker: worker.step(2**64), ("step", "wait_ns", f"not {2**64}")),
        (lambda worker: worker.step(until_ns="x"), ("step", "until_ns", "not 'x'")),
        (lambda worker: worker.step_or_park("x"), ("step_or_park", "limit_s", "not 'x'")),
        (lambda worker: worker.step_or_park(float("nan")), ("step_or_park", "limit_s", "not nan")),
    ],
)
def test_a_worker_goes_on_that_was_told_no_time(wait: Callable[[Worker], bool], said: Fact) -> None:
    with simulated(1) as group:
        with raises(UsageError, "worker 0", said):
            wait(group.workers[0])
        assert not group.workers[0].step(5, 0)
