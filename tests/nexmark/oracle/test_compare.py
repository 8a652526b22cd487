"""Results are compared as multisets of rows, of any kinds, and differences are told by row, key and column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tokenring.engine import Schema
from tokenring.nexmark.oracle.compare import differences

COUNTS = Schema("category average count").to_arrow()
RIGHT = [{"category": 10, "average": 5, "count": 2}, {"category": 11, "average": 6, "count": 3}]
ALL_KINDS = Schema(a="int64?", b="uint64?", c="float64?", d="bool?", e="timestamp?", f="string?", g="bytes?").to_arrow()


def told(tmp_path: Path, got: list[Any], wanted: list[Any], schema: pa.Schema = COUNTS, key: Any = ()) -> list[str]:
    file = tmp_path / "wanted.parquet"
    pq.write_table(pa.Table.from_pylist(wanted, schema), file)
    return differences(pa.Table.from_pylist(got, schema), file, key)


_INT = st.integers(-(2**63), 2**63 - 1)
_ROW = st.fixed_dictionaries(
    {
        "a": st.none() | _INT,
        "b": st.none() | st.integers(0, 2**64 - 1),
        "c": st.none() | st.sampled_from([0.0, 1.5, -(2.0**60)]),
        "d": st.none() | st.booleans(),
        "e": st.none() | st.sampled_from([0, 10**18]),
        "f": st.none() | st.text(max_size=20),
        "g": st.none() | st.binary(max_size=20),
    }
)


@settings(max_examples=examples(30), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(_ROW, max_size=12), data=st.data())
def test_any_rows_in_any_order_and_one_of_them_changed(tmp_path: Path, rows: list[Any], data: st.DataObject) -> None:
    shuffled = data.draw(st.permutations(rows))
    assert told(tmp_path, shuffled, rows, ALL_KINDS) == []
    if rows:
        changed = data.draw(_ROW)
        assert bool(told(tmp_path, [changed, *shuffled[1:]], rows, ALL_KINDS)) == (changed != shuffled[0])
        assert told(tmp_path, [*rows, rows[0]], rows, ALL_KINDS), "rows count as often as they are there"


def test_null_is_neither_zero_nor_empty(tmp_path: Path) -> None:
    for name, value in {"a": 0, "b": 0, "c": 0.0, "d": False, "f": "", "g": b""}.items():
        rows = [dict.fromkeys(ALL_KINDS.names), dict.fromkeys(ALL_KINDS.names) | {name: value}]
        assert told(tmp_path, rows[:1], rows[1:], ALL_KINDS), name


@pytest.mark.parametrize(
    ("result", "line"),
    [
        ([RIGHT[0]], "category 11: expected {'category': 11, 'average': 6, 'count': 3}, but it is missing"),
        ([*RIGHT, {"category": 12, "average": 1, "count": 1}], "category 12: {'category': 12, 'average': 1, 'count'"),
        ([RIGHT[0] | {"average": 4}, RIGHT[1]], "category 10: average is 4, expected 5"),
        ([RIGHT[0], *RIGHT], "category 10: {'category': 10, 'average': 5, 'count': 2} was not expected, or"),
        ([], "0 rows, expected 2"),
    ],
)
def test_differences_are_told(tmp_path: Path, result: list[Any], line: str) -> None:
    assert any(line in one for one in told(tmp_path, result, RIGHT, key=("category",)))


def test_only_the_first_of_many_differences_are_told(tmp_path: Path) -> None:
    rows = [{"category": at, "average": 1, "count": 1} for at in range(200_000)]  # several batches
    lines = told(tmp_path, rows[:100_000], rows)
    assert (len(lines), lines[0]) == (7, "100,000 rows, expected 200,000")
    assert lines[1] == "expected {'category': 100000, 'average': 1, 'count': 1}, but it is missing"


def test_an_answer_in_several_files_of_other_types(tmp_path: Path) -> None:
    table = pa.table({"n": pa.array([1, 2, 3], pa.int32()), "text": pa.array(["a", None, "c"], pa.string())})
    for at in range(3):
        pq.write_table(table.slice(at, 1).select(["text", "n"]), tmp_path / f"part-{at}.parquet")
    schema = Schema("n", text="string?").to_arrow()
    assert differences(pa.Table.from_pylist(table.to_pylist()[::-1], schema), tmp_path) == []


def test_columns_that_cannot_be_compared(tmp_path: Path) -> None:
    pq.write_table(pa.table({"n": [0.5]}), tmp_path / "a.parquet")
    for schema in (Schema("n"), Schema("m")):
        (line,) = differences(pa.Table.from_pylist([], schema.to_arrow()), tmp_path)
        assert line.startswith("the columns are not comparable")


@pytest.mark.parametrize("second", [1, -1, 2**62, -(2**63)])
def test_rows_of_one_hash_by_chance_differ_by_another(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, second: int
) -> None:
    """Whichever of its bits it is: here the second hash of each row is a multiple of one number."""

    def hashes(batch: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
        return np.zeros(batch.num_rows, np.int64), (batch["count"].to_numpy() - 2) * np.int64(second)

    monkeypatch.setattr("tokenring.nexmark.oracle.compare.row_hashes", hashes)
    assert told(tmp_path, RIGHT[:1], RIGHT[:1]) == []
    assert told(tmp_path, RIGHT[:1], RIGHT[1:]) == ["rows differ, whose hashes are equal by chance"]
