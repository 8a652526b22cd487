"""What waits is bounded, though nobody looks: sources that are activated for ever, and inputs that are fed for ever."""

import time
import warnings
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, Recorder
from tests.errors import raises
from tokenring.engine import Config, Exchange, OperatorError, SendingWarning, Worker, execute

ROWS = 1_000
LIMIT = 2**18
CALL = ROWS * 8  # bytes of a send


def _config(workers: int) -> Config:
    return Config(workers=workers, queue_bytes=2**14, backlog_bytes=LIMIT, spin_us=0)


def test_a_source_that_looks_at_nothing_is_not_run_while_too_much_waits() -> None:
    """Its receiver is slower than it is."""

    def program(worker: Worker) -> list[int]:
        most = 0

        def construct(context: Any, token: Any) -> Any:
            left = 400 if worker.index == 0 else 0

            def logic(output: Any) -> None:
                nonlocal left, most
                if left:
                    left -= 1
                    output.give(token, {"value": np.arange(ROWS)})
                    most = max(most, worker.plane.backlog_bytes)
                    context.activate()
                elif token.live:
                    token.drop()

            return logic

        seen = 0

        def slow(context: Any) -> Any:
            def logic(rows: Any) -> None:
                nonlocal seen
                for _, batch in rows:
                    seen += batch.rows

            return logic

        with worker.dataflow() as scope:
            (stream,) = scope.source("greedy", (VALUE,), construct)
            stream.sink("slow", slow, Exchange("value"))
        if worker.index == 1:
            time.sleep(0.5)
        worker.run()
        return [most, seen]

    results: list[Any] = execute(program, config=_config(2))
    assert max(most for most, _ in results) <= LIMIT + 2 * CALL
    assert sum(seen for _, seen in results) == 400 * ROWS


@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_that_only_sends_steps_when_too_much_waits(workers: int) -> None:
    def program(worker: Worker) -> list[int]:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            recorder = Recorder()
            stream.unary("record", VALUE, recorder.unary, Exchange("value"))
        (target,) = [operator for operator in worker.inspection.operators if operator.name == "record"]
        most = 0
        if worker.index == 0:
            for _ in range(300):
                handle.send({"value": np.arange(ROWS)})
                waiting = sum(8 * batch.rows for _, batch, _ in target.inputs[0].inbox.queue)
                most = max(most, waiting, worker.plane.backlog_bytes)
        worker.run()
        return [most, len(recorder.rows)]

    results = execute(program, config=_config(workers))
    assert max(most for most, _ in results) <= LIMIT + 2 * CALL
    assert sum(rows for _, rows in results) == 300 * ROWS


@pytest.mark.parametrize("workers", [1, 2])
def test_a_program_may_wait_before_each_send(workers: int) -> None:
    def program(worker: Worker) -> list[int]:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            recorder = Recorder()
            stream.unary("record", VALUE, recorder.unary, Exchange("value"))
        (target,) = [operator for operator in worker.inspection.operators if operator.name == "record"]
        most = 0
        with warnings.catch_warnings():
            warnings.simplefilter("error", SendingWarning)
            for _ in range(200 if worker.index == 0 else 0):
                handle.send({"value": np.arange(ROWS)}, block=True)
                most = max(most, sum(8 * batch.rows for _, batch, _ in target.inputs[0].inbox.queue))
        worker.run()
        return [most, len(recorder.rows)]

    results = execute(program, config=_config(workers))
    assert max(most for most, _ in results) <= CALL
    assert sum(rows for _, rows in results) == 200 * ROWS


def test_nobody_waits_for_room_within_a_step() -> None:
    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)

            def construct(context: Any) -> Any:
                return lambda rows: [handle.send({"value": [1]}, block=True) for _ in rows] and None

            stream.sink("sends on", construct)
        handle.send({"value": [1]})
        worker.step()

    with raises(OperatorError, "UsageError", "operator 'input' output 0", "worker 0", "block=True"):
        execute(program, 1)


@pytest.mark.parametrize("steps", [False, True])
def test_a_program_that_only_sends_is_told_so_once(steps: bool) -> None:
    def program(worker: Worker) -> list[str]:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE, "fed")
            stream.unary("record", VALUE, Recorder().unary)
        with warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            for _ in range(800):
                handle.send({"value": np.arange(ROWS)})
                if steps:
                    worker.step()
        return [str(each.message) for each in said if each.category is SendingWarning]

    (said,) = execute(program, config=_config(1))
    assert len(said) == (0 if steps else 1)
    assert steps or "input 'fed' on worker 0: the program sends without looking" in said[0]
