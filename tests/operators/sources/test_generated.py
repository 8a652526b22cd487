"""from_generator and from_callback: rows from Python code."""

from __future__ import annotations

import math
from collections.abc import Iterator
from datetime import datetime
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import orjson
import pytest

from tests.errors import raises
from tests.operators.sources.helpers import run
from tokenring.engine import GraphError, OperatorError, Schema, SchemaError, UsageError
from tokenring.operators import ARRIVAL, END_OF_STREAM, Throttle, count, from_callback, from_generator
from tokenring.operators.sources.generated import _position

SCHEMA = Schema("at value")
YEAR_2020_NS = 1_577_836_800_000_000_000


def test_each_worker_s_generator_is_read_to_its_end() -> None:
    def dealt(worker: int, peers: int) -> Iterator[dict[str, Any]]:
        for at in range(worker, 12, peers):
            yield {"at": [at * 10], "value": [worker]}

    sent = run(lambda scope: from_generator(scope, SCHEMA, dealt, time="at"), 3)
    assert sorted(sent.rows) == sorted((at % 3, at * 10, (at * 10, at % 3)) for at in range(12))
    assert len(set(sent.frontiers)) > 3


def test_rows_may_be_early_by_the_disorder_only() -> None:
    def rows(worker: int, peers: int) -> Iterator[dict[str, Any]]:
        yield {"at": [10, 50], "value": [0, 0]}
        yield {"at": [60, 30], "value": [0, 0]}

    sent = run(lambda scope: from_generator(scope, SCHEMA, rows, time="at", disorder=20))
    assert [time for _, time, _ in sent.rows] == [10, 10, 30, 30]
    late = ("item 1 of worker 0's generator", "row 1", "column 'at'", "time is 30", "before 31", "disorder=20")
    with raises(OperatorError, *late):
        run(lambda scope: from_generator(scope, SCHEMA, rows, time="at", disorder=19))


def test_a_source_that_cannot_be_is_refused() -> None:
    def nothing(worker: int, peers: int) -> Iterator[dict[str, Any]]:
        return iter(())

    def in_a_loop(scope: Any) -> Any:
        with scope.loop("inner") as loop:
            return from_generator(loop, SCHEMA, nothing)

    with raises(GraphError, "source 'from_generator'", "loop 'inner'", "root scope", "loop.enter(stream)"):
        run(in_a_loop)
    with raises(UsageError, "a throttle", "size_bytes", "1 or more", "not 0"):
        Throttle(size_bytes=0)
    with raises(UsageError, "source 'from_generator'", "disorder", "at least 0", "not -1"):
        run(lambda scope: from_generator(scope, SCHEMA, nothing, disorder=-1))


def test_live_rows_are_of_the_time_at_which_they_arrive() -> None:
    waiting: list[Any] = [{"value": [1, 2]}, None, {"value": [3]}, END_OF_STREAM]
    sent = run(
        lambda scope: from_callback(scope, SCHEMA, lambda: waiting.pop(0), time=ARRIVAL, stamp="at", idle_ns=1000)
    )
    assert [value for _, value in sent.values] == [1, 2, 3]
    times = [time for _, time, _ in sent.rows]
    assert times == [at for at, _ in sent.values]
    assert YEAR_2020_NS < times[0] == times[1] <= times[2]
    assert all(frontier > YEAR_2020_NS for frontier in sent.frontiers[1:])


def test_live_rows_may_have_times_of_their_own() -> None:
    waiting: list[Any] = [{"at": [5], "value": [1]}, {"at": [4], "value": [1]}]
    with raises(
        OperatorError,
        "source 'from_callback'",
        "batch 1 of worker 0's callback",
        "row 0",
        "column 'at'",
        "time is 4",
        "before 5",
    ):
        run(lambda scope: from_callback(scope, SCHEMA, lambda: waiting.pop(0), time="at"))
    with raises(OperatorError, "source 'from_callback'", "returned list", "mapping of columns"):
        run(lambda scope: from_callback(scope, SCHEMA, lambda: [1]))
    with raises(SchemaError, "source 'from_callback'", "column 'then'", "at, value"):
        run(lambda scope: from_callback(scope, SCHEMA, lambda: None, stamp="then"))
    for idle_ns in (0, -1, 1.5, float("nan"), 2**70, "x", None):
        with raises(UsageError, "source 'from_callback'", "idle_ns", "whole number", f"not {idle_ns!r}"):
            run(lambda scope, idle_ns=idle_ns: from_callback(scope, SCHEMA, lambda: None, idle_ns=idle_ns))


@pytest.mark.parametrize("stamp", [None, "at"])
@pytest.mark.parametrize("values", [None, 3, iter([1]), np.array(3)], ids=str)
def test_what_is_no_column_of_a_callback_is_named(values: Any, stamp: str | None) -> None:
    rows = {"value": values} if stamp else {"at": [1], "value": values}
    with raises(OperatorError, "operator 'from_callback'", "column 'value'", "one value a row"):
        run(lambda scope: from_callback(scope, SCHEMA, lambda: rows, stamp=stamp))


def test_a_stamp_stands_where_the_schema_has_it() -> None:
    schema, waiting = Schema("n", at="uint64", s="string?"), [{"s": ["x", None], "n": [1, 2]}, END_OF_STREAM]
    sent = run(lambda scope: from_callback(scope, schema, lambda: waiting.pop(0), stamp="at"))
    assert [(n, s) for n, _, s in sent.values] == [(1, "x"), (2, None)]
    assert all(at > YEAR_2020_NS for _, at, _ in sent.values)
    with raises(SchemaError, "source 'from_callback'", "stamp 'at'", "only column"):
        run(lambda scope: from_callback(scope, Schema("at"), lambda: END_OF_STREAM, stamp="at"))


