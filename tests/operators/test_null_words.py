"""The number that stands for null, where it would become null: an error that names it; elsewhere it is one as others.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.helpers import bench
from tokenring.engine import OperatorError, Schema, Stream
from tokenring.operators import (
    Count,
    First,
    Last,
    Max,
    Min,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    enrich,
    interval_join,
    join,
    select,
    temporal_join,
    when,
)
from tokenring.operators.expressions import Expression, greatest, least

NULLS = {"int64": -(2**63), "uint64": 2**64 - 1}
WAYS: dict[str, dict[str, Any]] = {
    "running": {}, "each": {"emit": "each"}, "final": {"emit": "final"}, "tumbling": {"window": Tumbling("at", 10)},
    "sliding": {"window": Sliding("at", 10, 5)}, "session": {"window": Session("at", 10)},
}  # fmt: skip
CHOSEN = col("at") < 100


def fails_of(null: int, schema: Schema, declare: Callable[[Stream], Stream], rows: dict[str, list[Any]]) -> None:
    """Whether these rows are refused by the word of null."""
    with bench([schema], declare) as made:
        made.send(rows)
        with raises(OperatorError, "'v'", str(null), "stands for null", "leave such rows out"):
            made.close()


@pytest.mark.parametrize("kind", NULLS)
@pytest.mark.parametrize("by", ["k", ""])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("made", [Min, Max, partial(First, order="at"), partial(Last, order="at")])
def test_of_rows_that_are_chosen(made: Any, way: str, by: str, kind: str) -> None:
    if not by and way in ("each", "session"):
        pytest.skip("of all rows there is no such form")
    schema = Schema.of({"k": "int64", "at": "int64", "v": kind})

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, by, **WAYS[way], n=Count(), found=made("v", where=CHOSEN))

    null = NULLS[kind]
    fails_of(null, schema, declare, {"k": [1, 1], "at": [3, 4], "v": [null, null]})
    with bench([schema], declare) as of_others:
        of_others.send({"k": [1, 1], "at": [103, 104], "v": [null, null]})
        of_others.close()
        assert {row[-1] for row in of_others.rows} == {None}
        assert of_others.rows[-1][-2] == 2
    with bench([schema], lambda stream: aggregate(stream, by, **WAYS[way], found=made("v"))) as of_all:
        of_all.send({"k": [1, 1], "at": [3, 4], "v": [null, null]})
        of_all.close()
        assert {row[-1] for row in of_all.rows} == {null}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("nullable", [False, True])
def test_of_sums(way: str, nullable: bool) -> None:
    schema = Schema.of({"k": "int64", "at": "int64", "v": "int64?" if nullable else "int64"})
    where = None if nullable else CHOSEN

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, "k", **WAYS[way], found=Sum("v", where=where))

    least_but_one = {"k": [1, 1], "at": [3, 4], "v": [-(2**62), 1 - 2**62]}
    fails_of(-(2**63), schema, declare, least_but_one | {"v": [-(2**62), -(2**62)]})
    with bench([schema], declare) as made:
        made.send(least_but_one)
        made.close()
        assert made.rows[-1][-1] == 1 - 2**63


V, C = col("v"), col("c")
NULLABLE: dict[str, tuple[Expression, int]] = {
    "a choice": (when(C > 0).then(V), NULLS["int64"]),
    "the other one": (when(C > 1).then(C).otherwise(V), NULLS["int64"]),
    "a sum": (V + C - 2, 1 - 2**63),
    "a difference": (V + C - 1, NULLS["int64"]),
    "a product": ((V // 2**32) * C * 2**32, NULLS["int64"]),
    "the lesser": (least(V, C), NULLS["int64"]),
    "the greater": (greatest(V, V * C), NULLS["int64"]),
    "a float": ((V.cast("float64") * C.cast("float64")).cast("int64"), NULLS["int64"]),
}
"""Of a column v and a nullable one c: expressions, and what v has to be where c is 1 for the number of null."""


TIMES = {
    "a difference": col("at") - col("v"),
    "a sum": col("at") + (0 - col("v")),
    "a cast": (-1 - col("v")).cast("timestamp"),
    "a choice": when(col("v") > 0).then((-1 - col("v")).cast("timestamp")).otherwise(col("at")),
}
"""Of a time at -1 and a column v: what is the number of null where that is 2**63 - 1."""


@pytest.mark.parametrize("kind", ["timestamp", "timestamp?"])
@pytest.mark.parametrize("name", TIMES)
def test_of_times_that_are_computed(name: str, kind: str) -> None:
    """No time is that number, whether there are nulls or not."""
    schema = Schema(at=kind, v="int64")

    def declare(stream: Stream) -> Stream:
        return select(stream, found=TIMES[name])

    with bench([schema], declare) as made, raises(OperatorError, "row 1", "stands for null", "leave such rows out"):
        made.send({"at": [-1, -1], "v": [2**63 - 2, 2**63 - 1]})
        made.close()


@pytest.mark.parametrize("name", NULLABLE)
def test_of_what_is_computed(name: str) -> None:
    expression, word = NULLABLE[name]
    schema = Schema(v="int64", c="int64?")

    def declare(stream: Stream) -> Stream:
        return select(stream, found=expression)

    with bench([schema], declare) as made, raises(OperatorError, "row 1", "stands for null", "leave such rows out"):
        made.send({"v": [5, word], "c": [1, 1]})
    if name != "the other one":  # which is taken there
        with bench([schema], declare) as made:
            made.send({"v": [5, word], "c": [1, None]})
            made.close()
            assert [row[-1] is None for row in made.rows] == [False, True]


def test_a_choice_looks_at_rows_that_take_it_alone() -> None:
    """And a constant that is another number needs no look."""
    schema, null = Schema(v="int64", c="int64?"), NULLS["int64"]
    choice = when(V.is_in([null])).then(7).when(V > 0).then(V).otherwise(C)
    with bench([schema], lambda stream: select(stream, found=choice)) as made:
        made.send({"v": [null, null, 5, -5], "c": [1, None, None, None]})
        made.close()
        assert [row[-1] for row in made.rows] == [7, 7, 5, None]


def test_what_is_filled_is_a_number_as_any() -> None:
    with bench([Schema(c="int64?")], lambda stream: select(stream, found=C.fill_null(NULLS["int64"]))) as made:
        made.send({"c": [1, None]})
        made.close()
        assert [row[-1] for row in made.rows] == [1, NULLS["int64"]]


A_B: dict[str, Any] = {"on": "k", "columns": "a b"}
_interval: Any = partial(interval_join, **A_B, left_time="at", right_time="at", upper=5)


JOINS: dict[str, tuple[Callable[[Stream, Stream], Stream], str]] = {
    "left": (partial(join, **A_B, how="left"), "right"),
    "right": (partial(join, **A_B, how="right"), "left"),
    "full": (partial(join, **A_B, how="full"), "left right"),
    "left, of a unique side": (partial(join, **A_B, how="left", unique="right"), "right"),
    "left, in windows": (partial(join, **A_B, how="left", window=Tumbling("at", 10)), "right"),
    "left, in stretches": (partial(_interval, how="left"), "right"),
    "full, in stretches": (partial(_interval, how="full"), "left right"),
    "left, of versions": (
        partial(temporal_join, **A_B, time="at", version_time="at", how="left"), "right"
    ),
    "left, of what a table said": (partial(enrich, **A_B, how="left"), "right"),
}  # fmt: skip
"""Outer joins, and the sides whose columns become nullable in them."""


_KEYS: dict[str, Any] = {"left_on": "a", "right_on": "b", "columns": "a"}
OF_KEYS: dict[str, Callable[[Stream, Stream], Stream]] = {
    "right": partial(join, **_KEYS, how="right"),
    "full": partial(join, **_KEYS, how="full"),
    "right, in windows": partial(join, **_KEYS, how="right", window=Tumbling("at", 10)),
    "right, in stretches": partial(
        interval_join, **_KEYS, how="right", left_time="at", right_time="at", upper=5
    ),
}  # fmt: skip
"""Joins whose key is the right side's where the left one has no row, in a column that may be null."""


