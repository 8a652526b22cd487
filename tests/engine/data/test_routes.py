"""Rows go to the worker that a column or a function says; a number that no worker has is named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import build, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    Batch,
    GraphError,
    InputPort,
    OperatorContext,
    OperatorError,
    Route,
    Schema,
    SchemaError,
    Scope,
    UsageError,
    Worker,
)
from tokenring.shm.queues.data_queue import key_of_worker, route

ROW = Schema("to n", name="string?", x="float64")


def sent_by(pact: Route, workers: int, numbers: list[int], **more: Any) -> list[list[tuple[Any, ...]]]:
    """What each worker got of rows that worker 0 sent with these numbers."""
    got: list[list[tuple[Any, ...]]] = [[] for _ in range(workers)]

    def declare(worker: Worker, scope: Scope) -> Any:
        def construct(context: OperatorContext) -> Callable[[InputPort], None]:
            def logic(rows: InputPort) -> None:
                for _, batch in rows:
                    got[worker.index] += zip(*[batch[name].tolist() for name in batch.schema.names], strict=True)

            return logic

        handle, stream = scope.new_input(ROW)
        stream.sink("there", construct, pact)
        return handle

    with simulated(workers, **more) as group:
        handles = build(group, declare)
        count = len(numbers)
        names = [None if n % 3 == 0 else f"n{n}" for n in range(count)]
        handles[0].send({"to": numbers, "n": list(range(count)), "name": names, "x": [n / 2 for n in range(count)]})
        for handle in handles:
            handle.close()
        settle(group, rounds=20_000)
    return got


@pytest.mark.parametrize("workers", [1, 2, 3, 7, 64])
def test_every_worker_has_a_key(workers: int) -> None:
    assert [route(key_of_worker(worker, workers), workers) for worker in range(workers)] == list(range(workers))


@pytest.mark.parametrize("columns", [None, ("n", "name"), ("x", "n")], ids=str)
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_rows_go_where_they_are_sent(workers: int, columns: tuple[str, ...] | None) -> None:
    numbers = np.random.default_rng(3).integers(0, workers, 500).tolist()
    names = ROW.names if columns is None else columns
    expected: list[list[tuple[Any, ...]]] = [[] for _ in range(workers)]
    for n, to in enumerate(numbers):
        row = {"to": to, "n": n, "name": None if n % 3 == 0 else f"n{n}", "x": n / 2}
        expected[to].append(tuple(row[name] for name in names))
    assert sent_by(Route("to", columns), workers, numbers) == expected
    assert sent_by(Route(lambda batch: batch["to"], columns), workers, numbers) == expected
    assert sent_by(Route("to", columns), workers, numbers, queue_bytes=1 << 13) == expected  # far too small


@pytest.mark.parametrize("workers", [1, 2])
def test_a_number_that_no_worker_has_is_named(workers: int) -> None:
    says = ("operator 'there' input 0", "row 2", "worker 2", "Route(to='to'", f"0 to {workers - 1}")
    with raises((UsageError, OperatorError), says):
        sent_by(Route("to"), workers, [0, 0, 2])
    with raises((UsageError, OperatorError), "operator 'there' input 0", "row 0", "worker -1", f"0 to {workers - 1}"):
        sent_by(Route("to"), workers, [-1])

    def halves(batch: Batch) -> np.ndarray:
        return batch["to"] / 2

    with raises((SchemaError, OperatorError), "operator 'there' input 0", "halves", "float64", "(1,)", "integers"):
        sent_by(Route(halves), workers, [0])


@pytest.mark.parametrize("columns", [None, ("n", "x")], ids=str)
@pytest.mark.parametrize("workers", [1, 2])
def test_a_function_that_raises_is_named_with_the_input_whose_it_is(
    workers: int, columns: tuple[str, ...] | None
) -> None:
    def boom(batch: Batch) -> np.ndarray:
        raise ZeroDivisionError("by nought")

    what = ("the function of Route(to=", "boom", "raised ZeroDivisionError: by nought", f"(at {__file__}:", "in boom")
    with raises(OperatorError, "operator 'there' input 0", *what):
        sent_by(Route(boom, columns), workers, [0])


def test_what_cannot_say_a_worker_is_refused() -> None:
    with raises(SchemaError, "operator 'there'", "column 'too'", "to, n, name, x", "did you mean 'to'"):
        sent_by(Route("too"), 1, [0])
    with raises(SchemaError, "operator 'there'", "'x' is float64", "int64", "uint64"):
        sent_by(Route("x"), 1, [0])
    with raises(GraphError, "operator 'there'", "Route(to)", "a column", "a function", "not 5"):
        sent_by(Route(5), 1, [0])  # type: ignore[arg-type]
    with raises(SchemaError, "operator 'there'", "column 'm'", "to, n, name, x"):
        sent_by(Route("to", ("m",)), 1, [0])
