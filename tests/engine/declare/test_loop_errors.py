"""Loops that cannot be built, and times of the wrong kind: errors that say where and what to do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tests.errors import Fact, raises
from tokenring.engine import (
    MAX_TIME,
    GraphError,
    InputPort,
    OperatorContext,
    OperatorError,
    OutputPort,
    PathSummary,
    Schema,
    SchemaError,
    Scope,
    Stream,
    UsageError,
    Worker,
)
from tokenring.operators import union


def refused(kind: type[Exception], said: Fact, declare: Callable[[Scope, Stream], Any]) -> str:
    """The text of what `declare(scope, stream)` raises while a dataflow is declared, or its graph when it is built."""

    def on_worker(worker: Worker, scope: Scope) -> None:
        declare(scope, scope.new_input(VALUE)[1])

    with simulated(2) as group, raises(kind, said) as caught:
        build(group, on_worker)
    return str(caught.value)


def test_a_fourth_loop() -> None:
    def declare(scope: Scope, stream: Stream) -> None:
        with scope.loop("a") as a, a.loop("b") as b, b.loop("c") as c, c.loop("d"):
            pass

    refused(GraphError, ("loop 'd'", "5 coordinates", "carry 4"), declare)


def test_a_feedback_that_is_not_connected() -> None:
    def declare(scope: Scope, stream: Stream) -> None:
        with scope.loop() as loop:
            back = loop.feedback(VALUE, name="way back")
            union(loop.enter(stream), back.stream)

    refused(GraphError, ("way back", "dataflow 'test'", "connect(stream)", "set(rows)"), declare)


def test_a_feedback_that_is_connected_twice_or_with_other_columns() -> None:
    def twice(scope: Scope, stream: Stream) -> None:
        with scope.loop() as loop:
            back = loop.feedback(VALUE, name="way back")
            back.connect(loop.enter(stream))
            back.connect(loop.enter(stream))

    def others(scope: Scope, stream: Stream) -> None:
        with scope.loop() as loop:
            loop.feedback(Schema("other"), name="way back").connect(loop.enter(stream))

    refused(GraphError, ("way back", "connect", "before", "concatenate"), twice)
    refused(SchemaError, ("way back", "Schema(other=int64)", "not Schema(value=int64)"), others)


@pytest.mark.parametrize("depth", [1, 2, 4])
def test_a_way_round_that_does_not_advance(depth: int) -> None:
    def declare(scope: Scope, stream: Stream) -> None:
        inner: Any = scope
        for _ in range(depth - 1):
            with inner.loop() as loop:
                stream = loop.enter(stream)
            inner = loop
        back = inner.feedback(VALUE, 0, "standstill")
        back.connect(union(stream, back.stream, name="head"))

    said = refused(GraphError, "cycle that does not advance time", declare)
    for name in ("'standstill' input 0 -> 'standstill' output 0", "'head' input 1 -> 'head' output 0"):
        assert name in said
    assert "'input'" not in said


@pytest.mark.parametrize("increment", [-1, None, 1.5, "x", True])
def test_a_way_round_that_is_no_step_forward(increment: Any) -> None:
    said = ("feedback: increment=", f"delay {increment!r}", f"0..{MAX_TIME}")
    refused(GraphError, said, lambda scope, stream: scope.feedback(VALUE, increment))


def _out_and_in_again(increment: int) -> Callable[[Scope, Stream], None]:
    """A cycle through a loop that advances within it, and leaves it, and comes back `increment` later."""

    def declare(scope: Scope, stream: Stream) -> None:
        outer = scope.feedback(VALUE, increment, "outer way")
        head = union(stream, outer.stream, name="outer head")
        with scope.loop("inner") as loop:
            back = loop.feedback(VALUE, 1, "inner way")
            inner = union(loop.enter(head), back.stream, name="inner head")
            back.connect(inner)
        outer.connect(loop.leave(inner))

    return declare


def test_a_cycle_that_leaves_a_loop_must_advance_outside_of_it() -> None:
    said = refused(GraphError, "cycle that does not advance time", _out_and_in_again(0))
    for name in ("'enter inner'", "'leave inner'", "'outer way'"):
        assert name in said
    with simulated() as group:
        build(group, lambda worker, scope: _out_and_in_again(1)(scope, scope.new_input(VALUE)[1]))


def test_streams_of_other_scopes() -> None:
    def unentered(scope: Scope, stream: Stream) -> None:
        with scope.loop("around") as loop:
            loop.operator("within").input(stream)

    def not_left(scope: Scope, stream: Stream) -> None:
        with scope.loop("around") as loop:
            entered = loop.enter(stream)
        scope.operator("without").input(entered)

    def two_at_once(scope: Scope, stream: Stream) -> None:
        with scope.loop("a") as a, a.loop("b") as b:
            b.enter(stream)

    def of_another(scope: Scope, stream: Stream) -> None:
        with scope.loop("a") as a, scope.loop("b") as b:
            b.leave(a.enter(stream))

    def fed_back(scope: Scope, stream: Stream) -> None:
        with scope.loop("a") as a:
            a.feedback(VALUE, name="way back").connect(stream)

    cure = ("loop.enter(stream)", "loop.leave(stream)")
    root = "belongs to the root scope of dataflow 'test'"
    not_root = "not to the root scope of dataflow 'test'"
    around, entered = "'input' output 0 of dataflow 'test'", "'enter a' output 0 of dataflow 'test'"
    refused(GraphError, ("operator 'within'", around, root, "not to loop 'around'", *cure), unentered)
    refused(GraphError, ("operator 'without'", "belongs to loop 'around'", not_root, *cure), not_left)
    refused(GraphError, ("loop 'b', enter", around, root, "not to loop 'a'", *cure), two_at_once)
    refused(GraphError, ("loop 'b', leave", entered, "belongs to loop 'a'", "not to loop 'b'", *cure), of_another)
    refused(GraphError, ("way back", around, root, "not to loop 'a'", *cure), fed_back)


def test_inputs_belong_outside() -> None:
    def declare(scope: Scope, stream: Stream) -> None:
        with scope.loop("around") as loop:
            loop.new_input(VALUE, "numbers")

    refused(GraphError, ("input 'numbers'", "loop 'around'", "root scope", "enter"), declare)


def test_a_summary_of_another_scope() -> None:
    def declare(scope: Scope, stream: Stream) -> None:
        with scope.loop() as loop:
            entered = loop.enter(stream)
            builder = loop.operator("late")
            builder.input(entered)
            builder.output(VALUE, {0: PathSummary(1)})

    refused(GraphError, ("operator 'late'", "PathSummary(1)", "2 coordinate"), declare)


def test_a_summary_is_of_an_input_that_there_is() -> None:
    def declare(scope: Scope, stream: Stream) -> None:
        builder = scope.operator("forward")
        builder.input(stream)
        builder.output(VALUE, {0: PathSummary(1)})
        for port in (4, -1):
            with raises(GraphError, "operator 'forward'", f"input {port}", "are 0:", "declare inputs"):
                builder.output(VALUE, {port: None})
        for summaries in (5, [1]):
            with raises(GraphError, "operator 'forward'", "a mapping of inputs", f"not {summaries!r}"):
                builder.output(VALUE, summaries)  # type: ignore[arg-type]
        with raises(GraphError, "operator 'forward'", "input 0", "not 5", "PathSummary(5)"):
            builder.output(VALUE, {0: 5})  # type: ignore[dict-item]
        with raises(GraphError, "operator 'none'", "are none:"):
            scope.operator("none").output(VALUE, {0: PathSummary(1)})
        raise GraphError("declared")

    refused(GraphError, "declared", declare)


def in_a_loop(act: Callable[[Any, Any, InputPort, OutputPort], Any], summary: PathSummary | None = None) -> str:
    """What an operator in a loop raises that does `act(token at (0, 2), reference at (0, 0), input, output)`."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        with scope.loop() as loop:
            entered = loop.enter(stream)
            builder = loop.operator("actor")
            builder.input(entered)
            builder.output(VALUE, {0: summary} if summary is not None else None)

            def construct(context: OperatorContext, token: Any) -> Callable[..., None]:
                token.downgrade((0, 2))

                def logic(messages: InputPort, output: OutputPort) -> None:
                    for reference, _ in messages:
                        act(token, reference, messages, output)

                return logic

            builder.build(construct)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.send({"value": [1]})
        with pytest.raises(OperatorError) as caught:
            settle(group)
    return str(caught.value)