@pytest.mark.parametrize("kind", NULLS)
@pytest.mark.parametrize("name", OF_KEYS)
def test_of_a_key_that_the_right_side_shows(name: str, kind: str) -> None:
    schemas = [Schema.of({"a": f"{kind}?", "at": "int64"}), Schema.of({"b": kind, "at": "int64"})]
    said = "b, row 0", "stands for null", "leave such rows out"
    with bench(schemas, OF_KEYS[name]) as made, raises(OperatorError, *said):
        made.send({"b": [NULLS[kind]], "at": [3]}, to=1)


@pytest.mark.parametrize("kind", NULLS)
@pytest.mark.parametrize("name", JOINS)
def test_of_outer_joins(name: str, kind: str) -> None:
    declare, nullable = JOINS[name]
    schemas = [Schema.of({"k": "int64", "at": "int64", column: kind}) for column in ("a", "b")]
    for side, column in enumerate("ab"):
        with bench(schemas, declare) as made:
            made.send({"k": [1], "at": [4 - side], "ba"[side]: [7]}, to=1 - side)
            wrong = {"k": [1], "at": [3 + side], column: [NULLS[kind]]}
            if ("left", "right")[side] in nullable:
                with raises(OperatorError, f"{column}, row 0", "stands for null", "leave such rows out"):
                    made.send(wrong, to=side)
            else:
                made.send(wrong, to=side)
                made.close()
                assert any(NULLS[kind] in row for row in made.rows)


def test_of_a_table_that_is_given() -> None:
    table = pa.table({"k": [1], "v": [NULLS["int64"]]})
    rows = Schema(k="int64")
    with raises(tr.SchemaError, "'v'", "row 0", "stands for null"):
        bench([rows], lambda stream: enrich(stream, table, on="k", how="left")).__enter__()
    with bench([rows], lambda stream: enrich(stream, table, on="k")) as made:
        made.send({"k": [1]})
        made.close()
        assert made.rows[0][-1] == NULLS["int64"]


@pytest.mark.parametrize("kind", NULLS)
def test_of_totals_of_a_collections_rows_that_are_chosen(kind: str) -> None:
    """The operator that computes them was called as nobody had called one; a count needs no value."""
    rows = pa.table({"k": [1, 2], "v": pa.array([NULLS[kind], 7], kind)})

    def of_some(total: Any) -> Any:
        chosen = total("v", where=col("k") == 1)
        return tr.run(lambda s: s.read_arrow(rows).collection().aggregate("k", n=chosen).changes().collect(), workers=1)

    assert sorted(of_some(tr.Count)["n"].to_pylist()) == [0, 1]
    with raises(OperatorError, "operator 'aggregate'", "stands for null", "leave such rows out"):
        of_some(Min)
