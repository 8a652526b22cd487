"""A column may have any name, and expressions stand wherever an aggregate takes a column; DuckDB agrees."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

from tests.duck import answer
from tests.errors import Fact, raises
from tokenring.engine import Schema, SchemaError
from tokenring.operators import Count, Max, Mean, Sum, col
from tokenring.operators.fluent import Scope, run

ROWS = pa.table({"name": [*"ababa"], "price": [3, 5, 7, 11, 13], "paid": [True, False, True, True, False]})


def _rows(table: Any, by: str) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.sort_by(by).to_pylist()
    return rows


def test_columns_may_be_called_what_parameters_are() -> None:
    found = run(
        lambda scope: scope.read_arrow(ROWS)
        .with_columns((col("price") * 2).alias("stream"), names=col("name"))
        .rename(names="name_too")
        .aggregate("name", Max("stream").alias("window"), Count().alias("late"), Max("price").alias("by"), emit="final")
        .select("late", col("by"), col("window"), name=col("name"))
        .collect(),
        workers=2,
    )
    assert _rows(found, "name") == [
        {"late": 3, "by": 13, "window": 26, "name": "a"},
        {"late": 2, "by": 11, "window": 22, "name": "b"},
    ]
    renamed = run(lambda scope: scope.read_arrow(ROWS).rename(price="name", name="names").collect(), workers=1)
    assert renamed.column_names == ["names", "name", "paid"]


def test_aggregates_take_expressions() -> None:
    found = run(
        lambda scope: scope.read_arrow(ROWS)
        .aggregate(
            "name",
            emit="final",
            top=Max(col("price") * 89),
            plain=Sum(col("price")),
            other=Sum(col("price") + 1, where=col("paid")),
            mean=Mean(col("price") // 2),
        )
        .collect(),
        workers=2,
    )
    expected = answer(
        "select name, max(price * 89) top, sum(price)::bigint plain, (sum(price + 1) filter (paid))::bigint other, "
        "avg(price // 2) mean from given group by name",
        given=ROWS,
    )
    assert _rows(found, "name") == [dict(zip(found.column_names, row, strict=True)) for row in sorted(expected)]


@pytest.mark.parametrize(
    ("declare", "said"),
    [
        (lambda s: s.aggregate("key", late=Count()), ("'aggregate'", "late=", "Count(...).alias('late')")),
        (lambda s: s.aggregate("key", name=Count()), ("'aggregate'", "name=", "Count(...).alias('name')")),
        (lambda s: s.aggregate("key", Count()), ("operator 'aggregate'", "Count(", "no name", ".alias('name')")),
        (lambda s: s.aggregate("key", Count().alias("n"), n=Count()), ("operator 'aggregate'", "the same: n")),
        (lambda s: s.aggregate("key", top=Max(col("prise"))), ("'aggregate', top", "'prise'", "did you mean 'price'")),
        (lambda s: s.with_columns(col("price") * 2), ("'with_columns'", "(price * 2)", "no name", ".alias('name')")),
        (lambda s: s.select(col("price") * 2), ("operator 'select'", "name", 'euro=col("price") * 89')),
        (lambda s: s.select((col("price") * 2).alias(3)), ("text", ".alias('price')", "not 3")),
    ],
)
def test_mistakes_with_names_are_told(declare: Any, said: Fact) -> None:
    _, stream = Scope("names").new_input(Schema("key price"))
    with raises(SchemaError, said):
        declare(stream)
