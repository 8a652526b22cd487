"""References of messages: how long they live, what they allow at which output; and tokens that get lost."""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.helpers import VALUE, build, settle, simulated, with_message
from tests.errors import raises
from tokenring.engine import (
    MAX_TIME,
    Batch,
    ExpiredReferenceError,
    InputPort,
    OperatorContext,
    OperatorError,
    OutputPort,
    PathSummary,
    Scope,
    Token,
    TokenError,
    TokenRef,
    Worker,
    WrongOutputError,
)


def _rows(*values: int) -> Batch:
    return Batch(VALUE, {"value": list(values)})


def _two_messages(act: Callable[[list[Any], InputPort, OutputPort], None]) -> None:
    """Run `act(kept, input, output)` at each call of an operator that gets two messages, one after the other's call."""
    kept: list[Any] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)

        def constructor(context: OperatorContext, token: Token) -> Callable[..., None]:
            token.drop()
            return lambda messages, output: act(kept, messages, output)

        stream.unary("actor", VALUE, constructor).probe()
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        for time in (1, 2):
            handle.send({"value": [time]})
            settle(group)
            handle.advance_to(time)


@pytest.mark.parametrize("use", ["retain", "give", "session"])
def test_a_reference_dies_with_the_call(use: str) -> None:
    def act(kept: list[Any], messages: InputPort, output: OutputPort) -> None:
        for old in kept:
            if use == "retain":
                old.retain()
            elif use == "give":
                output.give(old, _rows(1))
            else:
                output.session(old).__enter__()
        kept.extend(reference for reference, _ in messages)

    with raises(
        OperatorError, "ExpiredReferenceError", "operator 'actor' input 0", "worker 0", "time 0", "retain()"
    ) as caught:
        _two_messages(act)
    assert isinstance(caught.value.__cause__, ExpiredReferenceError)


def test_a_kept_iterator_does_not_keep_its_reference_alive() -> None:
    def act(kept: list[Any], messages: InputPort, output: OutputPort) -> None:
        if kept:
            kept[1].retain()
        elif messages.inbox.queue:
            iterator = iter(messages)
            reference, _ = next(iterator)
            kept.extend([iterator, reference])

    with raises(OperatorError, "ExpiredReferenceError", "operator 'actor' input 0", "worker 0", "time 0", "retain()"):
        _two_messages(act)


def test_a_kept_port_gives_nothing_outside_of_its_call() -> None:
    ports: list[InputPort] = []

    def act(kept: list[Any], messages: InputPort, output: OutputPort) -> None:
        ports.append(messages)

    _two_messages(act)
    with pytest.raises((ExpiredReferenceError, TokenError, StopIteration)):
        next(iter(ports[0]))


def test_a_reference_dies_with_the_next_message() -> None:
    first: list[TokenRef] = []

    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> None:
        first.append(reference)
        assert next(iter(messages), None) is None
        reference.retain().drop()

    with raises(OperatorError, "ExpiredReferenceError", "operator 'actor' input 0", "worker 0", "time 3", "retain()"):
        with_message(act)
    assert "time=3" in repr(first[0])


def test_a_reference_lives_on_in_its_call_without_its_loop() -> None:
    def act(kept: list[Any], messages: InputPort, output: OutputPort) -> None:
        retained = None
        for reference, _ in messages:
            retained = reference
            break
        if retained is not None:
            retained.retain().drop()

    _two_messages(act)


def _ports(
    act: Callable[[tuple[Any, ...], tuple[Token, ...]], Any], summaries: dict[int, PathSummary | None] | None = None
) -> list[Any]:
    """Run `act(ports, tokens)` in an operator with two inputs and two outputs, both inputs fed at time 3."""
    results: list[Any] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        builder = scope.operator("actor")
        builder.input(stream)
        builder.input(stream)
        builder.output(VALUE, summaries)
        builder.output(VALUE)

        def constructor(context: OperatorContext, *tokens: Token) -> Callable[..., None]:
            def logic(*ports: Any) -> None:
                if ports[0].inbox.queue:
                    results.append(act(ports, tokens))
                    for token in tokens:
                        token.drop()

            return logic

        builder.build(constructor)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.advance_to(3)
        handle.send({"value": [1]})
        handle.close()
        settle(group)
    return results


