"""Stateless operators behind a compiled one run in the worker's inner loop, and say what they say in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import Recorder, build, settle, simulated
from tests.engine.native.scripted import (
    ADD,
    ANSWER,
    DROP,
    FIRST,
    IF_ZERO,
    RETAIN,
    RETURN,
    SET,
    TAKE,
    M,
    forward,
    operate,
)
from tests.errors import Fact, raises
from tests.operators.helpers import bench
from tokenring.engine import (
    Batch,
    Notify,
    OperatorContext,
    OperatorError,
    OutputPort,
    Schema,
    Scope,
    Stream,
    Token,
    Worker,
)
from tokenring.engine.compiled import AGAIN, DONE
from tokenring.engine.native import EXCHANGE, LOCAL, OUTSIDE, STAGE
from tokenring.operators import (
    as_rows,
    col,
    collect,
    exchange,
    filter,
    lit,
    map_batches,
    rename,
    running_average,
    select,
    with_columns,
)

PAIR = Schema("key value")


def as_they_are(context: OperatorContext, token: Token) -> Any:
    """Rows pass an operator in Python, behind which stages are Python's."""
    token.drop()

    def logic(rows: Any, output: OutputPort) -> None:
        for reference, batch in rows:
            output.give(reference, batch)

    return logic


def run(declare: Any, workers: int, is_compiled: bool) -> tuple[list[list[tuple[Any, ...]]], set[int]]:
    """Feed averages into what `declare(stream)` makes of them; the rows of each of its streams, of all workers, and
    the kinds of edges there were."""
    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(PAIR)
        averages = as_rows(running_average(stream, "key", "value"))
        if not is_compiled:
            averages = averages.unary("same", averages.schema, as_they_are, notify=Notify.NEVER)
        return handle, [collect(each) for each in declare(averages)]

    rng = np.random.default_rng(1)
    with simulated(workers, queue_bytes=1 << 16) as group:
        made = build(group, on_worker)
        world = group.workers[0].world
        kinds = {int(edge["kind"]) for edge in world.edges if edge["origin"]}
        for time in range(6):
            for handle, _ in made:
                keys = rng.integers(0, 40, 50)
                handle.send(Batch(PAIR, {"key": keys, "value": rng.integers(0, 1000, 50)}))
                handle.advance_to(time + 1)
            settle(group)
        for handle, _ in made:
            handle.close()
        settle(group)
        assert all(worker.complete for worker in group.workers)
        found = []
        for at in range(len(made[0][1])):
            rows: list[tuple[Any, ...]] = []
            for _, collected in made:
                rows += zip(*[column.tolist() for column in collected[at].columns().values()], strict=True)
            found.append(sorted(rows))
        return found, kinds


def tree(stream: Stream) -> list[Stream]:
    """Stages that branch, choose, compute, filter to nothing, and end in operators and in Python."""
    computed = with_columns(stream, half=col("average") / 2, few=col("count") < 4, sum=col("average") + col("key"))
    few = filter(computed, col("few"))
    renamed = rename(select(few, "key", "sum", "half"), half="other")
    return [
        stream,
        computed,
        renamed,
        filter(stream, "count", "<", 3),
        filter(filter(stream, "count", "<", 3), "key", ">=", 10),
        filter(stream, "count", ">", 10**6),
        running_average(as_rows(select(few, "key", value=col("sum"))), "key", "value", name="behind"),
        select(map_batches(few, few.schema, lambda batch: batch), "half", "key"),
        select(stream, "count", "key"),
    ]


@pytest.mark.parametrize("workers", [1, 2])
def test_they_make_the_same_rows(workers: int) -> None:
    expected, _ = run(tree, workers, False)
    found, kinds = run(tree, workers, True)
    assert found == expected
    assert all(found[:5]) and found[5] == [], "what filters leave"
    assert kinds == {STAGE, OUTSIDE, LOCAL, *([EXCHANGE] if workers > 1 else [])}


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (col("average") // (col("count") - 3) > 1, ("(average // (count - 3))", "row 31", "zero", "64 bits")),
        (col("count") + (2**63 - 3) > 1, ("(count + 9223372036854775805)", "row 31", "64 bits", "float64")),
        ((col("count") - 3).cast("uint64") > 1, ("(count - 3).cast('uint64')", "row 0", "kind")),
    ],
)
def test_an_error_is_the_same(condition: Any, said: Fact) -> None:
    texts = []
    for is_compiled in (False, True):
        with raises(OperatorError, said) as caught:
            run(lambda s: [filter(s, condition, name="wrong")], 1, is_compiled)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]
    assert texts[1].startswith("operator 'wrong' on worker 0: UsageError: (")


