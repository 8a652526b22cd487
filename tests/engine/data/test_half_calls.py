"""A call is published whole, and its rights end with it: no doubles of them, no steps in the middle (A7, A8)."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.helpers import VALUE, build, settle, simulated, with_message
from tests.errors import raises
from tokenring.engine import OperatorError, Scope, Token, TokenError, UsageError, Worker


@pytest.mark.parametrize("doubled", [copy.copy, copy.deepcopy, pickle.dumps])
def test_references_and_sessions_have_no_doubles(doubled: Callable[[object], object]) -> None:
    """One that outlived its original would send what nobody counts any more."""

    def act(token: Token, reference: Any, messages: Any, output: Any) -> None:
        with raises(TokenError, "token reference", "operator 'actor' input 0", "worker 0", "retain()"):
            doubled(reference)
        with (
            output.session(reference) as session,
            raises(TokenError, "session", "operator 'actor' output 0", "worker 0", "another"),
        ):
            doubled(session)

    with_message(act)


def test_a_logic_cannot_step_its_worker() -> None:
    """What it consumed would go out before what it is still to send."""

    refused = []

    def declare(worker: Worker, scope: Scope) -> Any:
        def constructor(context: Any, token: Token) -> Callable[..., None]:
            token.drop()

            def logic(messages: Any, output: Any) -> None:
                with raises(UsageError, "operator 'actor'", "worker 0", "step", "context.activate()"):
                    worker.step_while(lambda: True)
                refused.append(True)

            return logic

        handle, stream = scope.new_input(VALUE)
        stream.unary("actor", VALUE, constructor)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        handle.close()
        settle(group)
    assert refused


def test_after_an_error_nobody_is_in_the_middle_of_a_call() -> None:
    def constructor(context: Any, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(messages: Any, output: Any) -> None:
            raise ValueError("once")

        return logic

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        stream.unary("actor", VALUE, constructor)
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        with raises(OperatorError, "operator 'actor'", "worker 0", "input 0", "ValueError: once"):
            group.workers[0].step()
        handle.close()
        assert not group.workers[0].inspection.operators[1].is_running
        with raises(UsageError, "worker 0 cannot go on", "operator 'actor'", "ValueError: once"):
            settle(group)  # not a nested step
