"""Finished dataflows let go of what they kept, at once, while others run, are added, and finish in any order."""

from __future__ import annotations

import gc
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.engine.helpers import VALUE, Recorder, build, nothing_left, settle, simulated, take_in
from tests.engine.native.scripted import forward, operate
from tests.errors import raises
from tokenring.engine import (
    COMPLETE,
    Batch,
    Exchange,
    GraphError,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    ProbeGroup,
    Scope,
    Token,
    Worker,
)


class State:
    """What an operator keeps."""

    def same(self, batch: Batch) -> Batch:
        return batch


@pytest.fixture(autouse=True)
def _no_garbage_collection() -> Iterator[None]:
    """Workers do without it for long, so what is let go must not wait for it."""
    gc.disable()
    yield
    gc.enable()


def keeping(kept: list[weakref.ref[Any]]) -> Any:
    """A dataflow with an exchange, a stage and an operator whose state is watched; returns (scope, handle, probe)."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)

        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            token.drop()
            state = State()
            kept.append(weakref.ref(state))

            def logic(messages: InputPort, output: OutputPort) -> None:
                for reference, batch in messages:
                    assert state is not None
                    output.give(reference, batch)

            return logic

        stream = stream.apply("same", VALUE, lambda batch: batch)
        kept_stream = stream.unary("keep", VALUE, construct, Exchange("value"), Notify.IF_TOKEN)
        return scope, handle, kept_stream.sink("sink", Recorder().sink)

    return declare


@pytest.mark.parametrize("checks", ["normal", "exhaustive"])
@pytest.mark.parametrize("workers", [1, 2])
def test_a_finished_dataflow_is_released(workers: int, checks: str) -> None:
    kept: list[weakref.ref[Any]] = []
    with simulated(workers, checks=checks) as group:
        made = build(group, keeping(kept))
        for _, handle, _ in made:
            handle.send({"value": range(20)})
            handle.advance_to(3)
        settle(group)
        assert [ref() is None for ref in kept] == [False] * workers
        assert not any(scope.running.done for scope, _, _ in made)
        for _, handle, _ in made:
            handle.close()
        settle(group)
        assert all(scope.running.done for scope, _, _ in made)
        assert [ref() for ref in kept] == [None] * workers, "without the garbage collector's help"
        nothing_left(group)
        for _, handle, probe in made:
            assert handle.closed
            assert (probe.frontier, probe.done(), probe.less_than(9)) == (COMPLETE, True, False)
            assert ProbeGroup([probe]).done()


def test_what_a_compiled_operator_sent_to_is_released() -> None:
    kept: list[weakref.ref[Any]] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        state = State()
        kept.append(weakref.ref(state))
        (stream,) = operate(stream, forward())
        return handle, stream.apply("same", VALUE, state.same).probe()

    with simulated() as group:
        ((handle, probe),) = build(group, declare)
        handle.send({"value": range(20)})
        handle.advance_to(3)
        settle(group)
        assert (probe.frontier, kept[0]() is None) == (3, False)
        handle.close()
        settle(group)
        assert kept[0]() is None
        nothing_left(group)


def nested(worker: Worker, scope: Scope) -> Any:
    """A dataflow with a loop; returns (scope, handle, a probe inside, a probe behind it)."""
    handle, stream = scope.new_input(VALUE)
    with scope.loop("halve") as loop:
        halves, entered = loop.feedback(VALUE), loop.enter(stream)

        def halve(context: OperatorContext, token: Token) -> Callable[..., None]:
            token.drop()

            def logic(fresh: InputPort, back: InputPort, output: OutputPort) -> None:
                for rows in (fresh, back):
                    for reference, batch in rows:
                        values = batch["value"] // 2
                        output.give(reference, {"value": values[values > 0]})

            return logic

        builder = loop.operator("halve", Notify.NEVER)
        builder.input(entered, Exchange("value"))
        builder.input(halves.stream, Exchange("value"))
        halved = builder.output(VALUE)
        builder.build(halve)
        halves.connect(halved)
        inside = halved.probe()
        halved.apply("same", VALUE, lambda batch: batch)
    left = loop.leave(halved)
    return scope, handle, inside, left.probe()


def test_loops_are_released_too() -> None:
    for checks in ("normal", "exhaustive"):
        with simulated(2, checks=checks) as group:
            made = build(group, nested)
            for _, handle, inside, _ in made:
                handle.send({"value": range(50)})
                handle.close()
                with raises(GraphError, "probe in a loop", "tuples"):
                    ProbeGroup([inside])
            settle(group)
            nothing_left(group)
            for scope, _, inside, outside in made:
                assert scope.running.done
                assert (inside.done(), outside.done(), outside.frontier) == (True, True, COMPLETE)
                assert list(inside.frontier) == []
                assert not inside.less_than((3, 0))


def test_others_go_on() -> None:
    kept: list[weakref.ref[Any]] = []
    with simulated(2) as group:
        first, second, third = [build(group, keeping(kept)) for _ in range(3)]
        settle(group)
        for _, handle, _ in second:
            handle.close()
        settle(group)
        assert [ref() is None for ref in kept] == [False, False, True, True, False, False]
        for _, handle, _ in first + third:
            handle.send({"value": range(50)})
            handle.advance_to(4)
        settle(group)
        assert all(probe.frontier == 4 for _, _, probe in first + third)
        fourth = build(group, keeping(kept))
        for _, handle, _ in first + third + fourth:
            handle.send({"value": range(50)})
            handle.close()
        settle(group)
        nothing_left(group)
        assert all(ref() is None for ref in kept)


def test_a_finished_dataflow_is_not_run_any_more() -> None:
    runs: list[str] = []

    def declare(worker: Worker, scope: Scope) -> list[OperatorContext]:
        contexts: list[OperatorContext] = []

        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            contexts.append(context)

            def logic(output: OutputPort) -> None:
                runs.append(context.name)
                context.activate()
                context.activate_after(0)
                if token.live:
                    token.drop()

            return logic

        scope.source("restless", (VALUE,), construct)
        return contexts

    with simulated() as group:
        (contexts,) = build(group, declare)
        worker = group.workers[0]
        group.run()
        settle(group)
        assert worker.inspection.operators == []
        before = list(runs)
        contexts[0].activate()
        contexts[0].activate_after(0)
        settle(group)
        assert runs == before


def test_a_word_that_comes_late_is_dropped() -> None:
    """Signals are not counted, so one may arrive when its dataflow is forgotten."""
    with simulated(2) as group:

        def declare(worker: Worker, scope: Scope) -> Any:
            handle, stream = scope.new_input(VALUE)
            builder = scope.operator("listen", Notify.NEVER)
            builder.input(stream)
            signal = builder.listen(stream)
            builder.build(lambda context: lambda rows: None)
            return handle, signal

        made = build(group, declare)
        first, second = group.workers
        settle(group)
        for handle, _ in made:
            handle.close()
        made[0][1].send(5)
        first.plane.commit()
        while second.inspection.operators:
            second.turns.exchange(False)
            second.dataflows.forget_finished(second.tracker, second.plane)
        assert take_in(second) == 1
        settle(group)
        nothing_left(group)


@pytest.mark.parametrize("workers", [1, 2])
def test_the_pool_does_not_grow_with_the_dataflows_that_have_been(workers: int) -> None:
    used = []
    with simulated(workers) as group:
        for ordinal in range(40):
            made = build(group, nested if ordinal % 2 else keeping([]))
            for handle in (one[1] for one in made):
                handle.send({"value": range(20)})
                handle.advance_to(3)
                handle.close()
            settle(group)
            used.append([int(worker.tracker.tables.state.pool_used) for worker in group.workers])
        nothing_left(group)
    assert used[-1] == used[9]
