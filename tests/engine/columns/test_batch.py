"""Schemas and batches: what fits, what is converted, and errors that name the column."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.errors import Fact, raises
from tokenring.engine import Batch, Schema, SchemaError


def test_schemas_name_columns_and_dtypes() -> None:
    schema = Schema("a b", c="float64", d="uint64")
    assert schema.names == ("a", "b", "c", "d")
    assert [str(dtype) for dtype in schema.dtypes] == ["int64", "int64", "float64", "uint64"]
    assert len(schema) == 4
    assert schema.position("c") == 2
    assert schema.select(("d", "a")) == Schema(d="uint64", a="int64")
    assert not schema.all_int64
    assert Schema("a b").all_int64
    assert Schema("a b") == Schema(a="int64", b="int64") != Schema("b a")
    assert len({Schema("a"), Schema(a="int64"), Schema(a="float64")}) == 2


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Schema(), "one column"),
        (lambda: Schema(a="int32"), ("column 'a'", "'int32'", "'int64' holds", "uint64", "float64")),
        (lambda: Schema("a a"), ("twice", "a, a")),
        (lambda: Schema("a", a="float64"), ("twice", "a, a")),
        (lambda: Schema("a").position("z"), ("column 'z'", "columns are a")),
        (lambda: Schema("a").select(("z",)), ("column 'z'", "columns are a")),
    ],
)
def test_schemas_that_cannot_be(make: Any, said: Fact) -> None:
    with raises(SchemaError, said):
        make()


def test_columns_are_converted_where_that_loses_nothing() -> None:
    batch = Batch(Schema(a="int64", b="float64", c="uint64"), {"c": np.array([1], np.uint8), "a": [True], "b": [2]})
    assert [column.dtype.name for column in batch] == ["int64", "float64", "uint64"]
    assert [column.tolist() for column in batch] == [[1], [2.0], [1]]
    assert len(batch) == batch.rows == 1
    assert batch["b"].tolist() == [2.0]


def test_int64_columns_are_not_copied() -> None:
    column = np.arange(3)
    assert np.shares_memory(Batch(Schema("a"), {"a": column})["a"], column)
    strided = np.arange(6)[::2]
    assert Batch(Schema("a"), {"a": strided})["a"].flags.c_contiguous


@pytest.mark.parametrize(
    ("columns", "said"),
    [
        ({}, ("a, b", "'a' is missing", "'b' is missing")),
        ({"a": [1]}, ("a, b", "'b' is missing")),
        ({"a": [1], "b": [1], "c": [1]}, ("a, b, c", "'c' is too much")),
        ({"a": [1, 2], "b": [1]}, ("'b' has 1", "'a' has 2")),
        ({"a": [1], "b": [1.5]}, ("column 'b'", "float64", "int64", ".astype")),
        ({"a": [1], "b": ["x"]}, ("column 'b'", "<U1", "int64", "'string'")),
        ({"a": [[1]], "b": [1]}, ("column 'a'", "(1, 1)", "(rows,)")),
        ({"a": [[1, 2], [3]], "b": [1, 2]}, ("column 'a'", "one value a row")),
        ({"a": np.array(1), "b": [1]}, ("column 'a'", "()", "(rows,)", "one value a row")),
        ({"a": np.array([1], np.uint64), "b": [1]}, ("column 'a'", "uint64", "int64", ".astype")),
    ],
)
def test_columns_that_do_not_fit(columns: dict[str, Any], said: Fact) -> None:
    with raises(SchemaError, said):
        Batch(Schema("a b"), columns)


def test_integers_that_a_float_cannot_hold() -> None:
    schema = Schema(x="float64")
    assert Batch(schema, {"x": [2**53, -(2**53)]})["x"].tolist() == [2.0**53, -(2.0**53)]
    with raises(SchemaError, "column 'x'", "int64", "float64"):
        Batch(schema, {"x": [2**53 + 1]})


def test_empty_batches() -> None:
    assert Batch(Schema("a b"), {"a": [], "b": []}).rows == 0


def test_an_unknown_column() -> None:
    with raises(SchemaError, "column 'z'", "columns are a"):
        Batch(Schema("a"), {"a": [1]})["z"]


def test_select_and_copy() -> None:
    batch = Batch(Schema("a b"), {"a": [1, 2], "b": [3, 4]})
    part = batch.select(Schema("b"))
    assert np.shares_memory(part["b"], batch["b"])
    copied = batch.copy()
    assert not np.shares_memory(copied["a"], batch["a"])
    with raises(ValueError, "read-only"):
        copied["a"][0] = 9
    assert repr(batch) == "Batch(2 rows of a, b)"


@pytest.mark.parametrize(
    ("choose", "said"),
    [
        (lambda b: b.select(Schema(n="float64")), ("column 'n'", "int64, not float64", "Batch(schema, {")),
        (lambda b: b.select(Schema(n="string")), ("column 'n'", "int64, not string")),
        (lambda b: b.select(Schema(n="int64?")), ("column 'n'", "int64, not int64?")),
        (lambda b: b.select(Schema("z")), ("column 'z'", "columns are n, m, s")),
        (lambda b: b.take([True, False, True]), ("take()", "bool", "(3,)", "filter(mask)")),
        (lambda b: b.take([1.5]), ("take()", "float64", "integers")),
        (lambda b: b.take([0, 5]), ("take()", "row 5", "3 rows")),
        (lambda b: b.take([-4]), ("take()", "row -4", "3 rows")),
        (lambda b: b.filter(np.arange(3)), ("int64", "3 rows", "bool", "take(numbers)")),
        (lambda b: b.filter([0.5, 0, 0]), ("float64", "3 rows", "bool")),
        (lambda b: b.filter("n m"), ("<U3", "3 rows", "bool")),
        (lambda b: b.filter([True, False]), ("(2,)", "3 rows")),
        (lambda b: Batch.concatenate([b, b.select(Schema("m n", s="string"))]), ("n=int64, m", "m=int64, n", "select")),
        (lambda b: Batch.concatenate([b, Batch(Schema(n="float64"), {"n": [1]})]), ("n=float64", "n=int64")),
        (lambda b: Batch.concatenate([]), "no batch"),
    ],
)
def test_rows_and_columns_that_there_are_not(choose: Any, said: Fact) -> None:
    batch = Batch(Schema("n m", s="string"), {"n": [1, 2, 3], "m": [4, 5, 6], "s": ["a", "b", "c"]})
    with raises(SchemaError, said):
        choose(batch)


@pytest.mark.parametrize("chosen", [[2, 0], (2, 0), np.array([2, 0], np.uint8), [-1, -3]])
def test_rows_by_number_and_by_mask(chosen: Any) -> None:
    batch = Batch(Schema("n"), {"n": [1, 2, 3]})
    assert batch.take(chosen)["n"].tolist() == [3, 1]
    assert batch.filter([True, False, True])["n"].tolist() == [1, 3]
    nothing = batch.take([])
    assert nothing.rows == nothing.filter([]).rows == 0


@pytest.mark.parametrize("kind", ["string", "bytes", "int64", "timestamp"])
@pytest.mark.parametrize(
    "given",
    ["abc", b"abc", bytearray(b"abc"), {"a", "b"}, frozenset("a"), {"a": 1}, None, 1, 1.5, Decimal(1), date(2026, 1, 1),
     pd.Timestamp("2026-01-01"), pd.NA, np.int64(1), np.datetime64("2026-01-01"), pa.scalar(1)],
)  # fmt: skip
def test_what_is_one_value_or_has_no_order_is_no_column(kind: str, given: Any) -> None:
    with raises(SchemaError, "column 'x'", type(given).__name__, "one value a row"):
        Batch(Schema(x=kind), {"x": given})
