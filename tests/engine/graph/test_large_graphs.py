"""Graphs with many operators, or operators with many ports: built, and followed by frontiers, in linear time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.growth import growth
from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    COMPLETE,
    Notify,
    OperatorContext,
    PathSummary,
    Scope,
    Stream,
    Token,
    Worker,
    WrongOutputError,
)


def _pass_on(context: OperatorContext, *tokens: Token) -> Callable[..., None]:
    """As many inputs as outputs; what comes in at one goes out at the one of the same number."""
    for token in tokens:
        token.drop()
    ports = len(tokens)

    def logic(*everything: Any) -> None:
        for rows, output in zip(everything[:ports], everything[ports:], strict=True):
            for reference, batch in rows:
                output.give(reference, batch)

    return logic


def _wide(ports: int, dense: bool, notify: Notify = Notify.ALWAYS) -> Callable[[Worker, Scope], Any]:
    """Two operators with so many inputs and outputs, behind each other, of which each output depends on all inputs, or
    on its own alone."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        streams: list[Stream] = [stream] * ports
        for _ in range(2):
            builder = scope.operator("wide", notify)
            for one in streams:
                builder.input(one)
            streams = [
                builder.output(VALUE) if dense else builder.output(VALUE, {at: PathSummary(at)}, only=True)
                for at in range(ports)
            ]
            builder.build(_pass_on)
        return handle, streams[0].probe(), streams[-1].probe()

    return declare


def _run_wide(ports: int, dense: bool) -> None:
    with simulated() as group:
        ((handle, first, last),) = build(group, _wide(ports, dense))
        settle(group, 10 + ports)
        handle.send({"value": [1]})
        handle.advance_to(5)
        settle(group, 10 + ports)
        assert first.frontier == 5
        assert last.frontier == (5 if dense else 5 + 2 * (ports - 1))


@pytest.mark.parametrize("dense", [True, False])
def test_an_operator_with_many_inputs_and_outputs(dense: bool) -> None:
    assert growth(lambda ports: _run_wide(ports, dense), 100, 1600) < 80, "16 times as many"


def test_ports_that_have_no_way_between_them_give_no_token() -> None:
    kept: list[Exception] = []

    def construct(context: OperatorContext, *tokens: Token) -> Callable[..., None]:
        for token in tokens:
            token.drop()

        def logic(one: Any, two: Any, first: Any, second: Any) -> None:
            for reference, batch in one:
                first.give(reference, batch)
                with raises(WrongOutputError, "operator 'apart' input 0", "no path", "output 1") as caught:
                    reference.retain(1)
                kept.append(caught.value)

        return logic

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        builder = scope.operator("apart")
        for _ in range(2):
            builder.input(stream)
        first, second = [builder.output(VALUE, {at: PathSummary(3 * at)}, only=True) for at in range(2)]
        builder.build(construct)
        return handle, first.probe(), second.probe()

    with simulated() as group:
        ((handle, first, second),) = build(group, declare)
        handle.send({"value": [1]})
        handle.advance_to(2)
        settle(group)
        assert len(kept) == 1
        assert (first.frontier, second.frontier) == (2, 3), "the second input's message was left at 0"


def _chain(operators: int, notify: Notify) -> None:
    recorder = Recorder()

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        for _ in range(operators):
            stream = stream.unary("next", VALUE, recorder.unary, notify=notify)
        return handle, stream.probe()

    with simulated() as group:
        ((handle, probe),) = build(group, declare)
        settle(group, operators)
        handle.send({"value": [1]})
        handle.advance_to(7)
        settle(group, operators)
        assert probe.frontier == 7
        handle.close()
        settle(group, operators)
        assert probe.frontier == COMPLETE
        assert group.workers[0].complete


@pytest.mark.parametrize("notify", [Notify.ALWAYS, Notify.IF_TOKEN])
def test_a_long_chain_whose_operators_look_at_their_frontiers(notify: Notify) -> None:
    assert growth(lambda operators: _chain(operators, notify), 300, 4800) < 80, "16 times as many"
