"""When operators run: notify policies, activation, timers, and what a step says about itself."""

from __future__ import annotations

import gc
import time
from collections.abc import AsyncIterator, Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, build, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    GraphError,
    InputPort,
    Notify,
    OperatorContext,
    OperatorError,
    OutputPort,
    Schema,
    Scope,
    Token,
    UsageError,
    Worker,
)
from tokenring.engine.worker.worker import _LONGEST_SLEEP_S
from tokenring.shm.queues.parking import ParkingLot


class Watcher:
    """Counts its runs and takes its messages; keeps a token of the first if told to."""

    def __init__(self, keep: bool) -> None:
        self.keep = keep
        self.runs: list[tuple[int, int]] = []  # frontier, messages
        self.kept: list[Token] = []

    def construct(self, context: OperatorContext, token: Token) -> Callable[..., None]:
        """The constructor."""
        token.drop()

        def logic(messages: InputPort, output: OutputPort) -> None:
            taken = 0
            for reference, _ in messages:
                taken += 1
                if self.keep and not self.kept:
                    self.kept.append(reference.retain())
            self.runs.append((messages.frontier, taken))

        return logic


def _moves(policy: Notify, keep: bool) -> tuple[Watcher, list[tuple[int, int]]]:
    """What an operator of a policy runs for: a message at 0, then two moves, then (token dropped) two more."""
    watcher = Watcher(keep)

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        stream.unary("watch", VALUE, watcher.construct, notify=policy).probe()
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        settle(group)
        watcher.runs.clear()
        handle.send({"value": [1]})
        settle(group)
        for moment in (1, 2):
            handle.advance_to(moment)
            settle(group)
        for token in watcher.kept:
            token.drop()
        handle.send({"value": [1]})
        settle(group)
        for moment in (3, 4):
            handle.advance_to(moment)
            settle(group)
        return watcher, list(watcher.runs)


def test_never_runs_for_messages_only() -> None:
    assert _moves(Notify.NEVER, keep=True)[1] == [(0, 1), (2, 1)]


def test_always_runs_for_every_move() -> None:
    assert _moves(Notify.ALWAYS, keep=False)[1] == [(0, 1), (1, 0), (2, 0), (2, 1), (3, 0), (4, 0)]


def test_if_token_runs_for_moves_while_it_holds_one() -> None:
    assert _moves(Notify.IF_TOKEN, keep=True)[1] == [(0, 1), (1, 0), (2, 0), (2, 1)]
    assert _moves(Notify.IF_TOKEN, keep=False)[1] == [(0, 1), (2, 1)]


def _source(act: Callable[[OperatorContext, Token, OutputPort], None]) -> Callable[[Worker, Scope], Any]:
    def declare(worker: Worker, scope: Scope) -> Any:
        def constructor(context: OperatorContext, token: Token) -> Callable[..., None]:
            return lambda output: act(context, token, output)

        (stream,) = scope.source("source", (VALUE,), constructor)
        return stream.probe()

    return declare


def test_a_source_runs_once_and_then_when_it_asked_for_it() -> None:
    runs: list[int] = []

    def act(context: OperatorContext, token: Token, output: OutputPort) -> None:
        runs.append(len(runs))
        if len(runs) < 4:
            context.activate()
            context.activate()
        elif len(runs) == 4:
            token.downgrade(1)
        else:
            token.drop()

    with simulated() as group:
        build(group, _source(act))
        worker = group.workers[0]
        assert [worker.step() for _ in range(4)] == [True] * 4
        assert len(runs) == 4, "once a step, however often it asked"
        settle(group)
        assert len(runs) == 4
        worker.schedule.activate(worker.inspection.operators[0])
        settle(group)
        assert worker.complete


def test_timers_fire_in_order_and_not_early() -> None:
    begin = time.monotonic_ns()
    fired: list[int] = []

    def act(context: OperatorContext, token: Token, output: OutputPort) -> None:
        fired.append(time.monotonic_ns() - begin)
        if len(fired) == 1:
            context.activate_after(20_000_000)
            context.activate_after(5_000_000)
        if len(fired) == 3:
            token.drop()

    with simulated() as group:
        build(group, _source(act))
        group.run()
    assert len(fired) == 3
    assert fired[1] >= 5_000_000
    assert fired[2] >= 20_000_000


def _generates(output: OutputPort) -> Iterator[None]:
    yield


async def _waits(output: OutputPort) -> None:
    pass


async def _generates_and_waits(output: OutputPort) -> AsyncIterator[None]:
    yield