ROW = {"value": [1]}
PLACE = "operator 'actor' output 0 on worker 0"
KIND = "a time in this scope is a tuple of 2 integers, not "


@pytest.mark.parametrize(
    ("act", "said"),
    [
        (lambda token, *_: token.downgrade(5), f"cannot downgrade a token of {PLACE}: {KIND}5"),
        (lambda token, *_: token.downgrade((5,)), f"{KIND}(5,)"),
        (lambda token, *_: token.downgrade((1, 2, 3)), f"{KIND}(1, 2, 3)"),
        (lambda token, *_: token.downgrade((0, 1)), f"cannot downgrade a token of {PLACE} from (0, 2) back to (0, 1)"),
        (lambda token, *_: token.downgrade((1, 0)), f"a token of {PLACE} from (0, 2) back to (1, 0)"),
        (lambda token, *_: token.downgrade((0, MAX_TIME + 1)), f"the last representable time is {MAX_TIME}"),
        (lambda token, _, __, out: out.give(token, ROW, 7), f"{PLACE}: {KIND}7"),
        (lambda token, _, __, out: out.give(token, ROW, (3, 1)), f"{PLACE}: a token at (0, 2) cannot send at (3, 1)"),
        (lambda _, reference, __, out: out.session(reference, "now").__enter__(), f"{PLACE}: {KIND}'now'"),
        (lambda _, __, messages, ___: messages.finished(0), f"{KIND}0"),
        (lambda _, __, messages, ___: messages.finished((0, 0, 0)), f"{KIND}(0, 0, 0)"),
    ],
)
def test_times_of_another_kind(act: Callable[..., Any], said: str) -> None:
    text = in_a_loop(act)
    assert text.startswith("operator 'actor'")
    assert "on worker 0" in text
    assert said in text


