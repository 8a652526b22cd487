"""Limited regions with several inputs, in loops, with texts; operators that wait; what is refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, simulated
from tests.errors import raises
from tests.long_form import examples
from tests.operators.flow.test_limited import noted_gates
from tokenring import operators
from tokenring.engine import Batch, GraphError, InputPort, OutputPort, Schema, Scope, Stream, Token, UsageError, Worker
from tokenring.operators import Tumbling, col, limited, no_op

VALUE = Schema("value")
NAMED = Schema("value", name="string")


def ran(
    declare: Callable[[Scope], tuple[list[Any], Stream]], feed: Callable[[list[Any], int], None], workers: int,
    order: list[int],
) -> list[Any]:
    """All rows that leave, sorted, of a dataflow whose inputs `feed(handles, worker)` has fed and closed."""

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handles, made = declare(scope)
        return handles, operators.collect(made)

    with simulated(workers) as group:
        made = build(group, on_worker)
        for number, (handles, _) in enumerate(made):
            feed(handles, number)
        group.run([at % workers for at in order])
        return sorted(
            row
            for _, kept in made
            for row in zip(*[column.tolist() for column in kept.columns().values()], strict=True)
        )  # fmt: skip


def reluctant(left: Stream, right: Stream) -> Stream:
    """Rows of `left` that stay untaken until everything of `right` has come, then the rows of both."""

    def construct(context: Any, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(left: InputPort, right: InputPort, output: OutputPort) -> None:
            for reference, batch in right:
                output.give(reference, batch)
            if right.finished(0):
                for reference, batch in left:
                    output.give(reference, batch)

        return logic

    return left.binary(right, "reluctant", VALUE, construct)


@pytest.mark.parametrize("is_crossed", [False, True])
def test_one_input_may_need_all_of_another_that_is_held_back(is_crossed: bool) -> None:
    """Whichever comes first, and though an operator leaves rows untaken until it has what the entry holds."""

    def declare(scope: Scope) -> tuple[list[Any], Stream]:
        inputs = [scope.new_input(VALUE, name) for name in ("left", "right")]
        streams = [stream for _, stream in inputs]
        turn = slice(None, None, -1) if is_crossed else slice(None)
        return [handle for handle, _ in inputs], limited(
            streams[turn], lambda *both: reluctant(*both[turn]), most=3
        )

    def feed(handles: list[Any], worker: int) -> None:
        for handle in handles:
            handle.send({"value": range(12)})
            handle.close()

    assert ran(declare, feed, 2, []) == sorted([(value,) for value in range(12)] * 4)


@settings(max_examples=examples(10))
@given(workers=st.integers(1, 3), order=st.lists(st.integers(0, 2), max_size=30), most=st.integers(1, 50))
def test_several_inputs_are_let_in_side_by_side(workers: int, order: list[int], most: int) -> None:
    """A join of one that is long with one that is short, and comes later, by windows that wait for both."""

    def declare(scope: Scope) -> tuple[list[Any], Stream]:
        (one, left), (other, right) = scope.new_input(VALUE, "left"), scope.new_input(VALUE, "right")

        def region(left: Stream, right: Stream) -> Stream:
            window = Tumbling("value", 16)
            return operators.join(left, right, on="value", columns="value", window=window)

        return [one, other], limited([left, right], region, most=most)

    def feed(handles: list[Any], worker: int) -> None:
        one, other = handles
        for time in (0, 30, 60):
            one.advance_to(time)
            one.send({"value": range(time, time + 30)})
        for time in (16, 48):
            other.advance_to(time)
            other.send({"value": [time, time + 1]})
        one.close()
        other.close()

    pairs = sorted([(value,) for value in (16, 17, 48, 49)] * workers**2)
    assert [row[-1:] for row in ran(declare, feed, workers, order)] == pairs


@pytest.mark.parametrize("workers", [1, 2])
def test_texts_pass(workers: int) -> None:
    def declare(scope: Scope) -> tuple[list[Any], Stream]:
        handle, stream = scope.new_input(NAMED)
        region = limited(stream, lambda s: operators.exchange(no_op(s, "value"), "name"), most=7)
        return [handle], region

    rows = [(value, f"name {value % 5} of many") for value in range(50)]

    def feed(handles: list[Any], worker: int) -> None:
        for time in range(3):
            handles[0].advance_to(time)
            handles[0].send({"value": [row[0] for row in rows], "name": [row[1] for row in rows]})
        handles[0].close()

    assert ran(declare, feed, workers, []) == sorted(3 * workers * rows)


def test_bytes_of_texts_count() -> None:
    def declare(scope: Scope) -> tuple[list[Any], Stream]:
        handle, stream = scope.new_input(NAMED)
        return [handle], limited(stream, lambda s: operators.exchange(s, "value"), most=1 << 30, per="bytes")

    rows = [(value, "x" * value) for value in range(50)]

    def feed(handles: list[Any], worker: int) -> None:
        handles[0].send({"value": [row[0] for row in rows], "name": [row[1] for row in rows]})
        handles[0].close()

    with noted_gates() as gates:
        assert ran(declare, feed, 1, []) == rows
    metered = max(gates[0].view()["most"], gates[0].state.metered)
    assert metered == 2 * (50 * 16 + sum(range(50))), "at the exchange, and at the exit"


@settings(max_examples=examples(8))
@given(workers=st.integers(1, 3), order=st.lists(st.integers(0, 2), max_size=30), most=st.integers(1, 40))
def test_a_region_within_a_loop(workers: int, order: list[int], most: int) -> None:
    def declare(scope: Scope) -> tuple[list[Any], Stream]:
        handle, stream = scope.new_input(VALUE)

        def body(rows: Stream) -> tuple[Stream, Stream]:
            def region(rows: Stream) -> Stream:
                return operators.exchange(operators.map_batches(rows, VALUE, twice), "value")

            more = operators.filter(limited(rows, region, most=most), "value", ">", 0)
            return operators.with_columns(more, value=col("value") - 1), rows

        return [handle], operators.iterate(stream, body)

    def twice(batch: Any) -> Any:
        return {"value": np.repeat(batch["value"], 2)}

    def feed(handles: list[Any], worker: int) -> None:
        for epoch in range(3):
            handles[0].advance_to(epoch)
            handles[0].send({"value": [3, 2]})
        handles[0].close()

    each = [3] + 2 * [2] + 4 * [1] + 8 * [0] + [2] + 2 * [1] + 4 * [0]
    assert ran(declare, feed, workers, order) == sorted([(value,) for value in 3 * workers * each])


def test_bursts_go_in_by_pieces_of_their_own_times() -> None:
    seen: list[tuple[int, int]] = []

    def bursts(context: Any, token: Token) -> Callable[..., None]:
        def logic(output: OutputPort) -> None:
            if token.live:
                for first in range(0, 200, 50):
                    values = np.arange(first, first + 50)
                    output.give_each(token, Batch(VALUE, {"value": values}), values // 4)
                token.drop()

        return logic

    def on_worker(worker: Worker, scope: Scope) -> None:
        (stream,) = scope.source("bursts", VALUE, bursts)
        made = limited(stream, lambda s: no_op(s, "value"), most=11)
        operators.for_each(made, lambda time, batch: seen.extend((time, value) for value in batch["value"].tolist()))

    with simulated(1) as group:
        build(group, on_worker)
        group.run()
    assert seen == [(value // 4, value) for value in range(200)]


def test_what_is_refused() -> None:
    scope = Scope("refusing")
    stream, other = scope.new_input(VALUE)[1], scope.new_input(VALUE, "other")[1]
    with raises(UsageError, "limited region 'limited'", "'rows', 'bytes' or 'times'", "not 'messages'"):
        limited(stream, no_op, per="messages")
    with raises(UsageError, "limited region 'limited'", "most must be", "1 or more", "not 0"):
        limited(stream, no_op, most=0)
    with raises(UsageError, "limited region 'limited'", "stream", "function"):
        limited([], no_op)
    with raises(GraphError, "limited region 'limited'", "operator 'limited/union'", "'other' output 0", "outside"):
        limited(stream, lambda s: operators.union(s, other))
    with raises(GraphError, "limited region 'limited'", "'limited/inside'", "source"):
        limited(stream, lambda s: operators.union(s, scope.new_input(VALUE, "inside")[1]))
    cure = ("loop.enter(stream)", "loop.leave(stream)")
    with scope.loop("loop") as loop, raises(GraphError, "limited region 'limited'", "loop 'loop'", cure):
        limited([stream, loop.enter(other)], operators.union)
