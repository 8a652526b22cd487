"""Operators whose summaries say that an input cannot reach an output: what waits there holds nobody up."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.helpers import VALUE, Recorder, build, key_for, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    COMPLETE,
    Exchange,
    InputPort,
    Notify,
    OperatorContext,
    OperatorError,
    OutputPort,
    Pact,
    Pipeline,
    Scope,
    Worker,
)


class Diagnostic:
    """An operator with a data input and output 0, a diagnostic input and output 1; it takes messages when told to."""

    def __init__(self) -> None:
        self.takes: set[int] = {0, 1}
        self.frontiers: tuple[int, int] = (0, 0)
        self.activate: Callable[[], None]

    def construct(self, context: OperatorContext, *tokens: Any) -> Callable[..., None]:
        """The constructor."""
        for token in tokens:
            token.drop()
        self.activate = context.activate

        def logic(data: InputPort, questions: InputPort, passed: OutputPort, answers: OutputPort) -> None:
            self.frontiers = data.frontier, questions.frontier
            for number, port, output in ((0, data, passed), (1, questions, answers)):
                for reference, batch in port if number in self.takes else ():
                    output.give(reference, batch)

        return logic


def made(pact: Pact, apart: bool) -> Callable[[Worker, Scope], Any]:
    """The operator with its inputs, and probes and recorders of its outputs; `apart`: no path from 1 to 0."""

    def declare(worker: Worker, scope: Scope) -> Any:
        data, data_stream = scope.new_input(VALUE, "data")
        asked, questions = scope.new_input(VALUE, "questions")
        operator, passed, answered = Diagnostic(), Recorder(), Recorder()
        builder = scope.operator("diagnostic")
        builder.input(data_stream, pact)
        builder.input(questions, pact)
        streams = builder.output(VALUE, {1: None} if apart else None), builder.output(VALUE)
        builder.build(operator.construct)
        behind = [
            stream.sink(name, recorder.sink)
            for stream, name, recorder in zip(streams, ("data", "answers"), (passed, answered), strict=True)
        ]
        return data, asked, operator, [stream.probe() for stream in streams] + behind, passed, answered

    return declare


@pytest.mark.parametrize("pact", [Pipeline(), Exchange("value")], ids=str)
@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("apart", [True, False])
def test_questions_that_wait(workers: int, pact: Pact, apart: bool) -> None:
    """Untaken messages at the diagnostic input hold the data output back exactly if there is a path."""
    with simulated(workers) as group:
        running = build(group, made(pact, apart))
        for _, asked, operator, *_ in running:
            operator.takes = {0}
            asked.send({"value": list(range(50))})
            asked.close()
        for data, *_ in running:
            data.advance_to(4)
            data.send({"value": [key_for(0, workers)]})
            data.advance_to(9)
        settle(group)
        for _, _, operator, (data_out, answers_out, behind_data, behind_answers), passed, answered in running:
            expected = 9 if apart else 0
            assert (data_out.frontier, behind_data.frontier) == (expected, expected)
            assert (answers_out.frontier, behind_answers.frontier) == (0, 0)
            assert operator.frontiers == (9, 0)
            assert not answered.rows
            assert passed.rows or workers > 1
        for _, _, operator, *_ in running:
            operator.takes = {0, 1}
            operator.activate()
        settle(group)
        for _, _, _, probes, _, _ in running:
            assert [probe.frontier for probe in probes] == [9] * 4
        assert sum(len(answered.rows) for *_, answered in running) == 50 * workers
        for data, *_ in running:
            data.close()
        settle(group)
        assert all(probe.frontier == COMPLETE for _, _, _, probes, _, _ in running for probe in probes)


@pytest.mark.parametrize("workers", [1, 2])
def test_data_that_waits_holds_back_the_answers_it_can_reach(workers: int) -> None:
    with simulated(workers) as group:
        running = build(group, made(Pipeline(), apart=True))
        for data, asked, operator, *_ in running:
            operator.takes = {1}
            data.send({"value": [1]})
            data.close()
            asked.advance_to(9)
        settle(group)
        for _, _, _, (data_out, answers_out, *_), _, _ in running:
            assert (data_out.frontier, answers_out.frontier) == (0, 0)


def test_a_token_behind_the_diagnostic_output_holds_no_data_back() -> None:
    """A slow reader of answers: its token is at its own output, and its untaken messages at its input."""
    kept: list[Any] = []

    def slow(context: OperatorContext, token: Any) -> Callable[..., None]:
        token.drop()

        def logic(answers: InputPort, output: OutputPort) -> None:
            for reference, _ in answers:
                kept.append(reference.retain())
                return  # what else there is stays where it is

        return logic

    def declare(worker: Worker, scope: Scope) -> Any:
        data, data_stream = scope.new_input(VALUE, "data")
        asked, questions = scope.new_input(VALUE, "questions")
        operator = Diagnostic()
        builder = scope.operator("diagnostic", Notify.NEVER)
        builder.input(data_stream)
        builder.input(questions)
        passed, answers = builder.output(VALUE, {1: None}), builder.output(VALUE)
        builder.build(operator.construct)
        told = answers.unary("slow", VALUE, slow, notify=Notify.NEVER)
        return data, asked, passed.probe(), told.probe()

    with simulated() as group:
        ((data, asked, passed, told),) = build(group, declare)
        for number in range(3):
            asked.send({"value": [number]})
        asked.close()
        data.send({"value": [7]})
        data.advance_to(50)
        settle(group)
        assert (passed.frontier, told.frontier) == (50, 0)
        data.close()
        settle(group)
        assert passed.done()
        assert not told.done()
        kept.pop().drop()


def test_a_question_s_right_to_send_data_is_refused() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        _, data = scope.new_input(VALUE, "data")
        asked, questions = scope.new_input(VALUE, "questions")
        builder = scope.operator("diagnostic")
        builder.input(data)
        builder.input(questions)
        builder.output(VALUE, {1: None})

        def construct(context: OperatorContext, token: Any) -> Callable[..., None]:
            token.drop()

            def logic(data: InputPort, questions: InputPort, passed: OutputPort) -> None:
                for reference, batch in questions:
                    passed.give(reference, batch)

            return logic

        builder.build(construct)
        return asked

    with simulated() as group:
        (asked,) = build(group, declare)
        asked.send({"value": [1]})
        with raises(OperatorError, "operator 'diagnostic' input 1", "worker 0", "no path", "output 0"):
            settle(group)
