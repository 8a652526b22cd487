"""Expressions in aggregates: computed once and together, whatever they stand for."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest

from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError, Stream
from tokenring.operators import (
    ApproxQuantile,
    ArgMax,
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Session,
    Sliding,
    Sum,
    Tumbling,
    Variance,
    aggregate,
    col,
    collection,
    rename,
    union,
)
from tokenring.operators.rows import OnError


def test_columns_orders_and_conditions_are_computed_together() -> None:
    large = col("value") > 5
    computed: list[str] = []

    def declare(stream: Stream) -> Stream:
        made = aggregate(
            stream,
            "key",
            twice=Sum(col("value") * 2, where=large),
            n=Count(where=large),
            least=First(col("value"), order=-col("at")),
            plain=Sum(col("value"), where=col("wanted")),
            emit="final",
        )
        computed.extend(stage.name for stage in stream.scope.graph.stages)
        return made

    schema = Schema("key value", at="int64", wanted="bool")
    with bench([schema], declare) as made:
        made.send({"key": [1, 1, 1], "value": [5, 6, 7], "at": [1, 3, 2], "wanted": [True, False, True]})
        made.close()
        assert [row[2:] for row in made.rows] == [(1, 26, 2, 6, 12)]
    assert computed == ["aggregate.columns", "aggregate.needed"]


TWICE = col("value") * 2


@pytest.mark.parametrize(
    ("aliased", "plain"),
    [
        (Sum(TWICE.alias("o")), Sum(TWICE)),
        (Count(where=(TWICE > 3).alias("o")), Count(where=TWICE > 3)),
        (Last("value", order=(-TWICE).alias("o")), Last("value", order=-TWICE)),
        (ArgMax("value", by=(-TWICE).alias("o")), ArgMax("value", by=-TWICE)),
        (Variance(TWICE.alias("o"), ddof=0), Variance(TWICE, ddof=0)),
        (ApproxQuantile(TWICE.alias("o")), ApproxQuantile(TWICE)),
    ],
)
@pytest.mark.parametrize("on_error", ["fail", "stream"])
def test_an_alias_within_an_aggregate_is_left_out(aliased: Any, plain: Any, on_error: OnError) -> None:
    def declare(stream: Stream) -> Any:
        made: Any = aggregate(stream, "key", x=aliased, y=plain, emit="final", on_error=on_error)
        return made[0] if on_error == "stream" else made

    with bench([Schema("key value")], declare) as made:
        made.send({"key": [1, 1, 2], "value": [1, 2, 3]})
        made.close()
        assert {row[2]: row[3] == row[4] for row in made.rows} == {1: True, 2: True}


@pytest.mark.parametrize("made", [Sum, Mean, Min, Max, First, Last, CountDistinct, Variance, ApproxQuantile])
@pytest.mark.parametrize("where", [None, col("value") > 1])
def test_only_a_count_is_of_no_column(made: Any, where: Any) -> None:
    def declare(stream: Stream) -> Stream:
        wanted = made(where=where)
        ways: list[Callable[[], Any]] = [lambda: aggregate(stream, "key", x=wanted)]
        if made not in (First, Last):  # which collections have not
            ways.append(lambda: collection(stream).aggregate("key", x=wanted))
        if where is None and made in (Sum, Min, Max):
            ways.append(lambda: collection(stream).arrange("key").aggregate(x=wanted))
        what = made.__name__
        for way in ways:
            with raises(SchemaError, "operator 'aggregate'", "x", what, {f"{what}('column')", "none"}):
                way()
        return stream

    with bench([Schema("key value")], declare):
        pass


TRAPS: dict[str, tuple[dict[str, Any], list[tuple[Any, Any]]]] = {
    "a column that is called as a number": ({"1": 100, "v": 10}, [(col("v") + col("1"), 110), (col("v") + 1, 11)]),
    "a column that is called as an expression": (
        {"(a + b)": 100, "a": 1, "b": 2}, [(col("(a + b)") * 2, 200), ((col("a") + col("b")) * 2, 6)]
    ),
    "a column that is called as a constant": ({"True": 7, "v": 1}, [(col("True") + col("v"), 8), (col("v") + 1, 2)]),
    "a column that is called as what is made": ({"#(v + 1)": 100, "v": 10}, [("#(v + 1)", 100), (col("v") + 1, 11)]),
}  # fmt: skip


@pytest.mark.parametrize("trap", TRAPS)
def test_what_is_called_alike_is_told_apart(trap: str) -> None:
    row, wanted = TRAPS[trap]

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, "", emit="final", **{f"x{at}": Sum(each) for at, (each, _) in enumerate(wanted)})

    with bench([Schema.of(dict.fromkeys(row, "int64"))], declare) as made:
        made.send({name: [value] for name, value in row.items()})
        made.close()
        assert [row[2:] for row in made.rows] == [tuple([value for _, value in wanted])]


def test_conditions_that_are_functions_leave_columns_alone() -> None:
    def declare(stream: Stream) -> Stream:
        of_large = Sum("#where 0", where=lambda rows: rows["v"] > 15)
        return aggregate(stream, "", emit="final", a=of_large, n=Count(where=lambda rows: rows["v"] > 25))

    with bench([Schema.of({"#where 0": "int64", "v": "int64"})], declare) as made:
        made.send({"#where 0": [1, 2, 1], "v": [10, 20, 30]})
        made.close()
        assert [row[2:] for row in made.rows] == [(3, 1)]


@pytest.mark.parametrize("window", [None, Tumbling("at", 2)])
@pytest.mark.parametrize("made", [Count, Sum, Mean, ApproxQuantile])
@pytest.mark.parametrize(
    ("where", "fact"), [("at", "int64"), ("ratio", "float64"), ("name", "string"), ("none", "no column")]
)
def test_a_column_that_is_a_condition_is_bool(made: Any, where: str, fact: str, window: Any) -> None:
    def declare(stream: Stream) -> Stream:
        with raises(SchemaError, "operator 'aggregate'", "where=", repr(where), fact):
            aggregate(stream, x=made("value", where=where), window=window)
        return stream

    with bench([Schema("value at", ratio="float64", name="string")], declare):
        pass


@pytest.mark.parametrize("window", [Tumbling("", 2), Sliding("", 4, 2), Session("", 2)])
def test_a_window_may_be_of_a_column_without_a_name(window: Any) -> None:
    def declare(stream: Stream) -> Stream:
        return union(aggregate(stream, n=Count(), window=window), aggregate(renamed(stream), n=Count(), window=named))

    def renamed(stream: Stream) -> Stream:
        return rename(stream, {"": "at"})

    named = replace(window, time="at")
    with bench([Schema.of({"": "int64", "v": "int64"})], declare) as made:
        made.send({"": [1, 2, 3, 9], "v": [1, 2, 3, 4]})
        made.close()
        found = sorted([row[2:] for row in made.rows])
        assert len(found) > 2 and found[::2] == found[1::2]