def test_text_is_made_there() -> None:
    def declare(stream: Stream) -> list[Stream]:
        return [filter(with_columns(stream, text=col("count").cast("string")), col("text") == "2")]

    expected, _ = run(declare, 1, False)
    found, kinds = run(declare, 1, True)
    assert found == expected and len(found[0]) == 40
    assert kinds == {STAGE, OUTSIDE}


def test_a_chain_of_many_needs_no_recursion() -> None:
    def declare(stream: Stream) -> list[Stream]:
        streams = [stream]
        for _ in range(500):
            streams.append(with_columns(streams[-1], count=col("count") + 1))
        return [*streams[100::200], streams[-1]]

    expected, _ = run(declare, 1, False)
    found, _ = run(declare, 1, True)
    assert found == expected


@pytest.mark.parametrize("rows", [1, 2, 700, 1_500])
@pytest.mark.parametrize("differs_at", [None, 0, 1, 699, 1_499])
def test_columns_of_one_word(rows: int, differs_at: int | None) -> None:
    """What is computed of columns that are the same in all rows, as it is of others; what passes by is as it came."""
    word = np.full(rows, 23)
    if differs_at is not None:
        word[differs_at : differs_at + 1] = 40
    given = {"at": np.arange(rows), "word": word}

    def declare(stream: Stream) -> Stream:
        made = select(exchange(stream, "at"), "at", "word", tens=col("word") // 10 * 10, nine=lit(9))
        return filter(made, col("tens") < 30)

    with bench([Schema("at word")], declare) as made:
        made.send(given)
        made.send(given | {"word": word + 40})  # none passes
        made.settle()
        made.close()
        expected = [(0, int(at), 23, 20, 9) for at in np.arange(rows)[word == 23]]
        assert [row[1:] for row in made.rows] == expected


def test_an_error_in_columns_of_one_word_is_that_of_the_first_row() -> None:
    with bench([Schema("at word")], lambda rows: select(exchange(rows, "at"), made=col("at") // col("word"))) as made:
        made.send({"at": np.full(900, 5), "word": np.zeros(900, np.int64)})
        with raises(OperatorError, "operator 'select'", "(at // word)", "row 0 of the batch"):
            made.settle()


KEEPS_A_TOKEN = [
    *FIRST, (ADD, 2, 1), (IF_ZERO, 2, 7), (RETURN, AGAIN), (SET, 2, -1), (IF_ZERO, 6, 11), (DROP, 5), (SET, 6, 0),
    (TAKE, 0, M), (IF_ZERO, M, 17), (RETAIN, 0, 0, 5), (SET, 6, 1), (ANSWER, 0, 0, M), (RETURN, AGAIN), (RETURN, DONE),
]  # fmt: skip
"""Of each message, at its time, until the next run; after as many runs as register 2 is below zero."""


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("least", [0, 1, 700, 2000])
@pytest.mark.parametrize("computes", [False, True])
def test_a_burst_whose_first_messages_are_left_out_begins_later(computes: bool, least: int, workers: int) -> None:
    """Its time is that of the first message that is left: earlier ones nobody has a right to any more."""
    rows, value = 600, Schema("value")
    times, values = np.arange(rows) // 5 + 3, np.arange(rows) * 2
    recorder = Recorder()
    reached: list[tuple[int, int]] = []
    states: list[np.ndarray] = []

    def source(context: OperatorContext, token: Token) -> Any:
        def logic(output: OutputPort) -> None:
            if token.live:
                if context.worker_index == 0:
                    output.give_each(token, Batch(value, {"value": values}), times)
                token.drop()

        return logic

    def declare(worker: Worker, scope: Scope) -> Any:
        (stream,) = scope.source("source", (value,), source)
        (stream,) = operate(stream, forward(), "before")
        stream = filter(stream, "value", ">=", least)
        stream = with_columns(stream, value=col("value") + 1) if computes else stream
        (stream,) = operate(stream, KEEPS_A_TOKEN, "behind", states=states)
        probe = stream.unary("record", value, recorder.unary).probe()
        probe.on_advance(lambda: reached.append((worker.index, probe.frontier)))

    with simulated(workers, checks="exhaustive", queue_bytes=1 << 16) as group:
        build(group, declare)
        for state in states:
            state[2] = -9
        settle(group)
        assert all(worker.complete for worker in group.workers)
        for worker in group.workers:
            worker.tracker.entries.check()
    left = [(time, each) for time, each in zip(times.tolist(), values.tolist(), strict=True) if each >= least]
    assert recorder.rows == [(time, each + computes) for time, each in left]
    for worker in range(workers):
        moves = [frontier for index, frontier in reached if index == worker]
        assert moves == sorted(moves)
