"""Frontiers in loops and behind them: what tokens hold back, sources in loops, feedback without a loop, fair turns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.declare.loops import EXCHANGE, Witness, fork
from tests.engine.helpers import VALUE, Recorder, build, key_for, settle, simulated
from tokenring.engine import (
    Antichain,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Pact,
    Pipeline,
    Scope,
    Worker,
    less_equal,
)
from tokenring.operators import union


class Keeper:
    """An operator that passes rows on and keeps a token of each message until it is told to let go."""

    def __init__(self) -> None:
        self.tokens: list[Any] = []

    def construct(self, context: OperatorContext, token: Any) -> Callable[..., None]:
        """The operator's constructor."""
        token.drop()

        def logic(messages: InputPort, output: OutputPort) -> None:
            for reference, batch in messages:
                self.tokens.append(reference.retain())
                output.give(reference, batch)

        return logic


@pytest.mark.parametrize("workers", [1, 2])
def test_a_token_in_a_loop_holds_back_later_rounds_and_the_epoch_behind_it(workers: int) -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        keeper = Keeper()
        with scope.loop() as loop:
            back = loop.feedback(VALUE, 2)
            head = union(loop.enter(stream), back.stream)
            kept = head.unary("keeper", VALUE, keeper.construct, notify=Notify.NEVER)
            again, done = fork(loop, kept)
            back.connect(again)
        return handle, keeper, head.probe(), again.probe(), loop.leave(done).probe()

    with simulated(workers) as group:
        made = build(group, declare)
        handle, keeper, head, again, behind = made[0]
        handle.send({"value": [2]})
        for other, *_ in made:
            other.advance_to(5)
        settle(group)
        assert [token.time for token in keeper.tokens] == [(0, 0), (0, 2), (0, 4)]
        assert again.frontier == Antichain([(0, 0)], less_equal), "the first token covers the others"
        assert set(head.frontier) == {(0, 2), (5, 0)}, "no lesser round can come, epoch 5 can at round 0"
        assert (head.less_equal((0, 1)), head.less_equal((0, 2)), head.less_than((0, 2))) == (False, True, False)
        assert (head.less_equal((4, 1)), head.less_than((4, 3)), head.less_equal((5, 0))) == (False, True, True)
        assert behind.frontier == 0
        keeper.tokens[0].downgrade((3, 1))
        keeper.tokens[1].drop()
        group.workers[0].flush()
        assert set(again.frontier) == {(0, 4), (3, 1), (5, 0)}, "incomparable times"
        assert behind.frontier == 0
        keeper.tokens[2].drop()
        group.workers[0].flush()
        assert behind.frontier == 3
        keeper.tokens[0].drop()
        group.workers[0].flush()
        assert behind.frontier == 5
        assert set(head.frontier) == {(5, 0)}


@pytest.mark.parametrize("workers", [1, 2])
def test_feedback_in_the_root_scope_delays(workers: int) -> None:
    """Times stay integers: a row comes again 10 later, until it came at 40 or later."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        recorder = Recorder()
        back = scope.feedback(VALUE, 10)
        seen = union(stream, back.stream).unary("record", VALUE, recorder.unary, EXCHANGE)

        def until_40(context: OperatorContext, token: Any) -> Callable[..., None]:
            token.drop()

            def logic(messages: InputPort, output: OutputPort) -> None:
                for reference, batch in messages:
                    if reference.time < 40:
                        output.give(reference, batch)

            return logic

        back.connect(seen.unary("until 40", VALUE, until_40, notify=Notify.NEVER))
        return handle, recorder, seen.probe()

    with simulated(workers) as group:
        made = build(group, declare)
        made[0][0].send({"value": [1, 2]})
        made[0][0].advance_to(7)
        made[0][0].send({"value": [3]})
        for handle, *_ in made:
            handle.advance_to(100)
        settle(group)
        rows = sorted(row for _, recorder, _ in made for row in recorder.rows)
        assert rows == sorted(
            [(time, value) for time in range(0, 41, 10) for value in (1, 2)] + [(time, 3) for time in range(7, 48, 10)]
        )
        assert all(probe.frontier == 100 for *_, probe in made)


@pytest.mark.parametrize("pact", [Pipeline(), EXCHANGE], ids=str)
def test_an_operator_that_feeds_itself_leaves_others_their_turn(pact: Pact) -> None:
    """One that goes round until the other has run ends its call after each round, and its step after some."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        other, other_stream = scope.new_input(VALUE)
        runs: list[int] = []
        recorder = Recorder()

        def spin(context: OperatorContext, token: Any) -> Callable[..., None]:
            token.drop()

            def logic(messages: InputPort, output: OutputPort) -> None:
                runs.append(0)
                for reference, batch in messages:
                    runs[-1] += 1
                    if not recorder.seen:
                        output.give(reference, batch)

            return logic

        with scope.loop() as loop:
            back = loop.feedback(VALUE)
            back.connect(union(loop.enter(stream), back.stream).unary("spin", VALUE, spin, pact, Notify.NEVER))
        other_stream.sink("other", recorder.sink)
        return handle, other, runs, recorder

    with simulated(2) as group:
        handle, other, runs, recorder = build(group, declare)[0]
        settle(group)
        runs.clear()
        handle.send({"value": [key_for(0, 2)]})
        group.workers[0].step()
        assert 1 < len(runs) < 200, "a step goes round several times, and ends"
        assert max(runs) == 1, "what it sends itself comes in a later call"
        other.send({"value": [2]})
        group.workers[0].step()
        group.workers[0].step()
        assert recorder.rows == [(0, 2)]
        settle(group)
        assert runs.count(1) < 1000


@pytest.mark.parametrize("workers", [1, 2])
def test_a_source_in_a_loop_begins_at_its_first_round(workers: int) -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        scope.new_input(VALUE)
        witness = Witness([(0, 0), (0, 1), (0, 2)])

        def count(context: OperatorContext, token: Any) -> Callable[..., None]:
            def logic(output: OutputPort) -> None:
                if token.live:
                    output.give(token, {"value": [context.worker_index]})
                    token.downgrade((0, token.time[1] + 1))
                    context.activate()
                    if token.time == (0, 3):
                        token.drop()

            return logic

        with scope.loop() as loop:
            (made,) = loop.source("count", VALUE, count)
            made.unary("witness", VALUE, witness.construct, EXCHANGE)
        return witness

    with simulated(workers) as group:
        witnesses = build(group, declare)
        settle(group)
        rows = sorted(row for witness in witnesses for row in witness.rows)
        assert rows == [((0, turn), worker) for turn in range(3) for worker in range(workers)]
        assert all(witness.finished == {(0, 0), (0, 1), (0, 2)} for witness in witnesses)
