"""A Parquet source reads the columns that somebody looks at, found by what follows it, and no others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.errors import raises
from tests.operators.sources.helpers import run
from tokenring.engine import Batch, Schema, SchemaError, Scope, Stream
from tokenring.operators import (
    Count,
    Expression,
    Max,
    Sum,
    Tumbling,
    aggregate,
    col,
    exchange,
    filter,
    join,
    map_batches,
    read_arrow,
    read_parquet,
    rename,
    select,
    top,
    union,
    when,
    with_columns,
)
from tokenring.operators.expressions.terms import columns_of
from tokenring.operators.expressions.typed import typed

ROWS = 300
TABLE = pa.table(
    {
        "a": range(ROWS),
        "b": [row % 7 for row in range(ROWS)],
        "c": [float(row % 5) for row in range(ROWS)],
        "at": [row * 10 for row in range(ROWS)],
        "name": [f"n{row % 3}" for row in range(ROWS)],
        "note": [None if row % 11 == 0 else f"note {row}" for row in range(ROWS)],
    }
)
ALL = TABLE.schema.names

PROGRAMS: dict[str, tuple[Callable[[Stream], Stream], str]] = {
    "an aggregate": (lambda rows: aggregate(rows, "b", most=Max("a"), emit="final"), "a b"),
    "by text": (lambda rows: aggregate(rows, "name", n=Count(), notes=Count("note"), emit="final"), "name note"),
    "of all rows": (lambda rows: aggregate(rows, n=Count(), emit="final"), "a"),
    "windows": (lambda rows: aggregate(rows, "b", window=Tumbling("at", 500, start=None), n=Count()), "at b"),
    "a condition": (lambda rows: aggregate(rows, "b", n=Count(where=col("c") > 2), emit="final"), "b c"),
    "a choice": (lambda rows: select(rows, "a", x=col("c") * 2), "a c"),
    "what is filtered": (lambda rows: select(filter(rows, col("note").is_not_null()), "a"), "a note"),
    "a quick filter": (lambda rows: select(filter(rows, "b", ">", 3), "a"), "a b"),
    "names that change": (lambda rows: select(rename(rows, a="b", b="a"), "a"), "b"),
    "what may fail": (lambda rows: select(with_columns(rows, unused=col("a") // (col("b") + 1)), "c"), "a b c"),
    "chosen by cases": (
        lambda rows: select(
            rows, x=when(col("b") == 1).then(col("c")).when(col("name") == "n1").then(1.0).otherwise(0.0)
        ),
        "b c name",
    ),
    "two who look": (lambda rows: union(select(rows, x=col("a")), select(rows, x=col("b"))), "a b"),
    "a join": (
        lambda rows: join(select(rows, "a", "b"), select(rows, "a", "name"), on="a", columns="b name"), "a b name"
    ),
    "an exchange": (lambda rows: select(exchange(rows, "b"), "a"), " ".join(ALL)),
    "the best": (lambda rows: select(top(rows, "b", order="a", k=1, emit="final"), "a"), " ".join(ALL)),
    "a function": (lambda rows: map_batches(rows, Schema("a"), lambda batch: batch.select(Schema("a"))), " ".join(ALL)),
    "a function behind a choice": (
        lambda rows: map_batches(select(rows, "a", "b"), Schema("a"), lambda batch: batch.select(Schema("a"))), "a b"
    ),
    "everything": (lambda rows: rows, " ".join(ALL)),
}  # fmt: skip


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("columns") / "rows.parquet"
    pq.write_table(TABLE, path, row_group_size=100)
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> set[str]:
    """The columns that pyarrow is asked for."""
    asked: set[str] = set()
    for name in ("iter_batches", "read_row_group"):
        whole = getattr(pq.ParquetFile, name)

        def noted(file: Any, *arguments: Any, columns: list[str], whole: Any = whole, **more: Any) -> Any:
            asked.update(columns)
            return whole(file, *arguments, columns=columns, **more)

        monkeypatch.setattr(pq.ParquetFile, name, noted)
    return asked


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("name", PROGRAMS)
def test_what_is_read(file: Path, asked: set[str], name: str, workers: int) -> None:
    program, columns = PROGRAMS[name]
    made = run(lambda scope: program(read_parquet(scope, file, time="at", batch_rows=30)), workers)
    assert asked == {*columns.split(), "at"}
    whole = run(lambda scope: program(_whole(scope, file)), workers)
    assert sorted(row for _, _, row in made.rows) == sorted(row for _, _, row in whole.rows)


def _whole(scope: Scope, file: Path) -> Stream:
    """The same rows, all columns of which are read."""
    rows = read_parquet(scope, file, time="at", batch_rows=30)
    return map_batches(rows, rows.schema, lambda batch: batch)


def test_rows_that_come_late_are_whole(tmp_path: Path, asked: set[str]) -> None:
    """A second stream has the same columns, and may be all that looks at some."""
    times = [1000 if row < 50 else row for row in range(ROWS)]
    pq.write_table(TABLE.set_column(3, "at", pa.array(times)), tmp_path / "rows.parquet", write_statistics=False)

    def declare(scope: Scope) -> Stream:
        rows, late = read_parquet(scope, tmp_path, time="at", disorder=0, late=True, batch_rows=30)
        return union(select(rows, x=col("a")), select(late, x=col("b")))

    made = run(declare)
    assert asked == {"a", "b", "at"}
    assert sorted(row[0] for _, _, row in made.rows) == sorted([*range(50), *(row % 7 for row in range(50, ROWS))])


EXPRESSIONS: list[Expression] = [
    col("a") + col("b") * 2,
    (col("c") > 1) & (col("name") == "n1") | ~(col("a") == 2),
    when(col("b") == 1).then(col("a")).when(col("c") > 2).then(col("at")).otherwise(0),
    col("note").fill_null("none").length(),
    col("name").lower().split_part("n", 2),
    col("a").is_in([1, 2, 3]),
    col("note").is_null(),
    col("a").cast("float64") / col("c"),
    col("at").between(col("a"), col("b")),
]


@pytest.mark.parametrize("expression", EXPRESSIONS, ids=repr)
def test_columns_of_a_term_are_those_of_its_expression(expression: Expression) -> None:
    schema = Schema.of({"a": "int64", "b": "int64", "c": "float64", "at": "int64", "name": "string", "note": "string?"})
    assert columns_of(typed(expression, schema, "test")) == set(expression.columns)


class _Given:
    """A function of a user's that happens to have a method of that name."""

    def __call__(self, batch: Batch) -> Batch:
        return batch

    def reads(self, wanted: set[str]) -> set[str]:
        return set()


