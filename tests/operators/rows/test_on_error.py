"""Rows that a stateless operator fails at: the run ends, or they come as a second stream."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest

import tokenring as tr
from tokenring import col

ROWS = {"k": [1, 2, 3, 4, 5], "v": [5, 0, -2, 0, 3], "name": ["5", "x", "-2", "", "3"]}


def divided(batch: tr.Batch) -> dict[str, Any]:
    return {"k": batch["k"], "q": [30 // v for v in batch["v"].tolist()]}


MADE: dict[str, tuple[Callable[..., Any], list[dict[str, Any]]]] = {
    "with_columns": (lambda rows, **how: rows.with_columns(q=30 // col("v"), **how), ["k", "v", "name", "q"]),
    "select": (lambda rows, **how: rows.select("k", q=30 // col("v"), **how), ["k", "q"]),
    "cast": (lambda rows, **how: rows.select("k", q=30 // col("name").cast("int64"), **how), ["k", "q"]),
    "filter": (lambda rows, **how: rows.filter(30 // col("v") != 99, **how), ["k", "v", "name"]),
    "map_batches": (lambda rows, **how: rows.map_batches(tr.Schema("k q"), divided, **how), ["k", "q"]),
}


def both_of(make: Callable[[Any], tuple[Any, Any]]) -> list[list[dict[str, Any]]]:
    """The rows of both streams that are made of ROWS."""

    def program(worker: tr.Worker) -> list[list[dict[str, Any]]]:
        with worker.dataflow() as scope:
            kept = [made.collect() for made in make(scope.read_arrow(pa.table(ROWS)))]
        worker.run()
        columns = [{name: column.tolist() for name, column in each.columns().items()} for each in kept]
        return [[dict(zip(each, row, strict=True)) for row in zip(*each.values(), strict=True)] for each in columns]

    return tr.execute(program, workers=1)[0]


@pytest.mark.parametrize("what", MADE)
def test_rows_that_fail_come_as_they_were_with_their_error(what: str) -> None:
    make, columns = MADE[what]

    good, failed = both_of(lambda rows: make(rows, on_error="stream"))
    rows = [dict(zip(ROWS, row, strict=True)) for row in zip(*ROWS.values(), strict=True)]
    expected = [row | {"q": 30 // row["v"]} for row in rows if row["v"]]
    assert good == [{name: row[name] for name in columns} for row in expected]
    assert [{name: row[name] for name in ROWS} for row in failed] == [row for row in rows if not row["v"]]
    assert all([row["error"] and "row 0" not in row["error"] for row in failed])


def test_without_it_the_run_ends() -> None:
    with pytest.raises(tr.OperatorError) as raised:
        tr.run(lambda scope: scope.read_arrow(pa.table(ROWS)).with_columns(q=30 // col("v")).collect(), workers=1)
    assert "division by zero" in str(raised.value)


def test_what_is_not_about_a_row_ends_the_run_all_the_same() -> None:
    with pytest.raises(tr.OperatorError) as raised:
        both_of(lambda rows: rows.map_batches(tr.Schema("a"), lambda batch: {"b": [1]}, on_error="stream"))
    assert "SchemaError" in str(raised.value)


def test_misuse_says_what_there_is() -> None:
    def wrong(scope: Any) -> Any:
        return scope.read_arrow(pa.table(ROWS)).select("k", on_error="skip")

    def taken(scope: Any) -> Any:
        return scope.read_arrow(pa.table({"error": [1]})).select(e=col("error"), on_error="stream")

    def column(scope: Any) -> Any:
        return scope.read_arrow(pa.table(ROWS)).select("k", on_error=col("k"))

    for build, said in ((wrong, "skip"), (taken, "rename"), (column, ".rename(other='on_error')")):
        with pytest.raises(tr.SchemaError) as raised:
            tr.run(build, workers=1)
        assert said in str(raised.value)
