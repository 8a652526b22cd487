"""Holds: no frontier passes them, wherever they are taken, and without a right of their own there are none."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.declare.loops import around
from tests.engine.helpers import VALUE, Recorder, build, nothing_left, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    DroppedTokenError,
    Exchange,
    GraphError,
    Hold,
    InputPort,
    OperatorContext,
    OutputPort,
    Scope,
    TimeRegressionError,
    Token,
    TokenError,
    Worker,
)
from tokenring.engine.worker.config import EXHAUSTIVE


def counting(context: OperatorContext, token: Token) -> Callable[..., None]:
    """Counts rows by time, and sends a count once its time is complete."""
    token.drop()
    counts: dict[int, tuple[Token, int]] = {}
    context.inspectable(lambda: {time: count for time, (_, count) in counts.items()})

    def logic(messages: InputPort, output: OutputPort) -> None:
        for reference, batch in messages:
            if reference.time not in counts:
                counts[reference.time] = reference.retain(), 0
            held, count = counts[reference.time]
            counts[reference.time] = held, count + batch.rows
        for time in [time for time in counts if messages.finished(time)]:
            held, count = counts.pop(time)
            output.give(held, {"value": [count]})
            held.drop()

    return logic


def counted(worker: Worker, scope: Scope) -> Any:
    handle, stream = scope.new_input(VALUE)
    counts = stream.unary("count", VALUE, counting, Exchange("value"))
    recorder = Recorder()
    return scope, handle, stream, counts, counts.sink("record", recorder.sink), recorder


def feed(handle: Any, epochs: int) -> None:
    for time in range(epochs):
        handle.advance_to(time)
        handle.send({"value": range(10)})
    handle.close()


@pytest.mark.parametrize("workers", [1, 2])
def test_a_hold_suspends_the_computation_at_a_place_and_time(workers: int) -> None:
    with simulated(workers, checks=EXHAUSTIVE) as group:
        made = build(group, counted)
        scope, _, _, _, probe, recorder = made[0]
        with scope.running.hold("count", 3) as hold:
            for _, handle, *_ in made:
                feed(handle, 6)
            settle(group)
            assert all(one[4].frontier == 3 for one in made)
            assert {time for time, _ in recorder.rows} == {0, 1, 2}
            shown = [one[0].running.inspect("count") for one in made]
            assert sorted(time for counts in shown for time in counts) == sorted([3, 4, 5] * workers)
            assert sum(counts[4] for counts in shown) == 10 * workers
            (at,) = [one for one in scope.running.why(probe).pointstamps if one.operator == "input"]
            (holder,) = at.holders
            assert (at.port, at.time, holder.kind, holder.count) == ("output 0", 3, "hold", 1)
            assert holder.origin.endswith("(test_a_hold_suspends_the_computation_at_a_place_and_time)")
            assert "1 hold on worker 0, taken at" in str(scope.running.why("count"))
            hold.advance_to(5)
            settle(group)
            assert probe.frontier == 5
            assert repr(hold) == "Hold(operator 'count' input 0, time 5)"
        settle(group)
        assert hold.released
        hold.release()
        with pytest.raises(DroppedTokenError):
            hold.advance_to(6)
        assert scope.running.done
        assert sum(count for one in made for _, count in one[5].rows) == 6 * 10 * workers
        nothing_left(group)


def test_every_kind_of_place_can_be_held() -> None:
    with simulated(checks=EXHAUSTIVE) as group:
        ((scope, handle, stream, counts, probe, _),) = build(group, counted)
        places = [handle, stream, "input", ("count", "output", 0), counts, probe, "record", ("count", "input", 0)]
        holds = [scope.running.hold(place, 2) for place in places] + [group.workers[0].inspection.hold(probe, 4)]
        feed(handle, 6)
        for hold in holds[:-1]:
            settle(group)
            assert probe.frontier == 2
            hold.release()
        settle(group)
        assert probe.frontier == 4
        holds[-1].release()
        settle(group)
        nothing_left(group)


def test_a_time_that_has_passed_cannot_be_held() -> None:
    with simulated() as group:
        ((scope, handle, _, _, probe, _),) = build(group, counted)
        handle.advance_to(5)
        settle(group)
        with raises(TimeRegressionError, "operator 'count' output 0", "at 4", "worker 0", "frontier", "5", "later"):
            scope.running.hold(probe, 4)
        scope.running.hold(probe, 5).release()
        with raises(TimeRegressionError, "operator 'record' input 0", "-1"):
            scope.running.hold(probe, -1)
        with raises(TokenError, "operator 'record' input 0", "(1, 2)", "integer"):
            scope.running.hold(probe, (1, 2))
        handle.close()
        settle(group)
        with raises(TimeRegressionError, "at 7", "worker 0", "dataflow is finished"):
            scope.running.hold(probe, 7)


def test_a_worker_without_a_token_on_the_way_has_no_right_to_hold() -> None:
    with simulated(2) as group:
        (first, handle, *_), (second, other, *_) = build(group, counted)
        handle.close()
        settle(group)
        assert not first.running.why("count", 3).passed
        with raises(
            TokenError, "operator 'input' output 0", "at 3", "worker 0", "no token", "on a worker that has one"
        ):
            first.running.hold("count", 3)
        other.advance_to(2)
        with second.running.hold("count", 3):  # the same place and time, by the right of this worker's input
            other.close()
            settle(group)
            assert first.running.why("count").frontier == (3,)


def test_operators_show_state_only_if_they_want() -> None:
    with simulated() as group:
        ((scope, handle, *_),) = build(group, counted)
        with raises(GraphError, "operator 'record'", "context.inspectable(function)"):
            scope.running.inspect("record")
        assert group.workers[0].inspection.inspect("count") == {}
        handle.close()


def test_loops_can_be_held_at_a_round() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        loop, output = around(scope, stream, lambda reference: reference.time[1] < 5)
        return loop, handle, loop.leave(output).probe(), output

    with simulated(2, checks=EXHAUSTIVE) as group:
        (loop, handle, probe, output), (_, other, _, _) = build(group, declare)
        hold = loop.running.hold
        holds = [hold(output, (1, 3)), hold("enter around", 1), hold(("body", "input", 1), (1, 9))]
        for one in (handle, other):
            one.advance_to(1)
            one.send({"value": [1]})
            one.close()
        for hold in holds:
            settle(group)
            assert probe.frontier == 1
            hold.release()
        settle(group)
        nothing_left(group)


@pytest.mark.parametrize("seed", range(6))
def test_whatever_the_schedule_no_frontier_passes_a_hold(seed: int) -> None:
    chance = random.Random(seed)
    with simulated(3, checks=EXHAUSTIVE) as group:
        made = build(group, counted)
        times = [0, 0, 0]
        holds: list[Hold] = []
        for _ in range(150):
            me = chance.randrange(3)
            scope, handle, stream, counts, probe, _ = made[me]
            act = chance.random()
            if act < 0.3 and times[me] < 40:
                times[me] += chance.randrange(3)
                handle.advance_to(times[me])
                handle.send({"value": [chance.randrange(9)]})
            elif act < 0.4:
                place = chance.choice([stream, counts, probe, "count", "record"])
                at = chance.randrange(45)
                try:
                    holds.append(scope.running.hold(place, at))
                except TokenError:  # passed, as far as this worker knows, or not this worker's to hold
                    assert at < times[me]
            elif act < 0.5 and holds:
                hold = holds.pop(chance.randrange(len(holds)))
                if chance.random() < 0.5:
                    hold.release()
                else:
                    hold.advance_to(hold.time + 3)
                    holds.append(hold)
            else:
                group.workers[me].step()
            assert all(one[4].less_equal(hold.time) for one in made for hold in holds)
        for _, handle, *_ in made:
            handle.close()
        for hold in holds:
            hold.release()
        settle(group, 5000)
        nothing_left(group)
