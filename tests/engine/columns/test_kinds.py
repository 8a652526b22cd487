"""Kinds of columns: what users give, what they see, nulls, text, and Arrow in both directions."""

from __future__ import annotations

from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

from tests.errors import Fact, raises
from tokenring.engine import Batch, Schema, SchemaError, Strings

ALL = Schema("a", b="bool?", t="timestamp?", f="float64?", i="int64?", u="uint64?", s="string?", y="bytes?")
GIVEN: dict[str, Any] = {
    "a": [1, 2, 3],
    "b": [True, None, False],
    "t": [datetime(2020, 1, 1, tzinfo=timezone(timedelta(hours=1))), None, np.datetime64("2021-01-01")],
    "f": [1.5, None, 0.0],
    "i": [None, 2, -(2**63) + 1],
    "u": np.ma.MaskedArray([2**64 - 2, 2, 0], [False, True, False], np.uint64),
    "s": ["x", None, "größe"],
    "y": [b"", b"\xff\x00", None],
}


def test_what_users_see() -> None:
    batch = Batch(ALL, GIVEN)
    assert batch["b"].tolist() == [True, None, False]
    assert batch["t"].dtype == "datetime64[ns]"
    assert batch["t"][0] == np.datetime64("2019-12-31T23:00")
    assert np.isnat(batch["t"][1])
    assert batch["f"][0] == 1.5
    assert np.isnan(batch["f"][1])
    assert batch["i"].tolist() == [None, 2, -(2**63) + 1]
    assert batch["u"].tolist() == [2**64 - 2, None, 0]
    assert batch["s"].tolist() == ["x", None, "größe"]
    assert batch["y"].tolist() == [b"", b"\xff\x00", None]
    assert batch.nulls("s").tolist() == [False, True, False]
    assert not batch.nulls("a").any()
    assert all(column.dtype.itemsize == 8 and column.shape == (3,) for column in batch)
    plain = Batch(Schema(b="bool", t="timestamp"), {"b": np.array([True, False]), "t": [5, 6]})
    assert plain["b"].dtype == np.bool_
    assert plain["t"].astype(int).tolist() == plain.words("t").tolist() == [5, 6]


def test_dates_and_decimals_are_as_python_has_them() -> None:
    days = [date(1, 1, 1), None, date(1900, 2, 28), date(2024, 2, 29), date(9999, 12, 31)]
    prices = [Decimal("-9999999999.99"), Decimal("0.01"), None, Decimal("-0.05"), Decimal("9999999999.99")]
    small = [Decimal("0.999999999999999999"), Decimal(0), Decimal("-1E-18"), Decimal("1E-18"), Decimal("0.5")]
    schema = Schema(d="date?", p="decimal(12,2)?", w="decimal(18)", s="decimal(18, 18)")
    assert schema.spec() == {"d": "date?", "p": "decimal(12, 2)?", "w": "decimal(18, 0)", "s": "decimal(18, 18)"}
    whole = [10**18 - 1, 1 - 10**18, 0, 1, -1]
    batch = Batch(schema, {"d": days, "p": prices, "w": whole, "s": small})
    assert batch["d"].dtype == "datetime64[D]"
    assert batch["d"].tolist() == days
    assert batch["p"].tolist() == prices
    assert [str(price) for price in batch["p"][:2]] == ["-9999999999.99", "0.01"]
    assert batch["w"].tolist() == whole
    assert batch["s"].tolist() == small
    assert batch.words("p")[:2].tolist() == [-999999999999, 1]
    assert batch.words("d").tolist()[3] == (date(2024, 2, 29) - date(1970, 1, 1)).days
    assert batch.nulls("p").tolist() == [False, False, True, False, False]
    arrow = batch.to_arrow()
    assert arrow.schema.types == [pa.date32(), pa.decimal128(12, 2), pa.decimal128(18, 0), pa.decimal128(18, 18)]
    assert arrow.to_pydict() == {"d": days, "p": prices, "w": whole, "s": small}
    arrow.validate(full=True)
    assert Schema.from_arrow(arrow) == schema
    assert Batch.from_arrow(schema, arrow.slice(1, 3)).to_arrow().equals(arrow.slice(1, 3))


def test_a_sum_of_more_digits_does_not_leave_to_arrow() -> None:
    schema = Schema(a="decimal(18, 2)")
    batch = Batch.wrap(schema, (np.array([1, 10**18]),), 2)
    assert batch["a"].tolist() == [Decimal("0.01"), Decimal(10) ** 16]
    with raises(SchemaError, "column 'a'", "row 1", "10000000000000000.00", "decimal(18, 2)", '.cast("float64")'):
        batch.to_arrow()


def test_a_nan_is_no_null() -> None:
    batch = Batch(Schema(f="float64?"), {"f": np.array([np.nan, 1.0])})
    assert batch.nulls("f").tolist() == [False, False]
    assert Batch(Schema(f="float64?"), {"f": [None, 1.0]}).nulls("f").tolist() == [True, False]


