"""Rows that a stateless operator fails at: the run ends, or they come as a second stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tokenring as tr
from tokenring import col

ROWS = {"k": [1, 2, 3, 4, 5], "v": [5, 0, -2, 0, 3], "name": ["5", "x", "-2", "", "3"]}
SCHEMA = tr.Schema("k v name:string")


def divided(batch: tr.Batch) -> dict[str, Any]:
    return {"k": batch["k"], "q": [30 // v for v in batch["v"].tolist()]}


MADE: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "with_columns": (lambda rows, **how: rows.with_columns(q=30 // col("v"), **how), ["k", "v", "name", "q"]),
    "select": (lambda rows, **how: rows.select("k", q=30 // col("v"), **how), ["k", "q"]),
    "cast": (lambda rows, **how: rows.select("k", q=30 // col("name").cast("int64"), **how), ["k", "q"]),
    "filter": (lambda rows, **how: rows.filter(30 // col("v") != 99, **how), ["k", "v", "name"]),
    "map_batches": (lambda rows, **how: rows.map_batches(tr.Schema("k q"), divided, **how), ["k", "q"]),
}


@pytest.mark.parametrize("what", MADE)
def test_rows_that_fail_come_as_they_were_with_their_error(what: str) -> None:
    make, columns = MADE[what]
    found: list[Any] = []

    def program(scope: tr.Scope) -> tuple[Any, Any]:
        good, failed = make(scope.from_rows(SCHEMA, ROWS) if hasattr(scope, "from_rows") else None, on_error="stream")
        return good.collect(), failed.collect()

    good, failed = tr.run(program, workers=1)
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    expected = [row | {"q": 30 // row["v"]} for row in rows if row["v"]]
    assert good.to_pylist() == [{name: row[name] for name in columns} for row in expected]
    told = failed.to_pylist()
    assert [{name: row[name] for name in ROWS} for row in told] == [row for row in rows if not row["v"]]
    assert all([row["error"] and "row 0" not in row["error"] for row in told])
    assert not found
