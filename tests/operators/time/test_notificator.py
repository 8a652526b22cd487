"""Notificator and Stash: every time once, when it is finished and not before, in order; in loops too."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, settle, simulated
from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import (
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    Scope,
    Stream,
    Token,
    UsageError,
    Worker,
)
from tokenring.operators import Notificator, Stash, branch, col, collect, union, with_columns

VALUE = Schema("value")


def stashed(stream: Stream) -> Stream:
    """All rows of a time as one message, once it is finished."""

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()
        stash = Stash()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                stash.add(reference, batch)
            for held, batch in stash.finished(rows):
                assert rows.finished(held.time)
                output.give(held, {"value": sorted(batch["value"].tolist())})

        return logic

    return stream.unary("stashed", VALUE, construct, notify=Notify.IF_TOKEN)


def notified(left: Stream, right: Stream) -> Stream:
    """The times at which both inputs are finished, for each that one of them had rows at, and for each a later one."""

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()
        notificator = Notificator()

        def logic(left: InputPort, right: InputPort, output: OutputPort) -> None:
            for rows in (left, right):
                for reference, _ in rows:
                    notificator.notify_at(reference.retain())
            for held in notificator.finished(left, right):
                output.give(held, {"value": [held.time]})
                if held.time % 2:
                    later = held.clone()
                    later.downgrade(held.time + 1)
                    notificator.notify_at(later)

        return logic

    return left.binary(right, "notified", VALUE, construct, notify=Notify.IF_TOKEN)


MOVES = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.booleans()), max_size=15)


@settings(max_examples=examples(30), deadline=None)
@given(moves=MOVES)
def test_a_time_is_told_once_it_is_finished_at_both_inputs(moves: list[tuple[int, int, bool]]) -> None:
    times, due, told = [0, 0], set(), []
    with bench([VALUE, VALUE], notified) as it:
        for to, later, rows in moves:
            times[to] += later
            it.inputs[0][to].advance_to(times[to])
            if rows:
                it.send({"value": [1]}, to=to)
                due |= {times[to], times[to] + times[to] % 2}
            it.settle()
            told += [time for time, _ in it.sent()]
            assert told == sorted(told)
            assert set(told) == {time for time in due if time < min(times)}
            assert len(set(told)) == len(told)
        it.close()
        told += [time for time, _ in it.sent()]
    assert told == sorted(due)


@settings(max_examples=examples(20), deadline=None)
@given(sends=st.lists(st.tuples(st.integers(0, 3), st.lists(st.integers(0, 9), min_size=1, max_size=4)), max_size=10))
def test_rows_are_kept_until_their_time_is_finished(sends: list[tuple[int, list[int]]]) -> None:
    with bench([VALUE], stashed) as it:
        for later, values in sends:
            it.send({"value": values}, time=it.inputs[0][0].time + later)
        now = it.inputs[0][0].time
        it.settle()
        by_time: dict[int, list[int]] = {}
        time = 0
        for later, values in sends:
            time += later
            by_time.setdefault(time, []).extend(values)
        assert it.sent() == sorted((at, value) for at, values in by_time.items() for value in values if at < now)
        it.close()
        assert it.sent() == sorted((at, value) for at, values in by_time.items() for value in values if at >= now)


def test_rounds_of_a_loop_are_told_one_by_one() -> None:
    seen: list[Any] = []

    def watched(stream: Stream) -> Stream:
        def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
            token.drop()
            stash = Stash()

            def logic(rows: InputPort, output: OutputPort) -> None:
                for reference, batch in rows:
                    stash.add(reference, batch)
                for held, batch in stash.finished(rows):
                    seen.append((held.time, sorted(batch["value"].tolist())))
                    output.give(held, batch)

            return logic

        return stream.unary("watched", VALUE, construct, notify=Notify.IF_TOKEN)

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        with scope.loop("down") as loop:
            back = loop.feedback(VALUE)
            body = watched(union(loop.enter(stream), back.stream))
            again, _ = branch(with_columns(body, value=col("value") - 1), col("value") > 0)
            back.connect(again)
        collect(loop.leave(body))
        return handle

    with simulated(1) as group:
        [handle] = build(group, declare)
        for epoch in range(2):
            handle.send({"value": [1 + epoch]}, epoch)
            handle.send({"value": [3]}, epoch)
        handle.close()
        settle(group)
    assert sorted(seen) == [
        ((0, 0), [1, 3]), ((0, 1), [2]), ((0, 2), [1]), ((1, 0), [2, 3]), ((1, 1), [1, 2]), ((1, 2), [1])
    ]  # fmt: skip
    for epoch in range(2):
        rounds = [time for time, _ in seen if time[0] == epoch]
        assert rounds == sorted(rounds)


def test_leaving_the_loop_midway_loses_no_token(capfd: pytest.CaptureFixture[str]) -> None:
    def one_a_call(stream: Stream) -> Stream:
        def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
            token.drop()
            stash = Stash()

            def logic(rows: InputPort, output: OutputPort) -> None:
                for reference, batch in rows:
                    stash.add(reference, batch)
                for held, batch in stash.finished(rows):
                    output.give(held, batch)
                    if stash:
                        context.activate()
                    break

            return logic

        return stream.unary("one a call", VALUE, construct, notify=Notify.IF_TOKEN)

    with bench([VALUE], one_a_call) as it:
        for time in range(4):
            it.send({"value": [time]}, time=time)
        it.close()
        assert it.sent() == [(time, time) for time in range(4)]
    assert "lost" not in capfd.readouterr().err


def test_what_is_no_token_or_reference_is_named() -> None:
    with raises(UsageError, "notify_at", "token", "reference.retain()", "not int"):
        Notificator().notify_at(5)  # type: ignore[arg-type]
    with raises(UsageError, "stash", "reference", "batch", "not int"):
        Stash().add(5, {})  # type: ignore[arg-type]
    with raises(UsageError, "finished(input, ...)"):
        list(Stash().finished())
