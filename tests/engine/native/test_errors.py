"""What compiled operators do wrong: the error names the operator, the worker and the cure."""

from __future__ import annotations

import gc
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, build, settle, simulated
from tests.engine.native.scripted import (
    ANSWER,
    DOWNGRADE,
    DROP,
    FAIL,
    FRONTIER,
    GO,
    IF_ZERO,
    NEW,
    RETAIN,
    RETURN,
    SEND,
    SET,
    TAKE,
    Line,
    M,
    operate,
    scripted,
    state_for,
)
from tests.errors import Fact, raises
from tokenring.engine import (
    COMPLETE,
    MAX_TIME,
    GraphError,
    OperatorContext,
    OperatorError,
    PathSummary,
    Schema,
    Scope,
    Worker,
)
from tokenring.engine.compiled import DONE, FAILED, NEEDS_ROOM, Compiled, time_of_token
from tokenring.engine.native.layout import GENERATION
from tokenring.shm.kernels import int64, kernel

PAIR = Schema("key value")


@kernel(int64(int64, int64))
def time_of(world, slot):  # type: ignore[no-untyped-def]
    """`time_of_token` for tests."""
    return time_of_token(world, slot)


TAKEN: list[Line] = [(TAKE, 0, M), (IF_ZERO, M, 99)]


