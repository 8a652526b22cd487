"""Schemas and batches: what fits, what is converted, and errors that name the column."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

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
        (lambda: Schema(), "at least one column"),
        (lambda: Schema(a="int32"), "'a'.*int64, uint64, float64.*'int32'"),
        (lambda: Schema("a a"), "twice"),
        (lambda: Schema("a", a="float64"), "twice"),
        (lambda: Schema("a").position("z"), "no column 'z'; the columns are a"),
        (lambda: Schema("a").select(("z",)), "'z'"),
    ],
)
def test_schemas_that_cannot_be(make: Any, said: str) -> None:
    with pytest.raises(SchemaError, match=said):
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
        ({}, "a, b are expected"),
        ({"a": [1]}, "a given where a, b"),
        ({"a": [1], "b": [1], "c": [1]}, "a, b, c given"),
        ({"a": [1, 2], "b": [1]}, "'b' has 1 rows, 'a' has 2"),
        ({"a": [1], "b": [1.5]}, "'b' has dtype float64, expected int64"),
        ({"a": [1], "b": ["x"]}, "'b' has dtype <U1"),
        ({"a": [[1]], "b": [1]}, r"'a' has shape \(1, 1\)"),
        ({"a": 1, "b": [1]}, r"'a' has shape \(\)"),
        ({"a": np.array([1], np.uint64), "b": [1]}, "'a' has dtype uint64"),
    ],
)
def test_columns_that_do_not_fit(columns: dict[str, Any], said: str) -> None:
    with pytest.raises(SchemaError, match=said):
        Batch(Schema("a b"), columns)


def test_integers_that_a_float_cannot_hold() -> None:
    schema = Schema(x="float64")
    assert Batch(schema, {"x": [2**53, -(2**53)]})["x"].tolist() == [2.0**53, -(2.0**53)]
    with pytest.raises(SchemaError, match="'x' has dtype int64"):
        Batch(schema, {"x": [2**53 + 1]})


def test_empty_batches() -> None:
    assert Batch(Schema("a b"), {"a": [], "b": []}).rows == 0


def test_an_unknown_column() -> None:
    with pytest.raises(SchemaError, match="no column 'z'; the columns are a"):
        Batch(Schema("a"), {"a": [1]})["z"]


def test_select_and_copy() -> None:
    batch = Batch(Schema("a b"), {"a": [1, 2], "b": [3, 4]})
    part = batch.select(Schema("b"))
    assert np.shares_memory(part["b"], batch["b"])
    copied = batch.copy()
    assert not np.shares_memory(copied["a"], batch["a"])
    with pytest.raises(ValueError, match="read-only"):
        copied["a"][0] = 9
    assert repr(batch) == "Batch(2 rows of a, b)"