def test_a_token_is_for_one_output() -> None:
    def act(ports: tuple[Any, ...], tokens: tuple[Token, ...]) -> None:
        ports[2].give(tokens[1], _rows(1))

    with raises(OperatorError, "WrongOutputError", "output 0 on worker 0", "output 1 on worker 0") as caught:
        _ports(act)
    assert isinstance(caught.value.__cause__, WrongOutputError)


def test_retaining_applies_the_summary() -> None:
    def act(ports: tuple[Any, ...], tokens: tuple[Token, ...]) -> tuple[int, int, int]:
        reference, _ = next(iter(ports[0]))
        delayed, direct = reference.retain(0), reference.retain(1)
        other, _ = next(iter(ports[1]))
        undelayed = other.retain(0)
        times = delayed.time, direct.time, undelayed.time
        for token in (delayed, direct, undelayed):
            token.drop()
        return times

    assert _ports(act, {0: PathSummary(10)}) == [(13, 3, 3)]


def test_sending_by_reference_applies_the_summary() -> None:
    def act(ports: tuple[Any, ...], tokens: tuple[Token, ...]) -> None:
        reference, _ = next(iter(ports[0]))
        ports[2].give(reference, _rows(1), 12)

    with raises(OperatorError, "operator 'actor' output 0", "worker 0", "at 13", "at 12"):
        _ports(act, {0: PathSummary(10)})


@pytest.mark.parametrize("use", ["retain", "give"])
def test_no_path_gives_no_right(use: str) -> None:
    def act(ports: tuple[Any, ...], tokens: tuple[Token, ...]) -> None:
        reference, _ = next(iter(ports[0]))
        if use == "retain":
            reference.retain(0)
        else:
            ports[2].give(reference, _rows(1))

    with raises(OperatorError, "operator 'actor' input 0", "worker 0", "no path", "output 0"):
        _ports(act, {0: None})


@pytest.mark.parametrize("output", [2, -1, "x", None, 0.0])
def test_an_output_that_does_not_exist(output: Any) -> None:
    with raises(OperatorError, "operator 'actor' input 0", "worker 0", f"output {output!r}", "2 output(s)"):
        _ports(lambda ports, tokens: next(iter(ports[0]))[0].retain(output))


@pytest.mark.parametrize("use", ["retain", "give"])
def test_a_summary_does_not_lead_beyond_the_last_time(use: str) -> None:
    def act(ports: tuple[Any, ...], tokens: tuple[Token, ...]) -> None:
        reference, _ = next(iter(ports[0]))
        if use == "retain":
            reference.retain(0)
        else:
            ports[2].give(reference, _rows(1))

    retained, given = ("operator 'actor' input 0", f"at {MAX_TIME + 1}"), ("operator 'actor' output 0", "message at 3")
    told = retained if use == "retain" else given
    with raises(OperatorError, told, "worker 0", f"{MAX_TIME}"):
        _ports(act, {0: PathSummary(MAX_TIME - 2)})


def test_a_lost_token_is_released_and_reported(capfd: pytest.CaptureFixture[str]) -> None:
    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> int:
        lost = reference.retain()
        lost.downgrade(8)
        assert output.held == 2
        del lost
        waiting = output.operator.runtime.lost.waiting
        assert waiting == [(output, 8)], "released with the next exchange"
        return output.held

    assert with_message(act) == 2  # and the run came to its end: with_message asserts that
    said = capfd.readouterr().err.strip().splitlines()
    assert len(said) == 1
    for text in ("operator 'actor' output 0 on worker 0", "time 8", "without drop()", "test_references.py", "(act)"):
        assert text in said[0]


def test_a_token_lost_in_a_cycle_is_released_when_it_is_collected(capfd: pytest.CaptureFixture[str]) -> None:
    def act(token: Token, reference: TokenRef, messages: InputPort, output: OutputPort) -> tuple[int, int]:
        cycle: list[Any] = [reference.retain()]
        cycle.append(cycle)
        lost = output.operator.runtime.lost
        before = len(lost.waiting)
        del cycle
        gc.collect()
        return before, len(lost.waiting)

    assert with_message(act) == (0, 1)
    assert "lost without drop()" in capfd.readouterr().err


def test_a_constructor_that_forgets_its_token_holds_nothing_up(capfd: pytest.CaptureFixture[str]) -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        return handle, stream.unary("forgetful", VALUE, lambda context, token: lambda messages, output: None).probe()

    with simulated() as group:
        ((handle, probe),) = build(group, declare)
        handle.close()
        settle(group)
        assert probe.done()
    assert "operator 'forgetful' output 0" in capfd.readouterr().err
