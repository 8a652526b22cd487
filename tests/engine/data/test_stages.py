"""Stateless operators run where batches are sent, cost no location, and fail by their own name. Regions name."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import VALUE, Recorder, build, settle, simulated
from tests.errors import raises
from tokenring.engine import (
    Batch,
    BatchFunction,
    Broadcast,
    Exchange,
    GraphError,
    OperatorError,
    Pipeline,
    Schema,
    Scope,
    Stream,
    Worker,
)

PAIR = Schema("value other")


def plus(amount: int) -> BatchFunction:
    return lambda batch: Batch(VALUE, {"value": batch["value"] + amount})


def odd(batch: Batch) -> Batch:
    return Batch(VALUE, {"value": batch["value"][batch["value"] % 2 == 1]})


class Add:
    """Something the engine may fuse; `calls` counts the calls of what it was fused into."""

    calls: list[int] = []  # noqa: RUF012  # the number of parts, for each call

    def __init__(self, amount: int) -> None:
        self.amount = amount

    @classmethod
    def fused(cls, parts: Sequence[Add]) -> BatchFunction:
        def add(batch: Batch) -> Batch:
            cls.calls.append(len(parts))
            return Batch(VALUE, {"value": batch["value"] + sum(part.amount for part in parts)})

        return add

    def __repr__(self) -> str:
        return f"+{self.amount}"


def run(declare: Callable[[Stream], list[tuple[Stream, Any]]], rows: Sequence[int], workers: int = 1) -> list[Any]:
    """Feed worker 0's input; the rows that reach each of the (stream, pact) that `declare` returns: a list a worker."""

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        recorders = []
        for end, pact in declare(stream):
            recorders.append(Recorder())
            end.sink("record", recorders[-1].sink, pact)
        return handle, recorders

    with simulated(workers) as group:
        made = build(group, on_worker)
        made[0][0].send({"value": rows})
        for handle, _ in made:
            handle.close()
        settle(group)
        assert all(worker.complete for worker in group.workers)
        return [[[value for _, value in recorder.rows] for recorder in recorders] for _, recorders in made]


def test_a_chain_changes_what_its_reader_gets() -> None:
    assert run(lambda s: [(s.apply("a", VALUE, plus(1)).apply("b", VALUE, odd), None)], [1, 2, 3, 4]) == [[[3, 5]]]


def test_a_shared_prefix_runs_once_and_readers_stand_anywhere() -> None:
    runs = []

    def count(batch: Batch) -> Batch:
        runs.append(batch.rows)
        return batch

    def declare(stream: Stream) -> list[tuple[Stream, Any]]:
        shared = stream.apply("count", VALUE, count)
        left = shared.apply("left", VALUE, plus(10))
        right = shared.apply("odd", VALUE, odd).apply("right", VALUE, plus(100))
        return [(stream, None), (shared, None), (left, None), (right, None), (right, None)]

    assert run(declare, [1, 2]) == [[[1, 2], [1, 2], [11, 12], [101], [101]]]
    assert runs == [2]


def test_what_nobody_reads_runs_all_the_same() -> None:
    seen: list[int] = []
    assert run(lambda s: [(s, None)] if s.apply("see", VALUE, lambda b: seen.extend(b["value"])) else [], [7]) == [
        [[7]]
    ]
    assert seen == [7]


@pytest.mark.parametrize("nothing", [lambda batch: None, lambda batch: Batch(VALUE, {"value": []})])
def test_no_rows_are_not_sent_on(nothing: BatchFunction) -> None:
    def fail(batch: Batch) -> Batch:
        raise AssertionError("called without rows")

    assert run(lambda s: [(s.apply("none", VALUE, nothing).apply("fail", VALUE, fail), None)], [1]) == [[[]]]


@pytest.mark.parametrize("pact", [Pipeline(), Exchange("value", ("value",)), Broadcast(("value",))])
def test_pacts_see_the_schema_of_the_stage(pact: Any) -> None:
    def widen(batch: Batch) -> Batch:
        return Batch(PAIR, {"other": batch["value"], "value": batch["value"] * 2})

    for workers in (1, 2):
        rows = run(lambda s: [(s.apply("widen", PAIR, widen), pact)], range(50), workers)
        everywhere = [sorted(value for worker in rows for value in worker[0])]
        copies = workers if isinstance(pact, Broadcast) else 1
        assert everywhere == [sorted([2 * value for value in range(50)] * copies)]
        assert workers == 1 or isinstance(pact, Pipeline) or rows[1][0]


def test_neighbours_that_can_be_one_function_are_called_once() -> None:
    Add.calls.clear()

    def declare(stream: Stream) -> list[tuple[Stream, Any]]:
        for amount in (1, 2, 3):
            stream = stream.apply("add", VALUE, Add(amount))
        stream = stream.apply("plus", VALUE, plus(10)).apply("add", VALUE, Add(5))
        return [(stream, None), (stream.apply("branch", VALUE, Add(1000)), None)]

    assert run(declare, [0]) == [[[21], [1021]]]
    assert Add.calls == [3, 1, 1]