def test_what_a_function_of_a_user_says_is_not_asked(file: Path, asked: set[str]) -> None:
    made = run(lambda scope: (rows := read_parquet(scope, file)).apply("given", rows.schema, _Given()))
    assert asked == set(ALL)
    assert sorted(row for _, _, row in made.rows) == [tuple(row.values()) for row in TABLE.to_pylist()]


def test_an_aggregate_of_one_column_leaves_the_others(file: Path, asked: set[str]) -> None:
    made = run(lambda scope: aggregate(read_parquet(scope, file), "b", total=Sum("a"), emit="final"))
    assert asked == {"a", "b"}
    expected = {key: sum(row for row in range(ROWS) if row % 7 == key) for key in range(7)}
    assert {row[0]: row[1] for _, _, row in made.rows} == expected


def test_columns_of_one_name_are_refused(tmp_path: Path) -> None:
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2]), pa.array([3])], names=["a", "b", "a"])
    pq.write_table(twice, tmp_path / "rows.parquet")
    with raises(SchemaError, "source 'read_arrow'", "not named apart: a", "rename"):
        read_arrow(Scope("twice"), twice)
    for columns in (None, "a", "a b"):
        with raises(SchemaError, "source 'read_parquet'", "rows.parquet", "not named apart: a", "columns="):
            read_parquet(Scope("twice"), tmp_path / "rows.parquet", columns=columns)
    assert read_parquet(Scope("twice"), tmp_path / "rows.parquet", columns="b").schema.names == ("b",)