def test_rows_are_chosen_with_their_text() -> None:
    batch = Batch(ALL, GIVEN)
    assert batch.take(np.array([2, 0, 2]))["s"].tolist() == ["größe", "x", "größe"]
    assert batch.filter(np.array([False, True, True]))["y"].tolist() == [b"\xff\x00", None]
    assert batch.filter(np.ones(3, np.bool_)) is batch
    for rows in (2, 4):
        with raises(SchemaError, str(rows), "3"):
            batch.filter(np.ones(rows, np.bool_))
    assert batch.slice(1, 3)["s"].tolist() == [None, "größe"]
    assert batch.select(ALL.select(("y", "a")))["y"].tolist() == batch["y"].tolist()
    own = batch.slice(2, 3).copy()
    assert own["s"].tolist() == ["größe"]
    assert own["s"].heap.nbytes == len("größe".encode())
    joined = Batch.concatenate([batch, own.select(ALL), batch.take(np.array([1]))])
    assert joined["s"].tolist() == ["x", None, "größe", "größe", None]
    assert joined["y"].tolist() == [b"", b"\xff\x00", None, None, b"\xff\x00"]
    pieces = [batch.slice(0, 1), batch.slice(1, 3)]
    assert Batch.concatenate(pieces)["s"].heap is batch["s"].heap


def test_texts_compare() -> None:
    texts = Strings.of(["a", None, "ab", "a", "", "x" * 1000])
    assert (texts == "a").tolist() == [True, False, False, True, False, False]
    assert (texts != "a").tolist() == [False, False, True, False, True, True]
    others = Strings.of(["a", None, "a", "b", "", "x" * 999 + "y"])
    assert (texts == others).tolist() == [True, False, False, False, True, False]
    assert texts[-1] == "x" * 1000
    assert texts[1] is None
    assert repr(texts[:2]) == "Strings(2 rows: 'a', None)"


def test_arrow_there_and_back() -> None:
    batch = Batch(ALL, GIVEN)
    arrow = batch.to_arrow()
    assert arrow.schema == ALL.to_arrow()
    assert arrow.column("t").to_pylist()[0] == datetime(2019, 12, 31, 23, tzinfo=UTC)
    assert Batch.from_arrow(ALL, arrow).to_arrow().equals(arrow)
    assert Schema.from_arrow(arrow) == Schema.of({name: str(ALL.kind(name)) for name in ALL.names})
    table = pa.table({"s": pa.chunked_array([["x", "y"], ["z"]]), "n": pa.array([1, None, 3], pa.int8())})
    found = Batch.from_arrow(Schema(s="string", n="int64?"), table.slice(1))
    assert found["s"].tolist() == ["y", "z"]
    assert found["n"].tolist() == [None, 3]
    coded = pa.array(["x", "y", None, "x"]).dictionary_encode()
    column = Batch(Schema(d="string?"), {"d": coded})["d"]
    assert column.tolist() == ["x", "y", None, "x"]
    assert column.words[0] == column.words[3]  # a dictionary's texts are there once
    assert Schema.from_arrow(pa.schema([("d", coded.type), ("n", pa.int16())]), nullable=["d"]) == Schema.of(
        {"d": "string?", "n": "int64"}
    )


