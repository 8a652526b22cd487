"""Expressions in operators: kinds, text, mistakes and what passes by reference."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import Any

import numpy as np
import pytest

from tests.errors import Fact, raises
from tests.operators.helpers import bench
from tokenring.engine import Batch, OperatorError, Schema, SchemaError, Scope, Stream, UsageError
from tokenring.operators import Expression, col, drop_columns, filter, greatest, lit, rename, select, when, with_columns
from tokenring.operators.expressions.fuse import Part

BIDS = Schema("auction price", channel="string?", at="timestamp", score="float64?", flag="bool", size="uint64")
ROWS = Batch(
    BIDS,
    {
        "auction": [1, 2, 3],
        "price": [100, 250, 70],
        "channel": ["Google", None, "apple/é"],
        "at": ["2024-02-29T23:59:59", "1969-12-31T00:00:01", "2026-01-01T12:30:00"],
        "score": [0.5, None, 2.0],
        "flag": [True, False, True],
        "size": np.array([1, 2, 2**63], np.uint64),
    },
)


def run(declare: Callable[[Stream], Stream], batch: Batch = ROWS) -> tuple[Schema, Any]:
    """The schema of what comes out, and the batch."""
    scope = Scope("columns")
    made = declare(scope.new_input(batch.schema)[1])
    return made.schema, Part.fused([stage.function for stage in scope.graph.stages])(batch)  # type: ignore[misc]


@pytest.mark.parametrize(
    ("expression", "kind", "values"),
    [
        (col("price") * 89 // 100, "int64", [89, 222, 62]),
        (10 - col("price") % 7, "int64", [8, 5, 10]),
        (col("price") / 200, "float64", [0.5, 1.25, 0.35]),
        (-col("price"), "int64", [-100, -250, -70]),
        (abs(col("price") - 100), "int64", [0, 150, 30]),
        (col("price").between(70, 100), "bool", [True, False, True]),
        (col("score") + 1, "float64?", [1.5, None, 3.0]),
        (col("score").fill_null(0), "float64", [0.5, 0.0, 2.0]),
        (col("score").is_null(), "bool", [False, True, False]),
        (~(col("score") > 1), "bool?", [True, None, False]),
        ((col("score") > 1) | (col("price") > 200), "bool?", [False, True, True]),
        (greatest(col("price"), 80), "int64", [100, 250, 80]),
        (col("flag").cast("int64") + 1, "int64", [2, 1, 2]),
        (col("price").cast("bool"), "bool", [True, True, True]),
        ((col("score") * 1.9).cast("int64"), "int64?", [0, None, 3]),
        (col("size").cast("float64"), "float64", [1.0, 2.0, 2.0**63]),
        (col("channel") == "Google", "bool?", [True, None, False]),
        (col("channel").is_in(["apple/é", "x"]), "bool?", [False, None, True]),
        (col("channel").length(), "int64?", [6, None, 7]),
        (col("channel").upper(), "string?", ["GOOGLE", None, "APPLE/É"]),
        (col("channel").lower().starts_with("goo"), "bool?", [True, None, False]),
        (col("channel").fill_null("none"), "string", ["Google", "none", "apple/é"]),
        (when(col("price") > 90).then("big").otherwise(col("channel")), "string?", ["big", "big", "apple/é"]),
        (when(col("price") > 90).then(1).when(col("flag")).then(2), "int64?", [1, 1, 2]),
        (when(col("price") != 100).then(1000 // (col("price") - 100)), "int64?", [None, 6, -34]),
        (col("channel").split_part("/", 2), "string?", [None, None, "é"]),
        (col("channel").extract("([Gp]o*)(.)", 2), "string?", ["g", None, "p"]),
        (col("channel").matches("^[A-Z]"), "bool?", [True, None, False]),
        (col("channel").count_of("o"), "int64?", [2, None, 0]),
        (col("price").cast("string") + "-" + col("channel"), "string?", ["100-Google", None, "70-apple/é"]),
        (lit("12").cast("int64"), "int64", [12, 12, 12]),
        (col("channel").try_cast("float64"), "float64?", [None, None, None]),
        (col("at").format_time("%d %H:%M"), "string", ["29 23:59", "31 00:00", "01 12:30"]),
        (col("at").day(), "int64", [29, 31, 1]),
        (col("at").month() + col("at").minute(), "int64", [61, 12, 31]),
        (col("at") >= datetime(2024, 2, 29), "bool", [True, False, True]),
        ((col("at") - np.datetime64("2024-02-29")) // 10**9, "int64", [86_399, -1_709_251_199, 58_105_800]),
    ],
    ids=repr,
)
def test_an_expression_has_a_kind_and_values(expression: Expression, kind: str, values: list[Any]) -> None:
    schema, made = run(lambda stream: select(stream, x=expression))
    assert schema.spec() == {"x": kind}
    got = [None if null else one for one, null in zip(list(made["x"]), made.nulls("x"), strict=True)]
    assert got == values


def test_a_choice_of_columns_copies_nothing() -> None:
    schema, made = run(lambda stream: rename(select(stream, "channel", euro=col("price")), {"channel": "via"}))
    assert schema == Schema.of({"via": "string?", "euro": "int64"})
    assert made.columns[1] is ROWS.columns[1]
    assert made.columns[0] is ROWS.columns[2]
    assert made.heaps[0] is ROWS.heaps[2]
    schema, made = run(lambda stream: drop_columns(stream, "at", "score", "flag", "size", "channel"))
    assert schema == Schema("auction price")
    _, made = run(lambda stream: filter(with_columns(stream, price=col("price") + 1), col("price") > 0))
    assert made["price"].tolist() == [101, 251, 71]
    assert made.columns[0] is ROWS.columns[0], "what is not computed passes by reference where all rows stay"
    assert run(lambda stream: filter(stream, col("price") > 0))[1] is ROWS


def test_a_column_may_have_a_name_that_is_empty() -> None:
    assert run(lambda stream: select(stream, (col("price") + 1).alias("")))[1][""].tolist() == [101, 251, 71]


def test_columns_may_be_replaced_by_each_other() -> None:
    _, made = run(lambda stream: with_columns(stream, price=col("auction"), auction=col("price")))
    assert made.schema == BIDS
    assert made["price"].tolist() == [1, 2, 3]
    assert made["auction"].tolist() == [100, 250, 70]


@pytest.mark.parametrize(
    ("declare", "says"),
    [
        (
            lambda s: with_columns(s, x=col("prise") + 1),
            ("operator 'with_columns'", "column 'prise'", "auction, price", "did you mean 'price'"),
        ),
        (
            lambda s: with_columns(s, x=col("channel") + 1),
            ("(channel + 1)", "channel is string", "1 is int64", '.cast("string")'),
        ),
        (
            lambda s: with_columns(s, x=col("price") + col("flag")),
            ("(price + flag)", "flag is bool", '.cast("int64") of the bool'),
        ),
        (
            lambda s: with_columns(s, x=col("price") * 0.5),
            ("0.5", "price is int64", '.cast("float64") of the whole number'),
        ),
        (
            lambda s: filter(s, col("price") < 0.5),
            ("0.5", "price is int64", '.cast("float64") of the whole number'),
        ),
        (
            lambda s: with_columns(s, x=col("price") + col("size")),
            ("(price + size)", "size is uint64", '.cast("int64") of the uint64'),
        ),
        (lambda s: filter(s, col("size") > -1), ("(size > -1)", "-1", "uint64")),
        (lambda s: filter(s, col("price") + 1), ("(price + 1)", "int64, not bool", "compare")),
        (
            lambda s: filter(s, (col("price") > 1) & col("auction")),
            ("((price > 1) & auction)", "auction is int64", "parentheses"),
        ),
        (lambda s: filter(s, "price"), ('col("price") > 100', "not 'price'", 'col("…")')),
        (lambda s: filter(s, "channel", "=", "x"), ("column 'channel'", "<, <=, ==, !=, >= or >", "not '='")),
        (lambda s: filter(s, col("channel") < "x"), ("(channel < 'x')", "string", "== or !=")),
        (lambda s: filter(s, col("at") > 5), ("(at > 5)", "5 is int64", "at is timestamp", "datetimes")),
        (lambda s: filter(s, col("at") > "noon"), ("(at > 'noon')", "'noon'", "ISO 8601")),
        (
            lambda s: with_columns(s, x=col("price").year()),
            ("price.year()", "timestamp, not int64", '.cast("timestamp")'),
        ),
        (lambda s: with_columns(s, x=col("price").lower()), ("price.lower()", "string, not int64", '.cast("string")')),
        (
            lambda s: with_columns(s, x=col("price").cast("bytes")),
            ("price.cast('bytes')", "int64 to float64, uint64, timestamp", "not to 'bytes'"),
        ),
        (
            lambda s: with_columns(s, x=when(col("flag")).then(1).otherwise("b")),
            ("when(flag).then(1).otherwise('b')", "1 is int64", "'b' is string", '.cast("string")'),
        ),
        (lambda s: with_columns(s, x=when(col("price")).then(1)), ("price is int64", "bool", "compare")),
        (lambda s: with_columns(s, x=lit(None)), ("operator 'with_columns': a null", "kind")),
        (lambda s: with_columns(s, x=col("price").is_in([1, "a"])), ("price.is_in(1, 'a')", "'a'", "int64")),
        (
            lambda s: with_columns(s, x="price"),
            ("x='price'", 'col("price") for the column', 'lit("price") for the text'),
        ),
        (lambda s: with_columns(s, x=[1]), ("[1]", "constant")),
        (lambda s: select(s, "prise"), ("operator 'select'", "column 'prise'", "did you mean 'price'")),
        (lambda s: select(s), ("operator 'select'", "no column")),
        (lambda s: rename(s, price=col("auction")), ("operator 'rename'", "'price' is text", "select(...)")),
        (lambda s: rename(s, price="auction"), ("operator 'rename'", "two columns", "auction, auction")),
    ],
)
def test_mistakes_are_said_when_the_dataflow_is_built(declare: Callable[[Stream], Stream], says: Fact) -> None:
    with raises(SchemaError, says):
        declare(Scope("mistakes").new_input(BIDS)[1])


def test_python_cannot_ask_whether_an_expression_is_true() -> None:
    with raises(UsageError, "(price > 1)", "&", "parentheses", "and"):
        filter(Scope("true").new_input(BIDS)[1], col("price") > 1 and col("flag"))


@pytest.mark.parametrize(
    ("expression", "says"),
    [
        (col("value") * 2**62, ("(value * 4611686018427387904)", "row 1", "64 bits")),
        (7 // (col("value") - 5), ("(7 // (value - 5))", "row 1", "division by zero")),
        ((0 - col("value")).cast("uint64"), ("(0 - value).cast('uint64')", "row 1", "kind")),
    ],
)
def test_a_row_without_a_result_is_named(expression: Expression, says: Fact) -> None:
    def declare(stream: Stream) -> Stream:
        return with_columns(filter(stream, "value", "!=", 9), x=expression)

    with bench([Schema("value")], declare) as made:
        made.send({"value": [0, 0]})
        made.settle()
        with raises(OperatorError, "'filter ... with_columns (2 operators in one)'", "UsageError", says):
            made.send({"value": [0, 5, 9]})


def test_conditions_make_masks() -> None:
    condition = (col("price") > 80) & col("channel").is_not_null()
    assert condition.columns == ("price", "channel")
    assert condition.mask(ROWS).tolist() == [True, False, False]
    assert condition.mask(ROWS.slice(0, 0)).tolist() == []


def test_workers_compare_what_is_computed() -> None:
    def digest(expression: Expression) -> int:
        scope = Scope("digest")
        with_columns(scope.new_input(BIDS)[1], x=expression)
        return scope.graph.digest()

    assert digest(col("price") + 1) == digest(col("price") + 1)
    assert len({digest(col("price") + 1), digest(col("price") + 2), digest(col("auction") + 1)}) == 3