@pytest.mark.parametrize("logic", [_generates, _waits, _generates_and_waits, partial(_generates), None])
def test_a_logic_whose_body_would_never_run_is_refused(
    logic: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    said = {"body would never run", "must return the logic"}
    with simulated() as group, raises(GraphError, "operator 'source' on worker 0", said):
        build(group, lambda worker, scope: scope.source("source", (VALUE,), lambda context, token: logic))
    gc.collect()
    assert "was lost" not in capsys.readouterr().err


@pytest.mark.parametrize("delay", [float("nan"), float("inf"), 1e6, None, "x", -1, 2**63], ids=repr)
def test_a_delay_that_is_no_time_to_wait_is_refused(delay: Any) -> None:
    """And leaves the timers of others alone: the run would never end by itself."""
    asked: list[int] = []

    def act(context: OperatorContext, token: Token, output: OutputPort) -> None:
        asked.append(1)
        if len(asked) == 1:
            context.activate_after(np.int64(1000))  # type: ignore[arg-type]
            with raises(UsageError, "operator 'source'", "whole nanoseconds", "from 0", f"not {delay!r}"):
                context.activate_after(delay)
        else:
            token.drop()

    with simulated() as group:
        build(group, _source(act))
        group.run()
    assert len(asked) == 2


def test_what_is_no_probe_runs_nobody() -> None:
    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        context.run_on_advance(token)  # type: ignore[arg-type]
        raise AssertionError

    with simulated() as group, raises(UsageError, "operator 'source'", "run_on_advance", "stream.probe()", "not Token"):
        build(group, lambda worker, scope: scope.source("source", (VALUE,), construct))


class WatchedLot(ParkingLot):
    """A parking lot of one, which notes for how long it is slept in."""

    def __init__(self) -> None:
        super().__init__(1)
        self.waits: list[float] = []

    def wait(self, worker: int, seconds: float) -> bool:
        self.waits.append(seconds)
        return super().wait(worker, seconds)


def test_a_timer_wakes_a_worker_that_sleeps() -> None:
    """It sleeps once, until the timer, though it might for longer. On a machine that lets it wait for so long before it
    comes to sleep it has another timer, and another."""
    delay_s, timers, lot = 0.15, 0, WatchedLot()
    assert delay_s < _LONGEST_SLEEP_S

    def act(context: OperatorContext, token: Token, output: OutputPort) -> None:
        nonlocal timers
        if lot.waits or timers == 20:
            token.drop()
        else:
            timers += 1
            context.activate_after(int(delay_s * 1e9))

    with simulated(spin_us=0) as group:
        worker = group.workers[0]
        worker.parking._lot = lot
        build(group, _source(act))
        worker.run()
        lot.close()
    assert lot.waits, "it slept"
    assert len(lot.waits) <= 2, "and did not look again and again"
    assert max(lot.waits) <= delay_s


def test_a_step_with_nothing_to_do_says_so() -> None:
    with simulated(2) as group:
        build(group, lambda worker, scope: scope.new_input(VALUE)[1].probe())
        settle(group)
        assert [worker.step() for worker in group.workers] == [False, False]


def test_a_chain_runs_within_one_step() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        for number in range(20):
            stream = stream.unary(f"link {number}", Schema("value"), _pass_on, notify=Notify.NEVER)
        return handle, stream.probe()

    with simulated() as group:
        ((handle, probe),) = build(group, declare)
        settle(group)
        handle.send({"value": [1, 2]})
        handle.advance_to(1)
        assert probe.frontier == 0
        group.workers[0].step()
        assert probe.frontier == 1


def _pass_on(context: OperatorContext, token: Token) -> Callable[..., None]:
    token.drop()

    def logic(messages: InputPort, output: OutputPort) -> None:
        for reference, batch in messages:
            output.give(reference, batch)

    return logic


def test_contexts_say_where_they_are() -> None:
    seen: list[tuple[str, int, int, bool, str]] = []

    def constructor(context: OperatorContext, token: Token) -> Callable[..., None]:
        seen.append((context.name, context.worker_index, context.peers, context.congested, repr(context)))
        token.drop()
        return lambda output: None

    with simulated(2) as group:
        build(group, lambda worker, scope: scope.source("somewhere", (VALUE,), constructor))
    assert seen == [("somewhere", w, 2, False, f"OperatorContext('somewhere', worker {w} of 2)") for w in range(2)]


def test_describe_frontiers_answers_why_time_stands_still() -> None:
    with simulated() as group:
        build(group, lambda worker, scope: scope.new_input(VALUE)[1].unary("waiting", VALUE, _pass_on).probe())
        settle(group)
        text = group.workers[0].inspection.describe_frontiers()
    assert "input: holds 1 token(s)" in text
    assert "waiting: holds 0 token(s); input 0 0" in text


@pytest.mark.parametrize("error", [ValueError("bad"), KeyError("bad")])
def test_what_an_operator_raises_says_which_and_where(error: Exception) -> None:
    def act(context: OperatorContext, token: Token, output: OutputPort) -> None:
        token.drop()
        raise error

    with simulated() as group:
        build(group, _source(act))
        with raises(OperatorError, "operator 'source'", "worker 0", f"{type(error).__name__}: {error}") as caught:
            group.workers[0].step()
        assert caught.value.__cause__ is error


def test_what_is_fed_back_from_outside_is_counted_before_the_input_moves_on() -> None:
    """A manual input that leads straight into a feedback: nobody's call ends, so nobody else would hand it on."""
    seen: list[int] = []

    def note(context: OperatorContext) -> Callable[..., None]:
        def logic(messages: InputPort) -> None:
            seen.extend(reference.time for reference, _ in messages)

        return logic

    def program(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        delayed = scope.feedback(VALUE, increment=5)
        delayed.connect(stream)
        return handle, delayed.stream.probe(), delayed.stream.sink("note", note)

    with simulated(1) as group:
        ((handle, probe, taken),) = build(group, program)
        handle.send({"value": [1]})
        handle.advance_to(3)
        assert (probe.frontier, taken.frontier) == (8, 5), "the row is on its way at time 5"
        group.workers[0].step()
        assert seen == [5]
        assert taken.frontier == 8
        handle.close()
