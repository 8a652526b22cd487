"""What people see of compiled operators: who holds time back, breakpoints, the end of a dataflow, the event log."""

from __future__ import annotations

from time import monotonic_ns
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest

from tests.engine.helpers import VALUE, Recorder, build, key_for, nothing_left, settle, simulated
from tests.engine.native.scripted import BY_VALUE, IF_ZERO, RETAIN, RETURN, TAKE, M, forward, operate
from tokenring.engine import Scope, Worker
from tokenring.engine.compiled import AGAIN, DONE
from tokenring.engine.explain.explanation import POSTPONED

HOLDS = [(TAKE, 0, M), (RETURN, DONE)]  # and its first token for ever


def hoarding(script: Any, pact: Any = None) -> Any:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        (stream,) = operate(stream, script, "hoarder", pact=pact)
        recorder = Recorder()
        return handle, stream.unary("record", VALUE, recorder.unary).probe(), recorder, scope

    return declare


def test_a_token_that_a_compiled_operator_holds_is_named_with_its_constructor() -> None:
    with simulated() as group:
        ((handle, probe, _, scope),) = build(group, hoarding(HOLDS))
        handle.close()
        settle(group)
        told = str(scope.running.why(probe))
        assert "operator 'hoarder' output 0" in told
        assert "scripted.py" in told and "construct" in told


def test_messages_that_wait_at_a_compiled_input_are_told() -> None:
    with simulated() as group:
        ((handle, _, _, scope),) = build(group, hoarding([(RETURN, DONE)]))
        handle.advance_to(4)
        handle.send({"value": [1, 2, 3]})
        handle.advance_to(9)
        settle(group)
        told = str(scope.running.why(("hoarder", "input", 0)))
        assert "4" in told and "3 row" in told
        assert len(group.workers[0].inspection.operators[1].inputs[0].inbox.queue) == 1


def test_rows_that_wait_for_room_in_a_compiled_edge_are_told() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        (stream,) = operate(stream, forward(), "sender")
        (stream,) = operate(stream, forward(), "taker", pact=BY_VALUE)
        return handle, stream.probe(), scope

    with simulated(2, ring_records=1 << 12) as group:
        made = build(group, declare)
        handle, _, scope = made[0]
        for time in range(20):
            handle.send({"value": np.full(100, key_for(1, 2))})
            handle.advance_to(time + 1)
        for _ in range(5):
            group.workers[0].step()
        found = scope.running.why(("taker", "input", 0), 20)
        holders = [holder for at in found.pointstamps for holder in at.holders if holder.kind == POSTPONED]
        assert {holder.rows for holder in holders} == {100}
        assert {holder.target for holder in holders} == {"operator 'taker' input 0"}


def test_a_hold_is_taken_from_a_compiled_operators_token() -> None:
    with simulated(checks="exhaustive") as group:
        ((handle, probe, _, scope),) = build(group, hoarding(HOLDS))
        handle.close()
        settle(group)
        with scope.running.hold(probe, 7) as hold:
            settle(group)
            assert hold.time == 7
            assert "7" in str(scope.running.why(probe, 7))
        settle(group)


def test_a_run_that_a_compiled_operator_holds_up_is_reported(capsys: pytest.CaptureFixture[str]) -> None:
    now = [10**9]
    with patch("tokenring.engine.explain.stall.monotonic_ns", lambda: now[0]), simulated() as group:
        ((handle, _, _, _),) = build(group, hoarding(HOLDS))
        handle.close()
        settle(group)
        watch = group.workers[0]._stall
        watch.look()
        now[0] += 60 * 10**9
        watch.look()
        told = capsys.readouterr().err
    assert "operator 'hoarder' output 0 holds a token at time 0, made at " in told
    assert "scripted.py" in told


@pytest.mark.parametrize("workers", [1, 2])
def test_a_dataflow_of_compiled_operators_is_cancelled(workers: int) -> None:
    with simulated(workers) as group:
        script = [(TAKE, 0, M), (IF_ZERO, M, 3), (RETAIN, 0, 0, 5), (RETURN, AGAIN)]
        made = build(group, hoarding(script, BY_VALUE))
        for handle, _, _, _ in made:
            handle.send({"value": [1, 2, 3]})
        settled = [worker.step() for worker in group.workers]
        assert any(settled)
        for worker, (_, _, _, scope) in zip(group.workers, made, strict=True):
            with group.building(worker):
                scope.running.cancel()
        settle(group)
        nothing_left(group)


def test_rows_of_tables_are_used_again_and_tables_grow_while_others_run() -> None:
    with simulated() as group:
        world = group.workers[0].world
        first = build(group, hoarding(forward()))[0]
        first[0].send({"value": [-1]})
        sizes = []
        for number in range(60):
            ((handle, probe, recorder, _),) = build(group, hoarding(forward()), f"flow {number}")
            handle.send({"value": [number]})
            handle.close()
            settle(group)
            assert probe.done()
            assert recorder.rows == [(0, number)]
            sizes.append(len(world.operators))
        assert sizes[0] == sizes[-1]
        many = [build(group, hoarding(forward()), f"more {number}")[0] for number in range(40)]
        assert len(world.operators) > sizes[-1]
        for number, (handle, _, _, _) in enumerate([first, *many]):
            handle.send({"value": [number]})
            handle.close()
        settle(group)
        assert [recorder.rows[-1] for _, _, recorder, _ in [first, *many]] == [(0, number) for number in range(41)]
        nothing_left(group)


def test_the_event_log_tells_of_compiled_operators_runs() -> None:
    with simulated() as group:
        worker = group.workers[0]
        events = worker.watch_events()
        ((handle, _, _, _),) = build(group, hoarding(forward()))
        settle(group)
        events.take()
        began_ns = monotonic_ns()
        handle.send({"value": [1, 2, 3]})
        settle(group)
        lasted_ns = monotonic_ns() - began_ns
        found = [event for event in events.take() if event.operator == "hoarder"]
        assert [(event.event, event.messages, event.rows) for event in found if event.messages] == [("run", 1, 3)]
        assert 0 < sum(event.took_ns for event in found) <= lasted_ns
        handle.close()
        settle(group)
        assert any(event.event == "exchange" for event in events.take())
