"""Expressions in aggregates: computed once and together, whatever they stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError, Stream
from tokenring.operators import (
    ApproxQuantile,
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Sum,
    Variance,
    aggregate,
    col,
    collection,
)


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
