"""Everything that is due runs once before anything runs twice, so nobody starves behind an operator that peers feed."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, Recorder, build, key_for, settle, simulated
from tests.engine.native.scripted import (
    ADD,
    BY_VALUE,
    DROP,
    IF_ZERO,
    NEW,
    RETURN,
    SEND,
    M,
    forward,
    operate,
    scripted,
    state_for,
)
from tokenring.engine import OperatorContext, Scope, Worker
from tokenring.engine.compiled import AGAIN, DONE, Compiled

MOST_WAITING = 200


@pytest.mark.parametrize("is_compiled", [True, False])
def test_who_stands_behind_an_operator_that_peers_feed_runs_as_often(is_compiled: bool) -> None:
    """Worker 1 feeds worker 0 as quickly as queues take it; what waits stays bounded, and so does who runs ahead."""
    recorders: list[tuple[Recorder, Recorder]] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        fed, behind = Recorder(), Recorder()
        recorders.append((fed, behind))
        stream = stream.unary("fed", VALUE, fed.unary, BY_VALUE)
        if is_compiled:
            (stream,) = operate(stream, forward(), "between")
        stream.unary("behind", VALUE, behind.unary)
        return handle

    with simulated(2, queue_bytes=1 << 16) as group:
        handles = build(group, declare)
        receiver, sender = group.workers
        fed, behind = recorders[0]
        to = key_for(0, 2)
        most = 0
        for time in range(400):
            for more in range(10):
                handles[1].send({"value": [to, to]})
                handles[1].advance_to(10 * time + more + 1)
            sender.step()
            receiver.step()
            waiting = sum(
                len(port.inbox.queue) for operator in receiver.inspection.operators for port in operator.inputs
            )
            most = max(most, waiting)
            assert fed.runs <= behind.runs + 20
        assert most < MOST_WAITING
        for handle in handles:
            handle.close()
        settle(group, 20_000)
        assert len(behind.rows) == 400 * 10 * 2


def test_inboxes_of_compiled_operators_stay_bounded_while_peers_feed_them() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        (stream,) = operate(stream, forward(), "fed", pact=BY_VALUE)
        (stream,) = operate(stream, forward(), "behind")
        return handle, stream.probe()

    with simulated(2, queue_bytes=1 << 16) as group:
        made = build(group, declare)
        receiver, sender = group.workers
        runs = receiver.world.operators["runs"]
        for time in range(300):
            for more in range(10):
                made[1][0].send({"value": [key_for(0, 2)]})
                made[1][0].advance_to(10 * time + more + 1)
            sender.step()
            receiver.step()
            assert receiver.world.state.waiting < MOST_WAITING
            runs = receiver.world.operators["runs"]
            assert abs(int(runs[0]) - int(runs[1])) <= 20
        for handle, _ in made:
            handle.close()
        settle(group, 20_000)
        assert all(probe.done() for _, probe in made)


def test_two_full_queues_against_each_other_empty_again() -> None:
    """Either worker sends far more than a queue holds before the other takes any: nothing is lost, nobody waits."""
    recorders: list[Recorder] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        (stream,) = operate(stream, forward(), "across", pact=None)
        (stream,) = operate(stream, forward(), "compiled", pact=BY_VALUE)
        recorders.append(Recorder())
        return handle, stream.unary("record", VALUE, recorders[-1].unary).probe()

    with simulated(2, queue_bytes=4096, backlog_bytes=10_000) as group:
        made = build(group, declare)
        for worker, (handle, _) in zip(group.workers, made, strict=True):
            to = key_for(1 - worker.index, 2)
            for time in range(40):
                handle.send({"value": np.full(100, to)})
                handle.advance_to(time + 1)
            worker.step()
        assert all(worker.plane.waiting and worker.world.state.backlog_bytes > 10_000 for worker in group.workers)
        assert group.workers[0].plane.stops_sources
        for handle, _ in made:
            handle.close()
        settle(group, 20_000)
        assert all(worker.complete and worker.world.state.backlog_bytes == 0 for worker in group.workers)
        assert not group.workers[0].plane.stops_sources
    assert [len(recorder.rows) for recorder in recorders] == [4000, 4000]


def test_a_compiled_source_pauses_while_too_much_waits_for_room() -> None:
    """It sends a message each run and asks for the next; what waits stays near the limit though nobody takes."""
    limit = 20_000
    sends = [(NEW, 0, 50, M), (SEND, 0, M, 0), (ADD, 2, 1), (IF_ZERO, 2, 5), (RETURN, AGAIN)]
    script = [*sends, (DROP, 0), (RETURN, DONE)]
    states: list[np.ndarray] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        builder = scope.operator("source")
        stream = builder.output(VALUE)

        def construct(_: OperatorContext) -> Compiled:
            states.append(state_for(script))
            states[-1][2] = -3000
            return Compiled(scripted, states[-1])

        builder.build_compiled(construct)
        recorder = Recorder()
        return stream.unary("record", VALUE, recorder.unary, BY_VALUE), recorder

    with simulated(2, queue_bytes=4096, backlog_bytes=limit) as group:
        made = build(group, declare)
        for _ in range(50):
            group.workers[0].step()
        assert limit < group.workers[0].world.state.backlog_bytes < 2 * limit
        assert int(states[0][2]) < -2000
        for state in states:
            state[2] = -1
        for _ in range(20_000):
            for worker in group.workers:
                worker.step()
            if all(worker.complete for worker in group.workers):
                break
        assert all(worker.complete for worker in group.workers)
        assert sum(len(recorder.rows) for _, recorder in made) > 0


def test_a_full_ring_stops_nobody_for_good() -> None:
    """One worker reads nothing while the other publishes more than the ring holds."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        for number in range(3):
            (stream,) = operate(stream, forward(), f"compiled {number}")
        recorder = Recorder()
        return handle, stream.unary("record", VALUE, recorder.unary).probe(), recorder

    with simulated(2, ring_records=64) as group:
        made = build(group, declare)
        handle = made[0][0]
        for time in range(300):
            handle.send({"value": [time]})
            handle.advance_to(time + 1)
            group.workers[0].step()
        assert group.workers[0].log.offset > 0
        assert [value for _, value in made[0][2].rows] == list(range(300))
        for handle, _, _ in made:
            handle.close()
        settle(group, 20_000)
        assert all(probe.done() for _, probe, _ in made)
