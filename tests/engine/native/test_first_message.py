"""Compiled operators whose logics are made when the first message comes."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tests.engine.native.scripted import ANSWER, GO, IF_ZERO, RETURN, TAKE, Line, M, scripted, state_for
from tests.errors import Fact, raises
from tokenring.engine import InputHandle, MemoryBudgetError, OperatorError, Probe, Scope, Worker
from tokenring.engine.bridge import compiled_part
from tokenring.engine.compiled import DONE, NO_TOKEN, AtFirstMessage, Compiled


@pytest.fixture
def few() -> int:
    """How many operators are made when they are declared."""
    return 0


@pytest.fixture(autouse=True)
def _few_are_made_at_once(few: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiled_part, "MADE_AT_ONCE", few)


PASS_ON: list[Line] = [(TAKE, 0, M), (IF_ZERO, M, 4), (ANSWER, 0, 0, M), (GO, 0), (RETURN, DONE)]


def waiting(make: Callable[[], Compiled], seen: Recorder) -> Callable[[Worker, Scope], tuple[InputHandle, Probe, Any]]:
    """A dataflow with an operator that is made so: its input, its probe, and what inspects the operator."""

    def declare(worker: Worker, scope: Scope) -> tuple[InputHandle, Probe, Any]:
        handle, stream = scope.new_input(VALUE)
        builder = scope.operator("late")
        builder.input(stream)
        output = builder.output(VALUE)
        builder.build_compiled(lambda _: AtFirstMessage(make, lambda: "waits"))
        return handle, output.unary("record", VALUE, seen.unary).probe(), scope

    return declare


def test_an_operator_is_made_at_its_first_message_and_holds_nobody_back_before(
    capsys: pytest.CaptureFixture[str],
) -> None:
    states: list[np.ndarray] = []
    recorder = Recorder()

    def make() -> Compiled:
        states.append(state_for(PASS_ON))
        return Compiled(scripted, states[-1], view=lambda: "made")

    with simulated(2) as group:
        edges = build(group, waiting(make, recorder))
        for handle, _, _ in edges:
            handle.advance_to(3)
        settle(group)
        assert [probe.frontier for _, probe, _ in edges] == [3, 3]
        assert not states
        assert "was lost" not in capsys.readouterr().err
        for value in (7, 8):
            edges[0][0].send({"value": [value]})
            settle(group)
        assert recorder.rows == [(3, 7), (3, 8)]
        assert [scope.running.inspect("late") for _, _, scope in edges] == ["made", "waits"]
    (state,) = states
    assert state[0] == NO_TOKEN


@pytest.mark.parametrize(
    ("found", "error", "facts"),
    [
        (lambda: 1 // 0, OperatorError, ("worker 0", "ZeroDivisionError", "input 0 at 0")),
        (lambda: _no_memory(), MemoryBudgetError, ("worker 0", "too much")),
        (lambda: Compiled(scripted, np.zeros(0, np.int64)), OperatorError, ("contiguous, writable array of int64",)),
    ],
)
def test_what_making_it_finds_wrong_names_the_operator(
    found: Callable[[], Any], error: type[Exception], facts: tuple[Fact, ...]
) -> None:
    with simulated() as group:
        ((handle, _, _),) = build(group, waiting(found, Recorder()))
        handle.send({"value": [1]})
        with raises(error, "operator 'late'", *facts):
            settle(group)


def _no_memory() -> None:
    raise MemoryBudgetError("too much")


@pytest.mark.parametrize("few", [2])
def test_few_operators_do_not_wait(few: int) -> None:
    made: list[str] = []

    def make(name: str) -> Compiled:
        made.append(name)
        return Compiled(scripted, state_for(PASS_ON))

    with simulated() as group:
        recorder = Recorder()
        handles = [build(group, waiting(partial(make, name), recorder))[0][0] for name in "abc"]
        assert made == ["a", "b"]
        for value, handle in enumerate(handles):
            handle.send({"value": [value]})
        settle(group)
        assert (made, recorder.rows) == (["a", "b", "c"], [(0, 0), (0, 1), (0, 2)])
