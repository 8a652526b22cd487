"""What others' columns hold arrives as it was, or is refused: pandas, Polars, numpy and Arrow, as any kind."""

from __future__ import annotations

import math
import subprocess
import sys
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from tests.engine.columns.columns_of_others import KINDS, OFFERED, check
from tests.errors import Fact, raises
from tokenring.engine import Batch, Schema, SchemaError


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("label", OFFERED)
def test_a_column_is_what_was_offered_or_refused(label: str, kind: str) -> None:
    assert check(OFFERED[label], kind, nullable=False) == ""
    assert check(OFFERED[label], kind, nullable=True) == ""


def test_so_are_columns_of_polars() -> None:
    command = [sys.executable, "-m", "tests.engine.columns.columns_of_others"]
    run = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (run.stdout, run.returncode) == ("", 0), run.stdout + run.stderr


@pytest.mark.parametrize(
    "make",
    [
        lambda columns: pd.DataFrame({name: pd.Series(*column) for name, column in columns.items()}),
        lambda columns: pa.table({name: values for name, (values, *_) in columns.items()}),
        lambda columns: pa.table({name: values for name, (values, *_) in columns.items()}).to_batches()[0],
        lambda columns: pa.table({name: values for name, (values, *_) in columns.items()}).to_reader(),
    ],
    ids=["pandas", "table", "record batch", "reader"],
)
def test_tables_of_anybody_are_rows(make: Callable[[Any], Any]) -> None:
    columns = {"n": ([1, None], None, "Int64"), "x": ([None, 0.5], None, "Float64"), "s": (["a", None], None, "string")}
    schema = Schema(n="int64?", x="float64?", s="string?")
    assert Batch(schema, make(columns)).to_arrow().to_pylist() == [
        {"n": 1, "x": None, "s": "a"},
        {"n": None, "x": 0.5, "s": None},
    ]
    with raises(SchemaError, "'s' is too much"):
        Batch(schema.select(("n", "x")), make(columns))
    assert Schema.from_arrow(make(columns)) == schema
    assert Batch.from_arrow(schema.select(("s",)), make(columns))["s"].tolist() == ["a", None]


def test_what_is_no_table_is_named() -> None:
    with raises(SchemaError, "pandas, Polars, Arrow", "not list"):
        Batch(Schema("a"), [1, 2])
    with raises(SchemaError, "a, a", "rename"):
        Batch(Schema("a"), pd.DataFrame([[1, 2]], columns=["a", "a"]))
    with raises(SchemaError, "ChunkedArray", "Arrow", "int64"):
        Batch(Schema("a"), pa.chunked_array([[1]]))


def test_a_decimal_of_many_digits_is_asked_for() -> None:
    prices = pa.table({"price": pa.array([Decimal("1.25")])})
    assert str(Schema.from_arrow(prices).kind("price")) == "decimal(3, 2)?"
    for wide in (pa.decimal128(19, 2), pa.decimal128(38, 2), pa.decimal256(60, 2)):
        with raises(SchemaError, "column 'price'", str(wide), "decimal(18, 2)", "float64", "string", "leave it out"):
            Schema.from_arrow(pa.schema([("price", wide)]))
    assert Batch.from_arrow(Schema(price="float64"), prices)["price"].tolist() == [1.25]
    assert Batch.from_arrow(Schema(price="string"), prices)["price"].tolist() == ["1.25"]
    with raises(SchemaError, "column 'price'", "decimal128(3, 2)", "int64", "Rescaling"):
        Batch.from_arrow(Schema("price"), prices)
    with raises(SchemaError, "column 'price'", "row 1", "0.12345678901234567", "string", "pyarrow.compute.cast"):
        Batch(Schema(price="float64"), {"price": pa.array([Decimal(1), Decimal("0.12345678901234567")])})
    small = {"price": pa.array([Decimal(0), Decimal("-0.0000001"), None], pa.decimal128(38, 7))}
    assert Batch(Schema(price="string?"), small)["price"].tolist() == ["0.0000000", "-0.0000001", None]


