"""TPC-H as collections, beside DuckDB over the same tables, at every epoch."""

from __future__ import annotations

from datetime import date, datetime
from decimal import Decimal
from pathlib import Path
from typing import Any

import duckdb
import pytest

from examples.tpch.kept import answer_at, keep
from examples.tpch.queries import QUERIES
from examples.tpch.tables import EPOCHS, generate, generator, there_at
from tests.examples.tpch_answers import ANSWERS

pytestmark = pytest.mark.skipif(generator() is None, reason="tpchgen-cli is not installed")
TABLES = ("customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier")


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tpch")
    generate(folder, 0.01)
    return folder


@pytest.fixture(scope="module")
def expected(tables: Path) -> dict[str, list[list[tuple[Any, ...]]]]:
    """DuckDB's answers, sorted, at every epoch; its connection is gone before anything is forked."""
    found: dict[str, list[list[tuple[Any, ...]]]] = {name: [] for name in QUERIES}
    with duckdb.connect(":memory:") as database:
        database.execute("SET threads = 1")
        for epoch in range(EPOCHS + 1):
            for table in TABLES:
                rows = f"SELECT * FROM read_parquet('{tables / table}.parquet') WHERE {there_at(table, epoch)}"
                database.execute(f"CREATE OR REPLACE TABLE {table} AS {rows}")
            for name in QUERIES:
                found[name].append(sorted(tuple(map(plain, row)) for row in database.sql(ANSWERS[name]).fetchall()))
    return found


def plain(value: Any) -> Any:
    """As both sides write it."""
    if isinstance(value, Decimal):
        assert value == int(value)
        return int(value)
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    return round(value, 6) if isinstance(value, float) else value


@pytest.mark.parametrize("name", QUERIES)
def test_every_epoch_has_the_answer_over_its_rows(
    name: str, tables: Path, expected: dict[str, list[list[tuple[Any, ...]]]]
) -> None:
    parts, seconds = keep(tables, name, 2, EPOCHS)
    assert len(seconds) == EPOCHS + 1
    answers = []
    for epoch in range(EPOCHS + 1):
        found = sorted(tuple(map(plain, row)) for row in answer_at(parts, epoch))
        assert found == expected[name][epoch], epoch
        answers.append(found)
    few = ("q18", "q21")  # rows at this scale
    assert name in few or answers[0] != answers[-1], "nothing changed: a poor test"
