"""Variance and StdDev beside exact arithmetic of fractions."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.folds.own.modes import MODES, ROW, ROWS, Row, assert_alike, results
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError
from tokenring.operators import StdDev, Variance, aggregate, col

AGGREGATES = {
    "of_values": Variance("value"),
    "of_shares": Variance("share", ddof=0),
    "of_wide": StdDev("wide"),
    "sided": StdDev("value", where=col("side"), ddof=0),
    "of_sums": Variance(col("value") + 1),
}


def exact(values: list[Any], ddof: int) -> float | None:
    if len(values) <= ddof:
        return None
    if any(math.isnan(value) for value in values):
        return math.nan
    mean = sum(map(Fraction, values)) / len(values)
    return float(sum((Fraction(value) - mean) ** 2 for value in values) / (len(values) - ddof))


def root(variance: float | None) -> float | None:
    return None if variance is None else math.sqrt(variance)


def present(rows: list[Row], at: int) -> list[Any]:
    return [row[at] for row in rows if row[at] is not None]


ORACLES = [
    lambda rows: exact(present(rows, 2), 1),
    lambda rows: exact([row[3] for row in rows], 0),
    lambda rows: root(exact([float(row[4]) for row in rows], 1)),
    lambda rows: root(exact(present([row for row in rows if row[5]], 2), 0)),
    lambda rows: exact(present(rows, 2), 1),
]


@settings(max_examples=examples(30))
@given(
    rows=st.lists(ROW, max_size=30), mode=st.sampled_from(sorted(MODES)), workers=st.integers(1, 2),
)  # fmt: skip
def test_as_fractions_have_it(rows: list[Row], mode: str, workers: int) -> None:
    rows.sort(key=lambda row: row[0] // 5)
    found = results(mode, AGGREGATES, rows, workers)
    assert_alike(found, ORACLES, MODES[mode][1](rows))


@pytest.mark.parametrize("workers", [1, 2])
def test_far_from_zero(workers: int) -> None:
    """A small spread around a large mean, where the mean of squares less the square of the mean has no digit left."""
    values = 1e9 + np.random.default_rng(3).normal(0, 1e-3, 4000)
    rows: list[Row] = [(at // 100, at % 2 + 1, None, value, 0, True) for at, value in enumerate(values.tolist())]
    for mode in ("final", "sliding", "batch"):
        found = results(mode, {"share": Variance("share")}, rows, workers, size=500)
        for key, group in MODES[mode][1](rows).items():
            expected = exact([row[3] for row in group], 1)
            assert expected is not None
            assert math.isclose(found[key][0], expected, rel_tol=1e-9)


def test_declared_amiss() -> None:
    with raises(SchemaError, "ddof=-1", "Variance"):
        Variance("value", ddof=-1)
    text = Schema.of({"at": "int64", "name": "string"})
    with (
        raises(SchemaError, "operator 'aggregate'", "spread", "StdDev", "'name'", "string", "float64", "reduce"),
        bench([text], lambda rows: aggregate(rows, spread=StdDev("name"))),
    ):
        pass
    with raises(SchemaError, "'valeu'", "'value'"), bench([ROWS], lambda rows: aggregate(rows, v=Variance("valeu"))):
        pass
