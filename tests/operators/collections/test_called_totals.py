"""Totals that functions make, of rows that come and go, beside numpy at every time."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.collections.harness import TIMES, at, made_up, run

UPDATES = tr.Schema("k v time times")


def _start(state: Any) -> None:
    state.mark, state.count = 0, 0


def _add(state: Any, value: Any, weight: Any) -> None:
    if weight == 13:
        raise ValueError("13")
    state.mark += value * weight
    state.count += 1


def _combine(state: Any, other: Any) -> None:
    state.mark += other.mark
    state.count += other.count


def _result(state: Any) -> Any:
    if state.count == 0 or state.mark == 99 * 100:
        raise ValueError("of a key without rows, or of 99")
    return state.mark if state.count % 2 == 0 else None


PRODUCTS = tr.OwnAggregate(
    "products", state=[("mark", "int64"), ("count", "int64")], takes=("int64", "int64"), gives="int64?", init=_start,
    update=_add, combine=_combine, finalize=_result,
)  # fmt: skip

TOTALS: dict[str, tuple[Any, Callable[[np.ndarray], Any]]] = {
    "n": (tr.Count(), len),
    "variance": (tr.Variance("v"), lambda v: np.var(v, ddof=1) if len(v) > 1 else None),
    "large": (tr.StdDev("v", where=tr.col("v") > 1, ddof=0), lambda v: np.std(v[v > 1]) if (v > 1).any() else None),
    "most": (tr.ArgMax(tr.col("v") * 10, by="v"), lambda v: max(v) * 10),
    "least": (tr.ArgMin("v", by=tr.col("v") * 2), min),
    "of_key": (tr.ArgMax("v", by="k"), min),  # all are equal: the first in order
    "above": (
        tr.ArgMin("v", tr.when(tr.col("v") > 1).then(tr.col("v"))), lambda v: min(v[v > 1]) if (v > 1).any() else None,
    ),
    "median": (tr.ApproxQuantile("v"), lambda v: np.quantile(v, 0.5, method="lower")),
    "products": (PRODUCTS("v", tr.col("v") + 1), lambda v: sum(v * (v + 1)) if len(v) % 2 == 0 else None),
}


def expected(updates: list[tuple[int, ...]], time: int) -> list[tuple[Any, ...]]:
    found: dict[int, list[int]] = {}
    for (key, value), often in at(updates, time).items():
        found.setdefault(key, []).extend([value] * often)
    return [
        (key, *[oracle(np.array(sorted(values))) for _, oracle in TOTALS.values()]) for key, values in found.items()
    ]


def there(changes: list[tuple[Any, ...]], time: int) -> list[tuple[Any, ...]]:
    """The rows that are there, of changes with NaN for null."""
    return list(at([tuple(None if value != value else value for value in row) for row in changes], time).elements())


def as_one_says(rows: list[tuple[Any, ...]]) -> list[Any]:
    return sorted([[None if value is None else round(float(value), 9) for value in row] for row in rows], key=repr)


@pytest.mark.parametrize(("workers", "seed"), [(1, 1), (2, 2)])
def test_at_every_time_of_what_is_there_then(workers: int, seed: int) -> None:
    updates = made_up(seed, 150, keys=3, values=4)

    def build(rows: tr.Collection) -> tr.Collection:
        return rows.aggregate("k", **{name: total for name, (total, _) in TOTALS.items()})

    changes = run([list(updates)], build, workers, seed)
    for time in range(TIMES):
        found, right = as_one_says(there(changes, time)), as_one_says(expected(list(updates), time))
        assert len(found) == len(right)
        for row, other in zip(found, right, strict=True):
            assert [value is None for value in row] == [value is None for value in other]
            median = list(TOTALS).index("median") + 1
            assert row[:median] + row[median + 1 :] == other[:median] + other[median + 1 :]
            assert row[median] == pytest.approx(other[median], rel=0.0100001)


def test_in_a_loop() -> None:
    """Round by round, until each key has its greatest value alone."""
    updates = made_up(4, 60)
    changes = run(
        [list(updates)], lambda rows: rows.iterate(lambda inner, _: inner.aggregate("k", v=tr.ArgMax("v", "v"))), 1, 4
    )
    for time in range(TIMES):
        best: dict[int, int] = {}
        for key, value in at(list(updates), time):
            best[key] = max(value, best.get(key, value))
        assert sorted(there(changes, time)) == sorted(best.items())


def test_a_row_that_is_there_very_often_is_added_once() -> None:
    often, updates = 2**40 + 1, [(1, 5, 0, 2**40 + 1), (1, 8, 0, 1), (1, 8, 1, -1)]
    totals = {"spread": tr.Variance("v", ddof=0), "median": tr.ApproxQuantile("v"), "most": tr.ArgMax("v", "v")}
    changes = run([list(updates)], lambda rows: rows.aggregate("k", n=tr.Count(), **totals), 1, 0)
    ((_, n, spread, median, most),) = there(changes, 0)
    assert (n, most) == (often + 1, 8)
    assert spread == pytest.approx(9 / (often + 1), rel=1e-9)
    assert median == pytest.approx(5, rel=0.01)
    assert there(changes, 1) == [(1, often, 0.0, 5.0, 5)]


@pytest.mark.parametrize(
    ("value", "times", "weight"),
    [(12, 1, 13), (99, 1, 100), (2**62, 2, -1)],
    ids=["update raises", "finalize raises", "finalize gives the number that stands for null"],
)
def test_where_a_function_fails_the_key_is_told(value: int, times: int, weight: int) -> None:
    totals = {"n": tr.Count(), "m": tr.Variance("v"), "p": PRODUCTS("v", tr.lit(weight)), "q": tr.ArgMax("v", "v")}
    said = "a function of products (p) raised, or its finalize returned what int64? cannot hold, such as", str(-(2**63))
    with raises(tr.OperatorError, "'told'", {"at 0 key k=1 has", "at (0,) key k=1 has"}, said, "let it return None"):
        run([[(1, value, 0, times), (2, 1, 0, 1)]], lambda rows: rows.aggregate("k", "told", **totals), 1, 0)


def test_declared_amiss() -> None:
    def refused(total: Any) -> None:
        run([[]], lambda rows: rows.with_columns(name=tr.lit("x")).aggregate("k", "told", made=total), 1, 0)

    with raises(tr.SchemaError, "operator 'told'", "made", "ArgMax", "'name'", "string", "top"):
        refused(tr.ArgMax("name", "v"))
    with raises(tr.SchemaError, "operator 'told'", "made", "Variance", "First"):
        refused(tr.First("v"))