@pytest.mark.parametrize(
    ("kind", "values", "said"),
    [
        ("string", ["a", None], ("column 'c'", "nulls", "string?", "fill")),
        ("string", [1, 2], ("column 'c'", "str", "'int'")),
        ("bytes", np.array(["a"]), ("column 'c'", "<U1", "bytes")),
        ("bytes", Strings.of(["a"]), ("column 'c'", "bytes", "string")),
        ("int64", np.ma.MaskedArray([1, 2], [True, False]), ("column 'c'", "nulls", "int64?")),
        ("int64", pa.array([1, None]), ("column 'c'", "1 null", "int64?")),
        ("int64?", pa.array(["x"]), ("column 'c'", {"string", "large_string"}, "int64?", "pyarrow.compute.cast")),
        ("string", pa.array([1]), ("column 'c'", "declare it int64", "before it comes here")),
        ("date", pa.array([1.5]), ("column 'c'", "declare it float64", "before it comes here")),
        ("int64", pa.array([timedelta(1)]), ("column 'c'", "to int64", "before it comes here", "leave it out")),
        ("string", pa.array([[1]]), ("column 'c'", "before it comes here", "leave it out")),
        ("timestamp", pa.array(["soon"]), ("column 'c'", "'soon'", "declare it string")),
        ("bool", pa.array([1]), ("column 'c'", "declare it int64", "compare")),
        ("bool", [0, 1], ("column 'c'", "int64", "bool", "compare")),
        ("timestamp", [None], ("column 'c'", "nulls", "timestamp?")),
        ("timestamp", [np.datetime64("NaT")], ("column 'c'", "NaT", "timestamp?")),
        ("timestamp", np.array(["NaT"], "datetime64[s]"), ("column 'c'", "NaT", "timestamp?")),
        ("timestamp", ["soon"], ("column 'c'", "'soon'", "1677", "2262")),
        ("timestamp", np.array(["1000-01-01"], "datetime64[D]"), ("column 'c'", "1677", "2262")),
        ("timestamp", np.array([1500], "datetime64[ps]"), ("column 'c'", "within a nanosecond", "truncate")),
        ("timestamp", [True], ("column 'c'", "bool", "timestamp", "schema")),
        ("date", np.array([True]), ("column 'c'", "bool", "date", "schema")),
        ("uint64", [-1], ("column 'c'", "int64", "uint64", ".astype")),
        ("date", [None], ("column 'c'", "nulls", "date?")),
        ("date", np.array(["NaT"], "datetime64[D]"), ("column 'c'", "NaT", "date?")),
        ("date", ["2023-02-29"], ("column 'c'", "'2023-02-29'", "datetime.date")),
        ("date", [datetime(2024, 1, 1, 5)], ("column 'c'", "5, 0", "datetime.date")),
        ("date", np.array(["2024-01-01T05"], "datetime64[h]"), ("column 'c'", "timestamp", "truncate")),
        ("date", pa.array([datetime(2024, 1, 1, 5)]), ("column 'c'", "timestamp", "truncate")),
        ("date", [2932897], ("column 'c'", "row 0", "10000-01-01", "9999")),
        ("date?", [None, -719163], ("column 'c'", "row 1", "0000-12-31", "9999")),
        ("decimal(4, 2)", [None], ("column 'c'", "nulls", "decimal(4, 2)?")),
        ("decimal(4, 2)", [Decimal("1.005")], ("column 'c'", "1.005", "2 digits behind", "round")),
        ("decimal(4, 2)", [Decimal("100")], ("column 'c'", "100", "4 digits")),
        ("decimal(4, 2)", [1, 100], ("column 'c'", "row 1", "100", "more digits")),
        ("decimal(4, 2)", [1.5], ("column 'c'", "float64", "decimal.Decimal")),
        ("decimal(4, 2)", [Decimal(1), 1.5], ("column 'c'", "1.5", "decimal.Decimal")),
        ("decimal(4, 2)", [Decimal("NaN")], ("column 'c'", "NaN")),
        ("decimal(4, 2)", ["1,5"], ("column 'c'", "'1,5'")),
        ("decimal(4, 2)", pa.array([1.5]), ("column 'c'", "double", "cast")),
        ("decimal(4, 2)", pa.array([Decimal("1.005")]), ("column 'c'", "decimal128(4, 3)", "Rescaling")),
        ("int64?", [1.5, None], ("column 'c'", "float64", "int64", ".astype")),
    ],
)
def test_what_does_not_fit(kind: str, values: Any, said: Fact) -> None:
    with raises(SchemaError, said):
        Batch(Schema(c=kind), {"c": values})


def test_arrow_types_without_a_kind_are_named() -> None:
    with raises(SchemaError, "column 'l'", "list<item: int64>", "list_flatten", "leave it out"):
        Schema.from_arrow(pa.schema([("l", pa.list_(pa.int64()))]))
    with raises(SchemaError, "column 'z'", "columns are a"):
        Schema.from_arrow(pa.schema([("a", pa.int64())]), nullable="z")
    with raises(SchemaError, "column 'b'", "columns are a"):
        Batch.from_arrow(Schema("b"), pa.table({"a": [1]}))


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Schema({"a": "int64"}), ("Schema('id', name='string')", "Schema.of(…)", "mapping")),
        (lambda: Schema(["a", "b"]), ("Schema('id', name='string')", "one string")),
        (lambda: Schema("a str"), ("column 'str'", "Schema(column='string')")),
        (lambda: Schema("a:int64"), ("column 'a:int64'", "Schema(column='string')")),
        (lambda: Schema("a, b"), ("column 'a,'", "Schema(column='string')")),
        (lambda: Schema("a", "b"), ("Schema('id', name='string')", "one string")),
        (lambda: Schema(a="str"), ("column 'a'", "'str'", "'string' holds")),
        (lambda: Schema(a="decimal(19, 2)"), ("column 'a'", "decimal(19, 2)", "1 to 18", "decimal(18, 2)", "float64")),
        (lambda: Schema(a="decimal(4, 5)"), ("column 'a'", "decimal(4, 5)", "behind the point")),
        (lambda: Schema(a="decimal(0, 0)"), ("column 'a'", "decimal(0, 0)", "1 to 18")),
        (lambda: Schema(a="decimal"), ("column 'a'", "'decimal'", "'decimal(18, 2)' holds")),
        (lambda: Schema(a="datetime?"), ("column 'a'", "'datetime?'", "'timestamp' holds")),
    ],
)
def test_schemas_that_are_none_are_said_as_they_should_be(make: Any, said: Fact) -> None:
    with raises(SchemaError, said):
        make()