def test_ten_thousand_in_a_row_and_a_tree_as_deep_need_no_recursion() -> None:
    def chain(stream: Stream) -> list[tuple[Stream, Any]]:
        for _ in range(10_000):
            stream = stream.apply("plus", VALUE, plus(1))
        return [(stream, None)]

    def tree(stream: Stream) -> list[tuple[Stream, Any]]:
        streams = [stream]
        for _ in range(3000):
            streams.append(streams[-1].apply("plus", VALUE, plus(1)))
        return [(each, None) for each in (streams[1], streams[1500], streams[3000])] + [
            (each.apply("side", VALUE, plus(0)), None) for each in streams[::1000]
        ]

    assert run(chain, [1]) == [[[10_001]]]
    assert [rows[0] for rows in run(tree, [0])[0]] == [1, 1500, 3000, 0, 1000, 2000, 3000]


def test_stages_are_no_locations_and_their_probe_is_that_of_the_output() -> None:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        for _ in range(100):
            stream = stream.apply("plus", VALUE, plus(1))
        return handle, stream.probe()

    with simulated() as group:
        ((handle, probe),) = build(group, declare)
        assert group.workers[0].dataflows.running[0].numbers.locations == 2  # the input's output and the probe
        handle.advance_to(5)
        assert probe.frontier == 5


def _failing(function: Any, behind_operator: bool) -> str:
    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        if behind_operator:
            stream = stream.unary("pass", VALUE, Recorder().unary)
        with scope.region("inner"):
            stream.apply("wrong", VALUE, function).apply("after", VALUE, plus(1))
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)

        def feed() -> None:
            handle.advance_to(4)
            handle.send({"value": [1]})
            settle(group)

        with pytest.raises(OperatorError) as caught:
            feed()
        return str(caught.value)


@pytest.mark.parametrize("behind_operator", [False, True])
def test_errors_name_the_stateless_operator(behind_operator: bool) -> None:
    assert _failing(lambda batch: batch["value"] / [1, 2, 3] and 1 // 0, behind_operator).startswith(
        "operator 'inner/wrong' raised on worker 0 (rows at time 4): ValueError:"
    )
    assert _failing(lambda batch: batch["price"], behind_operator).startswith(
        "operator 'inner/wrong' on worker 0: SchemaError: no column 'price'; the columns are value (at "
    )
    assert _failing(lambda batch: {"value": [1]}, behind_operator) == (
        "operator 'inner/wrong' on worker 0: SchemaError: the function returned dict; it must return a Batch, or None"
    )
    assert "returned Schema(other=int64), but was declared with Schema(value=int64)" in _failing(
        lambda batch: Batch(Schema("other"), {"other": [1]}), behind_operator
    )


def test_an_error_of_a_fused_run_names_its_ends() -> None:
    class Breaks(Add):
        @classmethod
        def fused(cls, parts: Sequence[Add]) -> BatchFunction:
            return lambda batch: Batch(VALUE, {"value": np.zeros((2, 2))})

    def declare(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(VALUE)
        for name in ("first", "second", "third"):
            stream = stream.apply(name, VALUE, Breaks(1))
        return handle

    with simulated() as group:
        (handle,) = build(group, declare)
        with raises(OperatorError, "'first ... third (3 operators in one)'", "worker 0", "column 'value'", "(2, 2)"):
            handle.send({"value": [1]})


def test_nothing_is_declared_after_the_block() -> None:
    with simulated() as group:
        (stream,) = build(group, lambda worker, scope: scope.new_input(VALUE)[1])
        with raises(GraphError, "dataflow 'test'", "already built", "worker.dataflow()"):
            stream.apply("late", VALUE, odd)


def _digest(**changes: Any) -> int:
    how = {"region": "r", "name": "n", "schema": VALUE, "function": Add(1), "twice": False, "read": 1}
    how |= {"last": VALUE} | changes
    scope = Scope("digest")
    _, stream = scope.new_input(VALUE)
    streams = [stream]
    with scope.region(how["region"]):
        streams.append(stream.apply(how["name"], how["schema"], how["function"]))
        streams.append((stream if how["twice"] else streams[1]).apply("last", how["last"], odd))
    streams[how["read"]].sink("sink", Recorder().sink)
    return scope.graph.digest()


def test_digests_see_every_difference_of_stages() -> None:
    changes: list[dict[str, Any]] = [
        {},
        {"region": "s"},
        {"name": "m"},
        {"schema": PAIR},
        {"function": Add(2)},
        {"function": odd},
        {"twice": True},
        {"read": 2},
        {"read": 0},
        {"last": PAIR},
        {"last": Schema("other")},
    ]
    assert len({_digest(**change) for change in changes}) == len(changes)
    assert _digest() == _digest(schema=Schema("value"), function=Add(1)), "equal schemas are the same"


def test_regions_nest_and_name_what_is_inside() -> None:
    with simulated() as group:
        worker = group.workers[0]
        with group.building(worker), worker.dataflow() as scope:
            with scope.region("outer") as region, region.region("inner"):
                _, stream = region.new_input(VALUE)
            with pytest.raises(RuntimeError), scope.region("broken"):
                raise RuntimeError
            stream.sink("sink", Recorder().sink)
            assert scope.graph.summary_text() == "outer/inner/input, sink"
        assert worker.inspection.describe_frontiers().splitlines()[0].startswith("outer/inner/input: holds 1 token(s)")
