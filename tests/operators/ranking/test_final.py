"""top and last_by once the input has ended: DuckDB's row numbers, for keys and columns of any kind."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pytest

from tests.errors import raises
from tokenring import SchemaError, Stream, run

ROWS = 6_000
RANDOM = np.random.default_rng(7)


def _table() -> pa.Table:
    some = RANDOM.integers(0, 40, ROWS)
    return pa.table(
        {
            "number": RANDOM.integers(0, 300, ROWS),
            "flag": pa.array([None if each == 3 else each % 2 == 0 for each in some]),
            "real": some * 0.5 - 3.0,
            "word": pa.array([None if each == 5 else f"ä word {each}" for each in some]),
            "score": pa.array([None if each % 11 == 0 else each % 7 for each in range(ROWS)]),
            "weight": [math.nan if each % 13 == 0 else float(each % 5) for each in range(ROWS)],
            "text": pa.array([None if each % 17 == 0 else f"text {each} " * 4 for each in range(ROWS)]),
            "raw": pa.array([b"" if each % 3 == 0 else bytes([each % 256]) * 30 for each in range(ROWS)]),
            "id": range(ROWS),
        }
    )


TABLE = _table()
KEYS = ("number", "flag", "real", "word", "number word", "real flag word", "")
COLUMNS = ", ".join(TABLE.schema.names)


def ours(make: Callable[[Stream], Stream], workers: int, table: pa.Table = TABLE) -> list[Any]:
    return rows_of(run(lambda scope: make(scope.read_arrow(table, batch_rows=500)).collect(), workers=workers))


def rows_of(table: pa.Table) -> list[Any]:
    """Rows that can be compared: NaN is NaN."""
    return sorted(repr(tuple(row[name] for name in sorted(row))) for row in table.to_pylist())


def theirs(key: str, order: str, k: int) -> list[Any]:
    part = f"partition by {', '.join(key.split())}" if key else ""
    first = order.split()[0].rstrip(",")
    ranked = f"select {COLUMNS}, row_number() over ({part} order by {order}) as rank from rows"
    there = f"{first} is not null" + (f" and not isnan({first})" if first == "weight" else "")
    with duckdb.connect() as database:
        database.register("rows", TABLE)
        return rows_of(database.sql(f"{ranked} where {there} qualify rank <= {k}").to_arrow_table())


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("key", KEYS)
def test_as_duckdb_ranks_them(key: str, workers: int) -> None:
    most = ours(lambda rows: rows.top(key, order="score", k=3, ties="id", emit="final"), workers)
    assert most == theirs(key, "score desc, id", 3)
    least = ours(lambda rows: rows.top(key, order="weight", largest=False, k=1, ties="score id", emit="final"), workers)
    assert least == theirs(key, "weight, score nulls first, id", 1)
    last = ours(lambda rows: rows.last_by(key, order="id", emit="final"), workers) if key else []
    assert not key or last == last_of(key)


@pytest.mark.parametrize("key", KEYS[:-1])
def test_of_equal_ones_the_last_to_come_is_last(key: str) -> None:
    assert ours(lambda rows: rows.last_by(key, order="score", emit="final"), 1) == last_of(key, "score")


def last_of(key: str, order: str = "id") -> list[Any]:
    """The last row of each key, by plain Python."""
    kept: dict[Any, Any] = {}
    for row in TABLE.to_pylist():
        key_of = tuple(row[name] for name in key.split())
        if row[order] is not None and (key_of not in kept or row[order] >= kept[key_of][order]):
            kept[key_of] = row
    return sorted(repr(tuple(row[name] for name in sorted(row))) for row in kept.values())


@pytest.mark.parametrize("workers", [1, 2])
def test_a_row_keeps_the_sign_of_its_zero(workers: int) -> None:
    """As a key, both are one."""
    table = pa.table({"at": [0.0, -0.0, 0.0, -0.0], "score": [1, 4, 2, 3]})
    found = ours(lambda rows: rows.top("at", order="score", k=2, rank=None, emit="final"), workers, table)
    assert found == ["(-0.0, 3)", "(-0.0, 4)"]


@pytest.mark.parametrize("workers", [1, 2])
def test_nothing_to_rank(workers: int) -> None:
    table = TABLE.set_column(4, "score", pa.nulls(ROWS, pa.int64()))
    for of in (TABLE.slice(0, 0), table):
        assert ours(lambda rows: rows.top("word", order="score", k=2, emit="final"), workers, of) == []


def test_of_a_billion_rows_a_key_places_are_not_kept_ahead() -> None:
    """Refused where they would be; where only what there is is kept, they may be asked for."""
    table = pa.table({"k": [1, 1, 2], "v": [3, 4, 5]})
    said = ("operator 'top'", "k=1000000000", "for each key", "up to 1048576", "ties='all'")

    def declare(rows: Stream) -> Stream:
        for emit in ("batch", "each", "final"):
            with raises(SchemaError, *said):
                rows.top("k", order="v", k=10**9, emit=emit)
        return rows.top("k", order="v", k=10**9, emit="final", ties="all")

    assert len(ours(declare, 1, table)) == 3