def ten(first: int = 0, count: int = 10) -> Iterator[dict[str, Any]]:
    for at in range(first, first + count):
        yield {"at": [at], "value": [at]}


def test_a_function_that_knows_no_worker_is_asked_on_one() -> None:
    rows = [(at, at) for at in range(10)]
    sent = run(lambda scope: from_generator(scope, SCHEMA, ten, time="at"), 3)
    assert sent.rows == [(0, at, (at, at)) for at, _ in rows]
    assert {*range(1, 9)} <= {*sent.frontiers}, "the others hold nothing back"

    def polled(scope: Any, **options: Any) -> Any:
        waiting = iter([*ten(), END_OF_STREAM])
        return from_callback(scope, SCHEMA, lambda: next(waiting), time="at", **options)

    sent = run(polled, 3)
    assert sent.rows == [(0, at, (at, at)) for at, _ in rows]
    assert {*range(1, 9)} <= {*sent.frontiers}

    for everywhere in (
        run(lambda scope: from_generator(scope, SCHEMA, ten, time="at", per_worker=True), 3),
        run(lambda scope: polled(scope, per_worker=True), 3),
    ):
        assert sorted(everywhere.rows) == [(worker, at, (at, at)) for worker in range(3) for at, _ in rows]


def test_rows_of_one_worker_are_spread_by_what_follows() -> None:
    sent = run(lambda scope: count(from_generator(scope, SCHEMA, ten, time="at"), "value", emit="final"), 3)
    assert sorted(sent.values) == [(value, 1) for value in range(10)]
    assert {worker for worker, _, _ in sent.rows} == {0, 1, 2}


def test_a_function_may_be_told_which_worker_asks() -> None:
    ended: set[int] = set()

    def poll(worker: int, peers: int) -> Any:
        if worker in ended:
            return END_OF_STREAM
        ended.add(worker)
        return {"at": [worker], "value": [peers]}

    sent = run(lambda scope: from_callback(scope, SCHEMA, poll, time="at"), 2)
    assert sorted(sent.rows) == [(0, 0, (0, 2)), (1, 1, (1, 2))]
    takes = ("takes (worker)", "nothing", "(worker_index, peers)")
    for source, parameter in ((from_generator, "function"), (from_callback, "poll")):
        with raises(UsageError, *takes):
            run(partial(source, schema=SCHEMA, **{parameter: lambda worker: iter(())}))


def test_a_generator_that_is_to_say_where_it_is_yields_pairs() -> None:
    def pairs(worker: int, peers: int, position: Any) -> Iterator[Any]:
        assert position is None
        yield {"at": [1], "value": [worker]}, "behind the first"

    sent = run(lambda scope: from_generator(scope, SCHEMA, pairs, time="at", positions=True), 2)
    assert sorted(sent.rows) == [(0, 1, (1, 0)), (1, 1, (1, 1))]

    def rows(worker: int, peers: int, position: Any) -> Iterator[Any]:
        yield {"at": [1], "value": [worker]}

    with raises(OperatorError, "source 'from_generator'", "item 0 of worker 0's generator", "dict", "pairs"):
        run(lambda scope: from_generator(scope, SCHEMA, rows, time="at", positions=True))
    def given(rows: Any, worker: int, peers: int, position: Any) -> Iterator[Any]:
        yield rows

    for wrong, kind in (
        (({"at": [1], "value": [1]}, 1, 2), ("tuple of 3", "pairs")),
        ((1, {"at": [1], "value": [1]}), ("mapping of column names", "not int")),
    ):
        where = ("item 0 of worker 0's generator", "rows first, then the position")
        with raises(OperatorError, "from_generator", *where, kind):
            run(partial(from_generator, schema=SCHEMA, function=partial(given, wrong), time="at", positions=True))
    with raises(UsageError, "source 'from_generator'", "(worker_index, peers)", "position="):
        run(lambda scope: from_generator(scope, SCHEMA, lambda one: iter(()), positions=True))


@pytest.mark.parametrize(
    "position",
    [
        None, math.inf, math.nan, 2**64, -(2**63) - 1, (1, "a"), [1, (2,)], {1: 2}, b"a", datetime(2024, 1, 1),
        "\ud800", [math.nan], {"a": [math.inf]}, np.datetime64("2024-01-01", "ns"), np.array([1]), Path("a"),
    ],
    ids=repr,
)  # fmt: skip
def test_a_position_that_would_not_come_back_is_refused(position: Any) -> None:
    """inf came back as None, where a source begins: it read all once more. Others let no snapshot be taken."""

    def pairs(worker: int, peers: int, position: Any) -> Iterator[Any]:
        yield {"at": [1], "value": [worker]}, given

    given = position
    with raises(OperatorError, "source 'from_generator'", "behind item 0 of worker 0's", "saved, as JSON", "64 bits"):
        run(lambda scope: from_generator(scope, SCHEMA, pairs, time="at", positions=True))


@pytest.mark.parametrize(
    ("position", "comes_back"),
    [
        (np.int64(9), 9), (np.float32(0.5), 0.5), (np.bool_(True), True), ({"a": [np.uint64(2**64 - 1), None]},) * 2,
        (-(2**63), -(2**63)), ("é\0", "é\0"), ([], []), (5e-324, 5e-324),
    ],
    ids=repr,
)  # fmt: skip
def test_a_position_comes_back_as_it_was(position: Any, comes_back: Any) -> None:
    made = _position("source", "item 0", position)
    assert orjson.loads(orjson.dumps(made)) == made == comes_back