@pytest.mark.parametrize(
    ("kind", "values", "cure"),
    [
        ("timestamp", pa.array([10**10], pa.timestamp("s")), "1677 to 2262"),
        ("decimal(18, 1)", pa.array([Decimal("1.25")], pa.decimal128(38, 2)), "pyarrow.compute.round"),
        ("int64?", pa.array([math.nan]), ("NaN null", "declare it float64")),
    ],
)
def test_what_arrow_refuses_has_a_cure(kind: str, values: Any, cure: Fact) -> None:
    with raises(SchemaError, "column 'x'", kind, cure):
        Batch(Schema.of({"x": kind}), {"x": values})


SLICED = {
    "date": pa.array([None if row % 3 == 1 else row - 20 for row in range(40)], pa.int32()).cast(pa.date32()),
    "decimal(18, 2)": pa.array(
        [None if row % 3 == 1 else Decimal(row - 20) / 4 for row in range(40)], pa.decimal128(18, 2)
    ),
    "int64": pa.array([None if row % 3 == 1 else row - 20 for row in range(40)], pa.int64()),
    "uint64": pa.array([2**63 + row if row % 5 else None for row in range(40)], pa.uint64()),
    "float64": pa.array([row / 4 if row % 4 else None for row in range(40)], pa.float64()),
    "bool": pa.array([[True, False, None][row % 3] for row in range(40)], pa.bool_()),
    "timestamp": pa.array([row * 10**9 if row % 7 else None for row in range(40)], pa.timestamp("ns", "UTC")),
    "string": pa.array([f"text {row}" if row % 3 else None for row in range(40)], pa.large_string()),
    "words": pa.array([f"text {row % 4}" if row % 3 else None for row in range(40)]).dictionary_encode(),
    "8-bit words": pa.array([None, "a", "b", "c"] * 10).cast(pa.dictionary(pa.uint8(), pa.string())),
}


@pytest.mark.parametrize("name", SLICED)
def test_parts_of_columns_begin_and_end_at_any_bit(name: str) -> None:
    whole = SLICED[name]
    kind = f"{name}?" if name in KINDS else "string?"
    for first in range(18):
        for rows in (0, 1, 7, 8, 9, 22):
            part = whole.slice(first, rows)
            found = Batch.from_arrow(Schema(x=kind), pa.table({"x": part})).to_arrow()["x"]
            assert found.to_pylist() == part.to_pylist(), (first, rows)


def test_what_lies_behind_a_null_is_nobodys_business() -> None:
    """Arrow leaves it open; here it is the very word that stands for null where there is one."""
    words = np.array([5, np.iinfo(np.int64).min, 7])
    values = pa.Array.from_buffers(pa.int64(), 3, [pa.py_buffer(b"\x05"), pa.py_buffer(words)])
    assert Batch.from_arrow(Schema(x="int64?"), pa.table({"x": values}))["x"].tolist() == [5, None, 7]
    full = pa.Array.from_buffers(pa.int64(), 3, [None, pa.py_buffer(words)])
    with raises(SchemaError, "row 1", "stands for null"):
        Batch.from_arrow(Schema(x="int64?"), pa.table({"x": full}))


def test_a_column_that_lies_at_an_odd_address_is_copied() -> None:
    memory = np.zeros(8 * 5 + 1, np.uint8)
    memory[1:].view(np.uint8)[:] = np.arange(5).view(np.uint8)
    values = pa.Array.from_buffers(pa.int64(), 5, [None, pa.py_buffer(memory).slice(1)])
    found = Batch.from_arrow(Schema(x="int64"), pa.table({"x": values}))["x"]
    assert found.tolist() == [0, 1, 2, 3, 4]
    assert found.flags.aligned


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        ("uint64", [-1, 2**64 - 1], "-1"),
        ("int64", [0, 2**64 - 1], str(2**64 - 1)),
        ("float64", [0.5, 2**64 - 1], "double"),
    ],
)
def test_an_integer_beyond_its_kind_is_named(kind: str, values: list[float], said: str) -> None:
    with raises(SchemaError, "'u'", said):
        Batch(Schema.of({"u": kind}), {"u": values})
