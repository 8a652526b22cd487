"""A dataflow that is cancelled goes, with all it holds, and answers nothing; the others run on."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.errors import raises
from tokenring.engine import (
    COMPLETE,
    DroppedTokenError,
    Exchange,
    GraphError,
    GraphMismatchError,
    InputPort,
    Notify,
    OperatorContext,
    OutputPort,
    Schema,
    Scope,
    Token,
    Worker,
    execute,
)
from tokenring.operators import Count, aggregate, collect, to_parquet, union, with_columns

VALUE = Schema("value")


def endless(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
    sent = 0

    def logic(output: OutputPort) -> None:
        nonlocal sent
        context.activate()
        if not context.congested:
            output.give(token, {"value": [sent, sent + 1]})
            token.downgrade(token.time + 1)
            sent += 1

    return logic


def hoarder(ended: list[int]) -> Callable[..., Callable[..., None]]:
    """Keeps a token for each message, and notes when it believes that all has come."""

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        kept = [token]

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, _ in rows:
                kept.append(reference.retain())
            if rows.frontier == COMPLETE:
                ended.append(context.worker_index)

        return logic

    return construct


def declare_all(scope: Scope, folder: Path, ended: list[int]) -> Any:
    """A source without end, a loop that goes round for ever, windows, a sink, and an operator that keeps all."""
    handle, fed = scope.new_input(VALUE)
    (numbers,) = scope.source("endless", VALUE, endless)
    numbers.unary("hoarder", VALUE, hoarder(ended), Exchange("value"), Notify.IF_TOKEN)
    with scope.loop("round") as loop:
        back = loop.feedback(VALUE)
        head = union(loop.enter(fed), back.stream)
        back.connect(with_columns(head).unary("round", VALUE, _pass_on, Exchange("value"), Notify.NEVER))
        inside = head.probe()
    to_parquet(aggregate(numbers, "value", n=Count(), emit="final"), folder)
    return handle, inside


def _pass_on(context: OperatorContext, token: Token) -> Callable[..., None]:
    token.drop()

    def logic(rows: InputPort, output: OutputPort) -> None:
        for reference, batch in rows:
            output.give(reference, batch.copy())

    return logic


@pytest.mark.parametrize("workers", [1, 2])
def test_a_dataflow_is_dropped_while_another_runs(
    workers: int, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    def program(worker: Worker) -> Any:
        ended: list[int] = []
        with worker.dataflow("doomed") as doomed:
            handle, inside = declare_all(doomed, tmp_path / "never", ended)
        with worker.dataflow("other") as other:
            numbers, stream = other.new_input(VALUE)
            rows = collect(stream.unary("other", VALUE, _pass_on, Exchange("value")))
            probe = stream.probe()
        handle.send({"value": [1, 2, 3, worker.index]})
        numbers.send({"value": [worker.index]})
        for _ in range(50 * (worker.index + 1)):
            worker.step()
        if worker.index == 0:
            hold = doomed.running.hold(handle, handle.time)
        doomed.running.cancel()
        worker.step_while(lambda: not doomed.running.done)
        assert inside.done()
        with raises(DroppedTokenError, "operator 'input' output 0", f"worker {worker.index}", "closed"):
            handle.send({"value": [1]})
        if worker.index == 0:
            hold.release()
        numbers.advance_to(1)
        worker.step_while(lambda: probe.less_than(1))
        numbers.send({"value": [10 + worker.index]})
        doomed.running.cancel()  # once more does no harm
        worker.run()
        return rows.columns()["value"].tolist(), ended

    found = execute(program, workers=workers)
    assert sorted(value for values, _ in found for value in values) == sorted(
        [*range(workers), *range(10, 10 + workers)]
    )
    assert capfd.readouterr().err == ""
    assert [ended for _, ended in found] == [[]] * workers
    assert os.listdir(tmp_path) == [] or all(name[0] == "." for name in os.listdir(tmp_path))


def test_it_can_be_cancelled_only_when_it_is_there() -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow("it") as scope:
            scope.new_input(VALUE)
            with raises(GraphError, "dataflow 'it'", "not built", "worker.dataflow()"):
                scope.running.cancel()
        scope.running.cancel()
        worker.step_while(lambda: not scope.running.done)

    execute(program, workers=1)


@pytest.mark.parametrize("finishes", [False, True])
def test_who_cancels_alone_is_told(finishes: bool) -> None:
    """Whether the other is in `run` of its own accord, or since its program has returned."""

    def program(worker: Worker) -> None:
        with worker.dataflow("it") as scope:
            scope.new_input(VALUE)
        if worker.index == 0:
            scope.running.cancel()
        elif not finishes:
            worker.run()

    how = "has returned" if finishes else "worker.run()"
    with raises(GraphMismatchError, "worker 0", "cancel dataflow 'it'", "worker 1", how, "the same program"):
        execute(program, workers=2)


def test_what_is_complete_is_cancelled_while_others_are_still_in_run() -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow("it") as scope:
            scope.new_input(VALUE)
        worker.run()
        if worker.index == 1:
            time.sleep(0.01)
        scope.running.cancel()

    execute(program, workers=2)