def test_a_summary_beyond_the_last_round() -> None:
    for act in (
        lambda _, reference, __, ___: reference.retain(),
        lambda _, reference, __, output: output.give(reference, ROW),
    ):
        text = in_a_loop_at_round_1(act)
        assert "TimeRegressionError" in text
        assert "'actor'" in text
        assert "(0, 1)" in text
        assert f"the last representable time {MAX_TIME}" in text


def in_a_loop_at_round_1(act: Callable[[Any, Any, InputPort, OutputPort], Any]) -> str:
    """The same as `in_a_loop`, for an operator that adds all rounds there are to a message at round 1."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        with scope.loop() as loop:
            back = loop.feedback(VALUE)
            back.connect(loop.enter(stream))
            builder = loop.operator("actor")
            builder.input(back.stream)
            builder.output(VALUE, {0: PathSummary(0, MAX_TIME)})

            def construct(context: OperatorContext, token: Any) -> Callable[..., None]:
                token.drop()

                def logic(messages: InputPort, output: OutputPort) -> None:
                    for reference, _ in messages:
                        act(token, reference, messages, output)

                return logic

            builder.build(construct)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.send(ROW)
        with pytest.raises(OperatorError) as caught:
            settle(group)
    return str(caught.value)


def test_probes_of_another_scope_s_times() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        with scope.loop() as loop:
            entered = loop.enter(stream)
        entered.sink("end", Recorder().sink)
        return handle, entered.probe()

    with simulated() as group:
        ((handle, probe),) = build(group, declare)
        assert probe.less_equal((0, 0))
        handle.close()
        assert probe.done()
        for ask in (probe.less_than, probe.less_equal):
            with raises(UsageError, f"a probe (declared at {__file__}:", "tuple of 2 integers", "not 1"):
                ask(1)
