"""Aggregates of lists of rows in plain Python: what the operators are compared with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from hypothesis import strategies as st

from tokenring.engine import Schema
from tokenring.operators import Count, CountDistinct, First, Last, Max, Mean, Min, Sum, col
from tokenring.operators.folds.functions import Aggregate

ROWS = Schema("at", key="string?", side="bool", value="int64?", share="float64", wide="uint64", name="string?")
ROW = st.tuples(
    st.integers(0, 60),
    st.sampled_from(["a", "bb", "a longer key than eight", None]),
    st.booleans(),
    st.one_of(st.none(), st.integers(-50, 50)),
    st.sampled_from([0.5, -1.25, 3.0]),
    st.sampled_from([0, 7, 2**63 + 1]),
    st.sampled_from(["x", "yy", "zzzzzzzzzz", None]),
)
Row = tuple[Any, ...]
Rows = list[Row]


def as_columns(rows: Rows) -> dict[str, Any]:
    columns: dict[str, Any] = {name: [row[at] for row in rows] for at, name in enumerate(ROWS.names)}
    return columns | {"wide": np.array(columns["wide"], np.uint64)}


def on_side(batch: Any) -> Any:
    return batch["side"]


def aggregates(merging: bool = True) -> dict[str, Aggregate]:
    """One of each, and some with conditions."""
    return {
        "n": Count(),
        "present": Count("value"),
        "on_side": Count(where=on_side),
        "total": Sum("value"),
        "sided": Sum("value", where=col("side")),
        "shares": Sum("share"),
        "mean": Mean("value"),
        "low": Min("value"),
        "high": Max("value", where=col("side") & (col("value") > -1000)),
        "top_share": Max("share"),
        "widest": Max("wide"),
        "narrowest": Min("wide"),
        "first": First("name", order="at"),
        "last": Last("value", where=on_side, order="at"),
    } | (
        {}
        if merging
        else {
            "different": CountDistinct("value"),
            "names": CountDistinct("name", where=on_side),
            "sided_different": CountDistinct("value", where=col("side")),
        }
    )


def expected(rows: Rows, merging: bool = True) -> Row:
    """What `aggregates` are for rows, in the order of arrival."""
    columns = {name: [row[at] for row in rows] for at, name in enumerate(ROWS.names)}
    sided = [row for row in rows if row[2]]
    values = _some(columns["value"])
    sided_values = _some(row[3] for row in sided)
    named = [(row[0], row[6]) for row in rows if row[6] is not None]
    ordered = [(row[0], row[3]) for row in sided if row[3] is not None]
    found: Row = (
        len(rows),
        len(values),
        len(sided),
        sum(values) if values else None,
        sum(sided_values) if sided_values else None,
        sum(columns["share"]),
        sum(values) / len(values) if values else None,
        min(values, default=None),
        max(sided_values, default=None),
        max(columns["share"]),
        max(columns["wide"]),
        min(columns["wide"]),
        min(named, key=lambda pair: pair[0])[1] if named else None,
        max(reversed(ordered), key=lambda pair: pair[0])[1] if ordered else None,
    )
    return (
        found
        if merging
        else (*found, len(set(values)), len(set(_some(row[6] for row in sided))), len(set(sided_values)))
    )


def _some(values: Iterable[Any]) -> list[Any]:
    return [value for value in values if value is not None]


def groups(rows: Rows, *by: int) -> dict[Row, Rows]:
    """Rows by the columns at these positions."""
    found: dict[Row, Rows] = {}
    for row in rows:
        found.setdefault(tuple(row[at] for at in by), []).append(row)
    return found


def without_nan(row: Row) -> Row:
    """Null floats are NaN; None compares."""
    return tuple(None if value != value else value for value in row)
