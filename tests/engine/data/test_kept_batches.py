"""Batches may be kept, whoever sent them: what is in them does not change after the call, and nobody writes to them."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, build, settle, simulated
from tests.errors import raises
from tokenring.engine import Batch, Exchange, OperatorError, Pipeline, Schema, Stream, Worker, execute
from tokenring.engine.data.plane import POISON
from tokenring.operators import branch, col, filter, filter_batches, lit, map_batches, union, with_columns

ROWS, SENDS = 40, 20
NAMED = Schema("value", label="string", price="float64?")


def _rows(at: int) -> dict[str, Any]:
    values = np.arange(at * ROWS, (at + 1) * ROWS)
    return {"value": values, "label": [f"row {value}" for value in values.tolist()], "price": values / 2}


def _told(batches: list[Batch]) -> list[tuple[int, str, float]]:
    return sorted(
        row for each in batches for row in zip(*(each[name].tolist() for name in NAMED.names), strict=True)
    )  # fmt: skip


EXPECTED = sorted((value, f"row {value}", value / 2) for value in range(SENDS * ROWS))


def _twice(column: str) -> Any:
    return col(column) * lit(1)


# What is kept of each batch, as a batch.
KEPT: dict[str, Callable[[Batch], Batch]] = {
    "itself": lambda batch: batch,
    "a slice": lambda batch: batch.slice(0, batch.rows),
    "two slices": lambda batch: Batch.concatenate([batch.slice(0, 3), batch.slice(3, batch.rows)]),
    "a selection": lambda batch: batch.select(Schema("value", price="float64?", label="string")).select(NAMED),
    "all that pass": lambda batch: batch.filter(np.ones(batch.rows, bool)),
    "rows taken": lambda batch: batch.take(np.arange(batch.rows)),
    "its columns": lambda batch: Batch(NAMED, {name: batch[name] for name in NAMED.names}),
    "arrow": lambda batch: Batch.from_arrow(NAMED, batch.to_arrow()),
}
# What lies between the exchange and whoever keeps.
BETWEEN: dict[str, Callable[[Stream], Stream]] = {
    "nothing": lambda stream: stream,
    "projection": lambda stream: with_columns(stream, price=col("price")),
    "computation": lambda stream: with_columns(filter(stream, col("value") >= 0), value=_twice("value")),
    "text": lambda stream: with_columns(stream, label=col("label").lower()),
    "functions": lambda stream: map_batches(filter_batches(stream, lambda b: b["value"] >= 0), NAMED, lambda b: b),
    "branches": lambda stream: union(*branch(stream, col("value") % 2 == 0)),
}


def _keeping(kept: list[Batch], take: Callable[[Batch], Batch]) -> Callable[..., Any]:
    def construct(context: Any) -> Any:
        def logic(rows: Any) -> None:
            kept.extend([take(batch) for _, batch in rows])

        return logic

    return construct


def _run(workers: int, between: Callable[[Stream], Stream], take: Callable[[Batch], Batch], **settings: Any) -> Any:
    with simulated(workers, queue_bytes=2**14, **settings) as group:

        def declare(worker: Worker, scope: Any) -> Any:
            handle, stream = scope.new_input(NAMED)
            kept: list[Batch] = []
            exchanged = stream.unary("exchange", NAMED, _pass_on, Exchange("value"))
            between(exchanged).sink("keep", _keeping(kept, take))
            return handle, kept

        made = build(group, declare)
        for at in range(SENDS):
            made[at % workers][0].send(_rows(at))
            settle(group)
        for handle, _ in made:
            handle.close()
        settle(group)
        return _told([batch for _, kept in made for batch in kept])


def _pass_on(context: Any, token: Any) -> Any:
    token.drop()

    def logic(rows: Any, output: Any) -> None:
        for reference, batch in rows:
            output.give(reference, batch)

    return logic


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("kept", KEPT)
def test_what_is_kept_stays_what_it_was(workers: int, kept: str) -> None:
    assert _run(workers, BETWEEN["nothing"], KEPT[kept], checks="exhaustive") == EXPECTED


@pytest.mark.parametrize("between", BETWEEN)
def test_so_does_what_was_made_of_it_on_the_way(between: str) -> None:
    assert _run(2, BETWEEN[between], KEPT["itself"]) == EXPECTED
    assert _run(2, BETWEEN[between], KEPT["itself"], checks="exhaustive") == EXPECTED


def test_columns_are_kept_as_well() -> None:
    """Those of `batch[...]`, of every kind, in real workers."""

    def program(worker: Worker) -> list[Any]:
        kept: list[Any] = []

        def keep(context: Any) -> Any:
            def logic(rows: Any) -> None:
                for _, batch in rows:
                    kept.append([batch[name] for name in NAMED.names])

            return logic

        with worker.dataflow() as scope:
            handle, stream = scope.new_input(NAMED)
            stream.sink("keep", keep, Exchange("value"))
        for at in range(SENDS):
            if at % worker.peers == worker.index:
                handle.send(_rows(at))
                worker.step()
        worker.run()
        return [row for columns in kept for row in zip(*(column.tolist() for column in columns), strict=True)]

    for workers in (1, 2):
        results = execute(program, workers=workers)
        assert sorted(tuple(row) for rows in results for row in rows) == EXPECTED


def test_views_that_are_kept_are_poisoned_under_exhaustive_checks() -> None:
    with simulated(2, checks="exhaustive") as group:
        kept: list[np.ndarray] = []

        def keep(context: Any) -> Any:
            def logic(rows: Any) -> None:
                kept.extend([batch.words("value") for _, batch in rows])

            return logic

        def declare(worker: Worker, scope: Any) -> Any:
            handle, stream = scope.new_input(VALUE)
            stream.sink("keep", keep, Exchange("value"))
            return handle

        handles = build(group, declare)
        handles[0].send({"value": np.arange(10)})
        settle(group)
        assert len(kept) == 2
        assert all((words == POISON).all() for words in kept)


# Nobody writes


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("pact", [Pipeline(), Exchange("value")])
@pytest.mark.parametrize("passes", [True, False], ids=["handed on", "made"])
def test_nobody_writes_to_what_others_read(workers: int, pact: Any, passes: bool) -> None:
    def double_in_place(batch: Batch) -> dict[str, Any]:
        values = batch["value"]
        values *= 2
        return {"value": values}

    def program(worker: Worker) -> None:
        with worker.dataflow() as scope:
            handle, stream = scope.new_input(VALUE)
            stream = stream.unary("exchange", VALUE, _pass_on, pact)
            if not passes:
                stream = map_batches(stream, VALUE, lambda batch: {"value": batch["value"] + 1})
            map_batches(stream, VALUE, double_in_place, name="doubler").probe()
        handle.send({"value": [1, 2, 3]})

    with raises(
        OperatorError, "operator 'doubler'", {"worker 0", "worker 1"}, "read-only", "in double_in_place", "copy()"
    ):
        execute(program, workers=workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_an_array_that_was_sent_does_not_change(workers: int) -> None:
    with simulated(workers) as group:
        kept: list[Batch] = []

        def declare(worker: Worker, scope: Any) -> Any:
            handle, stream = scope.new_input(VALUE)
            stream.sink("keep", _keeping(kept, lambda batch: batch), Exchange("value"))
            return handle

        handle, *_ = build(group, declare)
        whole, buffer = np.arange(5), np.arange(100, 110)
        window = buffer[:]
        window.flags.writeable = False
        handle.send({"value": whole})
        handle.send({"value": buffer[:5]})
        handle.send({"value": window[5:]})
        with raises(ValueError, "read-only"):
            whole[0] = 9
        buffer[:] = 0  # its rows were copied
        settle(group)
        assert sorted(value for batch in kept for value in batch["value"].tolist()) == [*range(5), *range(100, 110)]
