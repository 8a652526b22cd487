"""Expressions in aggregates: computed once and together, whatever they stand for."""

from __future__ import annotations

from tests.operators.helpers import bench
from tokenring.engine import Schema, Stream
from tokenring.operators import Count, First, Sum, aggregate, col


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
