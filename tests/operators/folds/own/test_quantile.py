"""ApproxQuantile beside exact quantiles of numpy: within the stated error, whatever the order and the workers."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.folds.own.modes import MODES, ROW, Row, results
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError
from tokenring.operators import ApproxQuantile, aggregate, col

PARTS = (0, 0.1, 0.5, 0.99, 1)
SCHEMA = Schema.of({"key": "int64", "share": "float64"})


def exact(values: np.ndarray, q: float) -> float:
    return float(np.quantile(values, q, method="lower"))


def sketched(values: np.ndarray, workers: int = 1, size: int = 1000) -> list[float]:
    """The PARTS of all values."""
    parts = {f"q{at}": ApproxQuantile("share", q) for at, q in enumerate(PARTS)}
    with bench(
        [SCHEMA], lambda rows: aggregate(rows, "key", emit="final", **parts), workers, queue_bytes=1 << 18
    ) as made:
        for number, start in enumerate(range(0, len(values), size)):
            part = values[start : start + size]
            made.send({"key": np.zeros(len(part), np.int64), "share": part}, worker=number % workers)
            made.settle()
        made.close()
        ((_, _, _, *found),) = made.rows
        return found


DICE = np.random.default_rng(7)
VALUES: dict[str, tuple[np.ndarray, float]] = {  # and the error that is stated
    "uniform": (DICE.uniform(1, 20_000, 20_000), 0.01),
    "log-normal": (DICE.lognormal(0, 3, 20_000), 0.02),
    "both signs": (DICE.normal(0, 1, 20_000), 0.02),
    "wide": (10.0 ** DICE.uniform(0, 17, 5000), 0.04),
    "widest": (10.0 ** DICE.uniform(-300, 300, 5000), 0.7),
    "integers": (DICE.integers(-50, 50, 3000).astype(np.float64), 0.01),
    "one value": (np.full(2000, 1234.5), 0.0),
    "few": (np.array([3.0, -7.0, 0.0]), 0.01),
    "not numbers": (np.array([math.nan, 1.0, math.nan, 2.0, 3.0]), 0.01),
    "infinite": (np.array([-math.inf, -1.0, 0.0, 1.0, math.inf]), 0.01),
}


@pytest.mark.parametrize("name", VALUES)
def test_within_the_stated_error(name: str) -> None:
    values, error = VALUES[name]
    for q, found in zip(PARTS, sketched(values), strict=True):
        expected = exact(values[~np.isnan(values)], q)
        assert found == expected or abs(found - expected) <= error * abs(expected) * (1 + 1e-9), (q, found, expected)


@pytest.mark.parametrize("name", ["log-normal", "wide", "both signs"])
def test_neither_order_nor_workers_matter(name: str) -> None:
    values = VALUES[name][0][:4000]
    once = sketched(values)
    assert sketched(np.sort(values)[::-1].copy()) == once
    assert sketched(values, workers=2, size=77) == once


@settings(max_examples=examples(30))
@given(
    rows=st.lists(ROW, max_size=30), mode=st.sampled_from(sorted(MODES)), workers=st.integers(1, 2),
)  # fmt: skip
def test_in_all_modes(rows: list[Row], mode: str, workers: int) -> None:
    rows.sort(key=lambda row: row[0] // 5)
    aggregates = {
        "of_values": ApproxQuantile("value", 0.25), "of_shares": ApproxQuantile("share"),
        "sided": ApproxQuantile(col("wide"), q=0.75, where=col("side")),
    }  # fmt: skip
    found, groups = results(mode, aggregates, rows, workers), MODES[mode][1](rows)
    assert set(found) == set(groups)
    for key, group in groups.items():
        columns: list[tuple[list[Any], float]] = [
            ([row[2] for row in group if row[2] is not None], 0.25), ([row[3] for row in group], 0.5),
            ([float(row[4]) for row in group if row[5]], 0.75),
        ]  # fmt: skip
        for one, (values, q) in zip(found[key], columns, strict=True):
            numbers = [value for value in values if value == value]
            if numbers:
                assert math.isclose(one, exact(np.array(numbers), q), rel_tol=0.0100001), (key, one, numbers)
            else:
                assert one != one


def test_no_value_is_null_and_no_number_is_nan() -> None:
    def declared(rows: Any) -> Any:
        made = aggregate(
            rows, "key", emit="final", some=ApproxQuantile("share"), none=ApproxQuantile("share", where=col("key") > 9)
        )
        assert str(made.schema.kind("some")) == "float64"
        return made.with_columns(is_null=col("none").is_null()) if hasattr(made, "with_columns") else made

    with bench([SCHEMA], declared) as made:
        made.send({"key": [1, 1], "share": [math.nan, math.nan]})
        made.close()
        ((_, _, _, some, none, *_),) = made.rows
    assert math.isnan(some)
    assert none is None or math.isnan(none)


def test_declared_amiss() -> None:
    for q in (-0.1, 1.5, "median"):
        with raises(SchemaError, "ApproxQuantile", f"q={q!r}", "0.5"):
            ApproxQuantile("share", q)  # type: ignore[arg-type]
    schema = Schema.of({"at": "timestamp"})
    with (
        raises(SchemaError, "operator 'aggregate'", "ApproxQuantile", "'at'", "timestamp", "cast"),
        bench([schema], lambda rows: aggregate(rows, q=ApproxQuantile("at"))),
    ):
        pass
