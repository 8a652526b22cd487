"""More operators are due than run in one step: each is looked at once, and nothing that waits for it is lost."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tokenring.engine import Exchange, InputPort, Notify, OperatorContext, Scope, Worker


def _looks(operators: int, monkeypatch: pytest.MonkeyPatch) -> int:
    """How often an input is looked at for views while so many operators have their first runs."""
    looks = 0
    end_call = InputPort.end_call

    def counting(port: InputPort) -> None:
        nonlocal looks
        looks += 1
        end_call(port)

    def declare(worker: Worker, scope: Scope) -> None:
        _, stream = scope.new_input(VALUE)
        for _ in range(operators):
            stream = stream.unary("watch", VALUE, Recorder().unary, notify=Notify.NEVER)

    with monkeypatch.context() as patch, simulated() as group:
        patch.setattr(InputPort, "end_call", counting)
        build(group, declare)
        settle(group)
    return looks


def test_many_first_runs_look_at_each_input_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _looks(1000, monkeypatch) <= 1000


def test_what_comes_to_an_operator_that_is_long_due_is_kept() -> None:
    """More operators are due than run in a step, and messages from another worker go on coming to each."""
    rows: list[int] = []

    def sink(context: OperatorContext) -> Callable[..., None]:
        def logic(messages: InputPort) -> None:
            for _, batch in messages:
                rows.extend(batch["value"].tolist())

        return logic

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        for _ in range(150):
            stream.sink("sink", sink, Exchange("value"))
        return handle

    with simulated(2, queue_bytes=1 << 16) as group:
        handles = build(group, declare)
        settle(group)
        for value in range(40):
            for handle in handles:
                handle.send({"value": [2 * value, 2 * value + 1]})
                handle.advance_to(value + 1)
            group.workers[value % 2].step()
        settle(group)
    assert sorted(rows) == sorted([value for value in range(80) for _ in range(300)])