def run(script: list[Line], **how: Any) -> None:
    """Send one message at time 3 through an operator that does this."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        operate(stream, script, "wrong", **how)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.advance_to(3)
        handle.send({"value": [1]})
        settle(group)


@pytest.mark.parametrize(
    ("script", "error", "cure"),
    [
        ([(ANSWER, 0, 0, M)], "ExpiredReferenceError", ("input 0", "take()")),
        ([*TAKEN, (TAKE, 0, M), (RETAIN, 0, 0, 5)], "ExpiredReferenceError", ("input 0", "take()")),
        ([(DROP, 0), (DROP, 0)], "DroppedTokenError", "slot 0"),
        ([(SET, 5, 77), (DOWNGRADE, 5, 9)], "DroppedTokenError", "slot 77"),
        ([(SET, 5, -1), (NEW, 0, 1, M), (SEND, 5, M, 9)], "DroppedTokenError", "slot -1"),
        ([(DOWNGRADE, 0, 5), (DOWNGRADE, 0, 4)], "TimeRegressionError", ("token at 5", "to 4")),
        ([(DOWNGRADE, 0, COMPLETE)], "TimeRegressionError", (f"{COMPLETE}", f"{MAX_TIME}")),
        ([(DOWNGRADE, 0, 5), (NEW, 0, 1, M), (SEND, 0, M, 4)], "TimeRegressionError", ("token at 5", "to 4")),
        ([(NEW, 0, 1, M), (SEND, 0, M, COMPLETE)], "TimeRegressionError", (f"{COMPLETE}", f"{MAX_TIME}")),
        ([(TAKE, 1, M)], "TokenError", ("input 1", "declared with 1")),
        ([(FRONTIER, -1, 5)], "TokenError", ("input -1", "declared with 1")),
        ([*TAKEN, (RETAIN, 0, 1, 5)], "WrongOutputError", ("output 1", "declared with 1")),
        ([*TAKEN, (ANSWER, 0, 7, M)], "WrongOutputError", ("output 7", "declared with 1")),
        ([(NEW, 3, 1, M)], "WrongOutputError", ("output 3", "declared with 1")),
        ([(RETURN, FAILED)], "TokenError", "fail(world, me, -1, ...)"),
        ([(RETURN, 99)], "TokenError", ("returned 99", "DONE", "AGAIN")),
        ([(RETURN, NEEDS_ROOM)], "TokenError", ("NEEDS_ROOM", "make_room", "Compiled")),
    ],
)
def test_misuse_says_who_did_what_and_what_to_do(script: list[Line], error: str, cure: Fact) -> None:
    with raises(OperatorError, f"operator 'wrong' on worker 0: {error}", cure):
        run(script)


def test_a_message_of_another_width_is_refused() -> None:
    width = ("output 0", "2 column(s)", "has 1", "new_message()")
    with raises(OperatorError, "operator 'wrong' on worker 0: SchemaError", *width):
        run([*TAKEN, (ANSWER, 0, 0, M)], schema=PAIR)


def test_anothers_token_is_refused() -> None:
    def declare(worker: Worker, scope: Scope) -> None:
        _, stream = scope.new_input(VALUE)
        operate(stream, [(RETURN, DONE)], "first")
        operate(stream, [(SET, 5, 0), (DROP, 5)], "second")

    with simulated() as group:
        build(group, declare)
        with raises(OperatorError, "operator 'second'", "worker 0", "slot 0", "another operator's", "retain()"):
            settle(group)


STALE: list[Line] = [*TAKEN, (DROP, 0), (RETAIN, 0, 0, 5)]  # register 5: another token, in the row of the first


@pytest.mark.parametrize("use", [[(DROP, 0)], [(DOWNGRADE, 0, 9)], [(NEW, 0, 1, M), (SEND, 0, M, 9)]])
def test_a_dropped_tokens_slot_is_no_other_tokens(use: list[Line]) -> None:
    with raises(OperatorError, "operator 'wrong'", "worker 0", "DroppedTokenError", "slot 0"):
        run([*STALE, *use])


def test_the_row_of_a_dropped_token_is_used_again() -> None:
    states: list[np.ndarray] = []
    run([*STALE, (DROP, 5), (RETAIN, 0, 0, 6), (DROP, 6), (RETURN, DONE)], states=states)
    first, second, third = (int(states[0][register]) for register in (0, 5, 6))
    assert len({first, second, third}) == 3
    assert {slot % GENERATION for slot in (first, second, third)} == {0}


def test_rows_have_new_slots_for_ever() -> None:
    """A generation has 31 bits: then it begins again, and a slot is never below zero."""

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        operate(stream, [*TAKEN, (RETAIN, 0, 0, 5), (DROP, 5), (RETURN, DONE)], states=states)
        return handle

    states: list[np.ndarray] = []
    with simulated() as group:
        (handle,) = build(group, declare)
        world = group.workers[0].world
        handle.send({"value": [1]})
        settle(group)
        row = int(states[0][5])
        world.tokens["handle"][row] = ~(row + (1 << 63) - GENERATION)
        handle.send({"value": [1]})
        settle(group)
        assert states[0][5] == row


def test_the_time_of_a_dropped_token_is_none_to_send_at() -> None:
    with simulated() as group:
        world = group.workers[0].world
        world.rows("operators", 1)
        world.rows("outputs", 1)
        slot = world.grant(0, 0, 7)
        assert time_of(world.address, slot) == 7
        world.cancel_token(slot)
        assert time_of(world.address, slot) == -1
        assert time_of(world.address, -1) == -1


def test_an_error_of_its_own_is_explained_by_the_operator() -> None:
    class OddError(Exception):
        pass

    def declare(worker: Worker, scope: Scope) -> None:
        _, stream = scope.new_input(VALUE)
        builder = scope.operator("odd")
        builder.input(stream)
        builder.output(VALUE)

        def explain(error: int, operands: tuple[int, int, int]) -> Exception:
            return OddError(f"{error} with {operands}")

        state = state_for([(FAIL, -5, 7, 8), (RETURN, FAILED)])
        builder.build_compiled(lambda _: Compiled(scripted, state, explain=explain))

    with simulated() as group:
        build(group, declare)
        with raises(OperatorError, "operator 'odd'", "worker 0", "input 0 at 0", "OddError: -5 with (7, 8, 0)"):
            settle(group)


def test_room_is_made_and_the_run_repeated() -> None:
    made: list[np.ndarray] = []

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        builder = scope.operator("grows")
        builder.input(stream)
        output = builder.output(VALUE)
        state = state_for(
            [(IF_ZERO, 5, 5), (TAKE, 0, M), (IF_ZERO, M, 6), (ANSWER, 0, 0, M), (GO, 1), (RETURN, NEEDS_ROOM)]
        )

        def make_room() -> None:
            state[5] = 1
            made.append(state)

        builder.build_compiled(lambda _: Compiled(scripted, state, make_room=make_room))
        output.probe()
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.send({"value": [1]})
        settle(group)
    assert len(made) == 1


def test_room_that_is_never_made_is_no_hang() -> None:
    with raises(OperatorError, "operator 'wrong' on worker 0", "NEEDS_ROOM", "in a row", "let make_room make"):
        run([(RETURN, NEEDS_ROOM)], make_room=lambda: None)


def test_what_cannot_be_compiled_is_refused_when_it_is_declared() -> None:
    def build_in(scope: Scope, summaries: Any = None, schema: Schema = VALUE) -> None:
        _, stream = scope.new_input(VALUE)
        builder = scope.operator("refused")
        builder.input(stream)
        builder.output(schema, summaries)
        builder.build_compiled(lambda _: Compiled(scripted, state_for([])))

    scope = Scope("refusals")
    with raises(GraphError, "operator 'refused'", "summaries", "build()"):
        build_in(scope, {0: PathSummary(3)})
    with raises(GraphError, "operator 'refused'", "summaries", "build()"):
        build_in(scope, {0: None})
    with raises(GraphError, "operator 'refused'", "text", "Schema(value=int64, name=string)", "build()"):
        build_in(scope, schema=Schema("value", name="string"))


def _read_only() -> np.ndarray:
    state = np.zeros(4, np.int64)
    state.flags.writeable = False
    return state


@pytest.mark.parametrize(
    ("logic", "state", "found"),
    [
        (scripted, np.zeros(8, np.int64)[::2], ("strided", "int64 of shape (4,)")),
        (scripted, np.zeros(4), "float64 of shape (4,)"),
        (scripted, np.zeros(4, np.int32), "int32 of shape (4,)"),
        (scripted, np.zeros((2, 2), np.int64), "int64 of shape (2, 2)"),
        (scripted, np.zeros(1, np.int64), "int64 of shape (1,)"),
        (scripted, np.zeros(0, np.int64), "int64 of shape (0,)"),
        (scripted, _read_only(), "read-only"),
        (scripted, [0, 0, 0, 0], "list"),
        (len, np.zeros(4, np.int64), "@entry"),
    ],
)
def test_a_state_or_a_logic_that_is_none_is_refused(
    logic: Any, state: Any, found: Fact, capsys: pytest.CaptureFixture[str]
) -> None:
    def declare(worker: Worker, scope: Scope) -> None:
        builder = scope.operator("comp")
        for _ in range(2):
            builder.output(VALUE)
        builder.build_compiled(lambda _: Compiled(logic, state))

    said = {"contiguous, writable array of int64 of at least as many words as outputs, 2, not", "the logic is an entry"}
    with simulated() as group, raises(GraphError, "operator 'comp'", said, found):
        build(group, declare)
    gc.collect()
    assert "was lost" not in capsys.readouterr().err


def test_a_constructor_that_fails_loses_no_tokens(capsys: pytest.CaptureFixture[str]) -> None:
    def declare(worker: Worker, scope: Scope) -> None:
        _, stream = scope.new_input(VALUE)
        builder = scope.operator("broken")
        builder.input(stream)
        builder.output(VALUE)

        def construct(_: OperatorContext) -> Compiled:
            raise ValueError("no")

        builder.build_compiled(construct)

    with simulated() as group, raises(OperatorError, "constructor of operator 'broken'", "worker 0", "ValueError: no"):
        build(group, declare)
    gc.collect()
    assert "was lost" not in capsys.readouterr().err
