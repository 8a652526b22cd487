"""Columns as others have them, what is in them, and whether it arrives as it was or is refused.

Polars starts threads of its own, which do not go well with tests that fork: as a program, this checks what Polars gives
in a process of its own, and prints what is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc

from tokenring.engine import Batch, Schema, SchemaError
from tokenring.engine.columns.kinds import KIND_NAMES

NAN: Final = math.nan
_MONEY, _WHOLE = "decimal(18, 2)", "decimal(18, 0)"
KINDS = [*[name for name in KIND_NAMES if name != "decimal(p, s)"], _MONEY, _WHOLE]
NOON, ZONED = datetime(2026, 6, 1, 12), datetime(2026, 6, 1, 12, tzinfo=UTC)
TIMES: Final = ["2026-06-01T14:00+02:00", "2026-06-01 12:00", None]
BIG: Final = 2**53 + 1


def _with_null(values: list[Any]) -> pa.Array:
    return pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array(values))


def _dictionary(values: list[Any], kind: pa.DataType) -> pa.Array:
    return pa.array(values, kind).dictionary_encode()


def _in_oslo(unit: str) -> Any:
    return pd.Series([ZONED, None]).astype(f"datetime64[{unit}, UTC]").dt.tz_convert("Europe/Oslo")


Offered = tuple[Callable[[], Any], list[Any], str]
# What is offered, the values in it (None: null), and the kind it surely becomes ("" where none has to take it).
OFFERED: Final[dict[str, Offered]] = {
    "pandas Int64": (lambda: pd.Series([1, None, BIG], dtype="Int64"), [1, None, BIG], "int64"),
    "pandas Int8": (lambda: pd.Series([1, None], dtype="Int8"), [1, None], "int64"),
    "pandas UInt64": (lambda: pd.Series([2**63 + 1, None], dtype="UInt64"), [2**63 + 1, None], "uint64"),
    "pandas Float64": (lambda: pd.Series([1.5, None], dtype="Float64"), [1.5, None], "float64"),
    "pandas Float32": (lambda: pd.array([0.5, None], dtype="Float32"), [0.5, None], "float64"),
    "pandas float64": (lambda: pd.Series([1.5, None]), [1.5, NAN], "float64"),
    "pandas boolean": (lambda: pd.Series([True, None], dtype="boolean"), [True, None], "bool"),
    "pandas bool": (lambda: pd.Series([True, False]), [True, False], "bool"),
    "pandas string": (lambda: pd.Series(["a", None], dtype="string"), ["a", None], "string"),
    "pandas str": (lambda: pd.Series(["a", None]), ["a", None], "string"),
    "pandas object": (lambda: pd.Series(["a", NAN, None, pd.NA], dtype=object), ["a", None, None, None], "string"),
    "pandas mixed": (lambda: pd.Series([1, "a"], dtype=object), [1, "a"], ""),
    "pandas category": (lambda: pd.Series(["a", None, "a"], dtype="category"), ["a", None, "a"], "string"),
    "pandas int category": (lambda: pd.Categorical([7, None, 7]), [7, None, 7], "int64"),
    "pandas arrow int": (lambda: pd.Series([1, None], dtype="int64[pyarrow]"), [1, None], "int64"),
    "pandas arrow double": (lambda: pd.Series([1.5, None], dtype="double[pyarrow]"), [1.5, None], "float64"),
    "pandas arrow bool": (lambda: pd.Series([True, None], dtype="bool[pyarrow]"), [True, None], "bool"),
    "pandas arrow string": (lambda: pd.Series(["a", None], dtype="string[pyarrow]"), ["a", None], "string"),
    "pandas datetime": (lambda: pd.Series([NOON, None]), [ZONED, None], "timestamp"),
    "pandas Oslo": (lambda: _in_oslo("us"), [ZONED, None], "timestamp"),
    "pandas Oslo in s": (lambda: _in_oslo("s"), [ZONED, None], "timestamp"),
    "pandas index": (lambda: pd.Index([1, 2]), [1, 2], "int64"),
    "pandas period": (lambda: pd.Series(pd.period_range("2026", periods=2, freq="Y")), [None, None], ""),
    "pandas timedelta": (lambda: pd.Series([timedelta(1), None]), [timedelta(1), None], ""),
    "pandas interval": (lambda: pd.interval_range(0, 2).array, [None, None], ""),
    "pandas sparse": (lambda: pd.arrays.SparseArray([1, 0]), [1, 0], ""),
    "numpy masked": (lambda: np.ma.MaskedArray([1, 2], [False, True]), [1, None], "int64"),
    "numpy masked least": (lambda: np.ma.MaskedArray([1, -(2**63)], [False, True]), [1, None], "int64"),
    "numpy masked double": (lambda: np.ma.MaskedArray([1.5, NAN], [False, True]), [1.5, None], "float64"),
    "numpy masked text": (lambda: np.ma.MaskedArray(["a", "b"], [False, True]), ["a", None], "string"),
    "numpy masked object": (lambda: np.ma.MaskedArray(np.array([1, "b"], object), [False, True]), [1, None], "int64"),
    "numpy masked NaT": (
        lambda: np.ma.MaskedArray(np.array([NOON, "NaT"], "datetime64[us]"), [False, True]), [ZONED, None], "timestamp"
    ),
    "numpy least": (lambda: np.array([1, -(2**63)]), [1, -(2**63)], ""),
    "numpy greatest": (lambda: np.array([1, 2**64 - 1], np.uint64), [1, 2**64 - 1], ""),
    "numpy big": (lambda: np.array([BIG, 1]), [BIG, 1], "int64"),
    "numpy longdouble": (lambda: np.array([1.5], np.longdouble), [1.5], ""),
    "numpy far": (lambda: np.array(["3000-06-01"], "datetime64[s]"), [datetime(3000, 6, 1, tzinfo=UTC)], ""),
    "list": (lambda: [1, None, BIG], [1, None, BIG], "int64"),
    "list of NA": (lambda: [1, pd.NA], [1, None], "int64"),
    "list of texts and NA": (lambda: [pd.NA, "a", pd.NaT, None], [None, "a", None, None], "string"),
    "list among fractions": (lambda: [BIG, 0.5], [BIG, 0.5], ""),
    "list among fractions and None": (lambda: [BIG, 0.5, None], [BIG, 0.5, None], ""),
    "list far apart": (lambda: [1, 2**64 - 2], [1, 2**64 - 2], "uint64"),
    "list far apart and None": (lambda: [1, 2**64 - 2, None], [1, 2**64 - 2, None], "uint64"),
    "list beyond": (lambda: [2**64, None], [2**64, None], ""),
    "list of both signs": (lambda: [2**63, -1], [2**63, -1], ""),
    "list of Decimals": (lambda: [Decimal("1.5"), None], [Decimal("1.5"), None], "float64"),
    "list of whole Decimals": (lambda: [Decimal(7), None], [7, None], "int64"),
    "list of dates": (lambda: [date(2026, 6, 1), None], [datetime(2026, 6, 1, tzinfo=UTC), None], "timestamp"),
    "dates": (lambda: [date(1, 1, 1), None, date(2024, 2, 29)], [date(1, 1, 1), None, date(2024, 2, 29)], "date"),
    "pandas dates": (lambda: pd.Series([date(1969, 7, 20), None]), [date(1969, 7, 20), None], "date"),
    "pandas days": (lambda: pd.Series(pd.to_datetime(["2024-02-29", None])), [date(2024, 2, 29), None], "date"),
    "numpy dates": (lambda: np.array(["9999-12-31", "NaT"], "datetime64[D]"), [date.max, None], "date"),
    "Arrow dates": (lambda: pa.array([date.min, None, date.max]), [date.min, None, date.max], "date"),
    "Arrow dates in ms": (lambda: pa.array([date(1900, 2, 28), None], pa.date64()), [date(1900, 2, 28), None], "date"),
    "Arrow texts of dates": (lambda: pa.array(["2024-02-29", None]), ["2024-02-29", None], "date"),
    "list of texts of dates": (lambda: ["2024-02-29", None], ["2024-02-29", None], "date"),
    "Arrow days": (
        lambda: pa.array([datetime(1969, 12, 31), None], pa.timestamp("ms")),
        [datetime(1969, 12, 31, tzinfo=UTC), None], "date",
    ),
    "list of no dates": (lambda: ["2023-02-29"], ["2023-02-29"], "string"),
    "list of far days": (lambda: [2932897], [2932897], "int64"),
    "decimals": (lambda: [Decimal("-1.5"), None, 7, "0.25"], [Decimal("-1.5"), None, 7, Decimal("0.25")], _MONEY),
    "most decimal": (lambda: [Decimal("9999999999999999.99")], [Decimal("9999999999999999.99")], _MONEY),
    "pandas decimals": (lambda: pd.Series([Decimal("1.5"), None]), [Decimal("1.5"), None], _MONEY),
    "Arrow decimals": (lambda: pa.array([Decimal("1.50"), None]), [Decimal("1.50"), None], _MONEY),
    "Arrow wide decimals": (
        lambda: pa.array([Decimal("1.50"), None], pa.decimal256(60, 4)), [Decimal("1.50"), None], _MONEY
    ),
    "Arrow narrow decimals": (
        lambda: pa.array([Decimal("-1.50"), None], pa.decimal64(12, 2)), [Decimal("-1.50"), None], _MONEY
    ),
    "Arrow decimals beyond": (lambda: pa.array([Decimal(10) ** 16]), [Decimal(10) ** 16], _WHOLE),
    "list of decimals beyond": (lambda: [Decimal(10) ** 18], [Decimal(10) ** 18], ""),
    "list of long decimals": (lambda: [Decimal("0.005")], [Decimal("0.005")], "float64"),
    "Arrow texts of decimals": (lambda: pa.array(["-0.05", None]), ["-0.05", None], _MONEY),
    "numpy numbers": (lambda: np.array([-7, 10**15]), [-7, 10**15], _MONEY),
    "list of no number": (lambda: [Decimal("NaN")], [NAN], ""),
    "list of far times": (lambda: [datetime(3000, 6, 1)], [datetime(3000, 6, 1, tzinfo=UTC)], ""),
    "list of far dates": (lambda: [date(3000, 6, 1)], [datetime(3000, 6, 1, tzinfo=UTC)], ""),
    "list of pandas times": (lambda: [pd.Timestamp(1), pd.NaT], [1, None], "timestamp"),
    "list of numpy times": (lambda: [np.datetime64(NOON), None], [ZONED, None], "timestamp"),
    "list of texts of times": (lambda: TIMES, TIMES, "timestamp"),
    "list of far texts": (lambda: ["3000-06-01"], ["3000-06-01"], "string"),
    "Arrow chunked": (lambda: pa.chunked_array([[1], [None, BIG]]), [1, None, BIG], "int64"),
    "Arrow dictionary": (lambda: _dictionary(["a", None, "a"], pa.string()), ["a", None, "a"], "string"),
    "Arrow dictionary of numbers": (lambda: _dictionary([7, None, 7], pa.int16()), [7, None, 7], "int64"),
    "Arrow null in a dictionary": (
        lambda: pa.DictionaryArray.from_arrays(pa.array([0, 1]), pa.array([None, "a"])), [None, "a"], "string"
    ),
    "Arrow chunks of dictionaries": (
        lambda: pa.chunked_array([_dictionary(["a"], pa.string()), _dictionary(["b", None], pa.string())]),
        ["a", "b", None], "string",
    ),
    "Arrow chunks of dictionaries with nulls": (
        lambda: pa.chunked_array([_with_null(["a", None]), _with_null([None, "b"])]), ["a", None, None, "b"], "string"
    ),
    "Arrow chunks of dictionaries of numbers with nulls": (
        lambda: pa.chunked_array([_with_null([7, None]), _with_null([None, 8])]), [7, None, None, 8], "int64"
    ),
    "Arrow runs": (lambda: pc.run_end_encode(pa.array([1, 1, None])), [1, 1, None], "int64"),
    "Arrow runs of text": (lambda: pc.run_end_encode(pa.array(["a", "a", None])), ["a", "a", None], "string"),
    "Arrow chunks of runs": (
        lambda: pa.chunked_array([pc.run_end_encode(pa.array(part, pa.float64())) for part in ([1.5], [None])]),
        [1.5, None], "float64",
    ),
    "Arrow view": (lambda: pa.array(["a", None], pa.string_view()), ["a", None], "string"),
    "Arrow fixed binary": (lambda: pa.array([b"ab", None], pa.binary(2)), [b"ab", None], "bytes"),
    "Arrow least": (lambda: pa.array([-(2**63), 1]), [-(2**63), 1], ""),
    "Arrow least time": (lambda: pa.array([-(2**63)]).cast(pa.timestamp("ns")), [-(2**63)], ""),
    "Arrow seconds": (lambda: pa.array([NOON, None], pa.timestamp("s")), [ZONED, None], "timestamp"),
    "Arrow in New York": (lambda: pa.array([ZONED], pa.timestamp("us", "America/New_York")), [ZONED], "timestamp"),
    "Arrow far": (lambda: pa.array([datetime(3000, 6, 1)], pa.timestamp("s")), [datetime(3000, 6, 1, tzinfo=UTC)], ""),
    "Arrow decimal": (lambda: pa.array([Decimal("0.10"), None]), [Decimal("0.10"), None], "float64"),
    "Arrow long decimal": (
        lambda: pa.array([Decimal("0.1")], pa.decimal128(38, 18)), [Decimal("0.1")], "float64"
    ),
    "Arrow big decimal": (lambda: pa.array([Decimal(BIG)]), [BIG], "int64"),
    "Arrow half": (lambda: pa.array([np.float16(0.5), None], pa.float16()), [0.5, None], "float64"),
    "Arrow big": (lambda: pa.array([BIG, None]), [BIG, None], "int64"),
    "Arrow duration": (lambda: pa.array([timedelta(1)]), [timedelta(1)], ""),
    "Arrow text": (lambda: pa.array(["1", "true"]), ["1", "true"], "string"),
    "Arrow bits": (lambda: pa.array([True, None]), [True, None], "bool"),
}  # fmt: skip


def of_polars() -> dict[str, Offered]:
    """The same by Polars, which is imported only here."""
    import polars as pl

    return {
        "Int64": (lambda: pl.Series([1, None, BIG]), [1, None, BIG], "int64"),
        "UInt64": (lambda: pl.Series([2**64 - 1, None], dtype=pl.UInt64), [2**64 - 1, None], ""),
        "UInt8": (lambda: pl.Series([1, None], dtype=pl.UInt8), [1, None], "uint64"),
        "Float64": (lambda: pl.Series([1.5, None, NAN]), [1.5, None, NAN], "float64"),
        "Float32": (lambda: pl.Series([0.5, None], dtype=pl.Float32), [0.5, None], "float64"),
        "Boolean": (lambda: pl.Series([True, None]), [True, None], "bool"),
        "String": (lambda: pl.Series(["a", None]), ["a", None], "string"),
        "Categorical": (lambda: pl.Series(["a", None], dtype=pl.Categorical), ["a", None], "string"),
        "Enum": (lambda: pl.Series(["a", None], dtype=pl.Enum(["a"])), ["a", None], "string"),
        "Binary": (lambda: pl.Series([b"ab", None]), [b"ab", None], "bytes"),
        "Datetime": (lambda: pl.Series([NOON, None]), [ZONED, None], "timestamp"),
        "in ms": (lambda: pl.Series([NOON, None], dtype=pl.Datetime("ms", "Asia/Tokyo")), [ZONED, None], ""),
        "Date": (lambda: pl.Series([date(2026, 6, 1), None]), [datetime(2026, 6, 1, tzinfo=UTC), None], "timestamp"),
        "far Date": (lambda: pl.Series([date(3000, 6, 1)]), [datetime(3000, 6, 1, tzinfo=UTC)], ""),
        "Time": (lambda: pl.Series([time(1), None]), [time(1), None], ""),
        "Duration": (lambda: pl.Series([timedelta(1), None]), [timedelta(1), None], ""),
        "short Decimal": (
            lambda: pl.Series([Decimal("1.50"), None], dtype=pl.Decimal(5, 2)), [Decimal("1.50"), None], _MONEY
        ),
        "Dates": (lambda: pl.Series([date(1, 1, 1), None]), [date(1, 1, 1), None], "date"),
        "Decimal": (lambda: pl.Series([Decimal("1.50"), None]), [Decimal("1.50"), None], "float64"),
        "Int128": (lambda: pl.Series([1, None], dtype=pl.Int128), [1, None], ""),
        "Null": (lambda: pl.Series([None, None]), [None, None], "int64"),
        "List": (lambda: pl.Series([[1], None]), [[1], None], ""),
    }  # fmt: skip


def check(offered: Offered, kind: str, nullable: bool) -> str:
    """What is wrong with a column of this kind that is made of what is offered; "" if nothing is."""
    make, expected, surely = offered
    try:
        batch = Batch(Schema.of({"c": f"{kind}?" if nullable else kind}), {"c": make()})
    except SchemaError as error:
        if kind == surely and (nullable or None not in expected):
            return f"refused: {error}"
        return "" if "column 'c'" in str(error) else f"an error without the column: {error}"
    found = _values(batch, kind)
    same = [_same(kind, one, other) for one, other in zip(expected, found, strict=True)]
    return "" if all(same) else f"it became {found}"


def _same(kind: str, expected: Any, found: Any) -> bool:
    """Whether a value is what was offered; a decimal's nearest double, if it has few digits, counts as it."""
    if expected is None or found is None:
        return expected is found
    if isinstance(expected, float) and math.isnan(expected):
        return isinstance(found, float) and math.isnan(found)
    if kind == "timestamp":
        if isinstance(expected, str):
            expected = datetime.fromisoformat(expected)
            expected = expected if expected.tzinfo else expected.replace(tzinfo=UTC)
        if isinstance(expected, date) and not isinstance(expected, datetime):
            expected = datetime(expected.year, expected.month, expected.day, tzinfo=UTC)
        if isinstance(expected, datetime):
            expected = int((expected - datetime(1970, 1, 1, tzinfo=UTC)).total_seconds()) * 10**9
        return bool(found == expected)
    if kind == "date":
        expected = date.fromisoformat(expected) if isinstance(expected, str) else expected
        if isinstance(expected, datetime):
            return bool(expected == datetime(found.year, found.month, found.day, tzinfo=UTC))
        return bool(found == (date(1970, 1, 1) + timedelta(expected) if isinstance(expected, int) else expected))
    if kind in (_MONEY, _WHOLE):
        return bool(found == Decimal(expected))
    if kind in ("string", "bytes") and isinstance(expected, date):
        return False
    if isinstance(expected, Decimal):
        return found == float(expected) if isinstance(found, float) else Decimal(found) == expected
    if kind in ("string", "bytes"):
        expected = expected.decode(errors="replace") if isinstance(expected, bytes) else str(expected)
        return bool(found == (expected if kind == "string" else expected.encode()))
    return bool(found == expected) and not isinstance(expected, str | bytes | list | timedelta | time | date)


def _values(batch: Batch, kind: str) -> list[Any]:
    words = batch.words("c") if kind == "timestamp" else batch["c"]
    return [None if null else value for null, value in zip(batch.nulls("c").tolist(), words.tolist(), strict=True)]


if __name__ == "__main__":
    for name, column in of_polars().items():
        for each in KINDS:
            for may_be_null in (False, True):
                if fault := check(column, each, may_be_null):
                    print(f"polars {name} as {each}{'?' if may_be_null else ''}: {fault}")
