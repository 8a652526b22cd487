"""How many rows a source of files puts into a message, and where each came from, however many are decoded at once."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring as tr
from tests.errors import raises
from tokenring.operators.sources import parquet

ROWS = 100_000
Use = Callable[[tr.Stream], tr.Stream]


def counted(rows: tr.Stream) -> tr.Stream:
    """A row for each message, how many it has."""
    return rows.map_batches(tr.Schema(rows="int64"), lambda batch: {"rows": np.array([batch.rows])})


STAYING: dict[str, Use] = {
    "collected": counted,
    "filtered": lambda rows: counted(rows.filter(tr.col("key") >= 0)),
}
CROSSING: dict[str, Use] = {
    "by key": lambda rows: counted(rows).union(counted(rows.exchange("key")).filter(tr.col("rows") < 0)),
    "to all": lambda rows: counted(rows).union(counted(rows.broadcast()).filter(tr.col("rows") < 0)),
}


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    file = tmp_path_factory.mktemp("rows") / "rows.parquet"
    pq.write_table(pa.table({"key": range(ROWS), "text": [f"row {row}" for row in range(ROWS)]}), file)
    return file


def sizes(file: Path, use: Use, workers: int, **options: Any) -> list[int]:
    def dataflow(scope: tr.Scope) -> Any:
        return use(scope.read_parquet(file, **options)).collect()

    answer: list[int] = tr.run(dataflow, workers=workers)["rows"].to_pylist()
    assert sum(answer) == ROWS
    return answer


@pytest.mark.parametrize("use", STAYING)
@pytest.mark.parametrize("workers", [1, 2])
def test_rows_that_stay_come_many_at_once(use: str, workers: int, file: Path) -> None:
    assert max(sizes(file, STAYING[use], workers)) == 1 << 15


@pytest.mark.parametrize("use", CROSSING)
def test_rows_that_cross_come_fewer_at_once(use: str, file: Path) -> None:
    assert max(sizes(file, CROSSING[use], 2)) == 1 << 14
    assert max(sizes(file, CROSSING[use], 1)) == 1 << 15


def test_who_says_how_many_gets_them(file: Path) -> None:
    assert max(sizes(file, counted, 2, batch_rows=1000)) == 1000
    assert max(sizes(file, counted, 2, batch_rows=ROWS)) == ROWS


EACH = 10
TEXT = "x" * 90


@pytest.fixture(scope="module")
def small_files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Of three forms; in one of them is a null."""
    folder = tmp_path_factory.mktemp("small")
    for number in range(100):
        keys = [*range(number * EACH, (number + 1) * EACH)]
        texts = pa.array([None if key == 73 else f"row {key // 3}" for key in keys])
        of_type = pa.int32() if 70 <= number < 80 else pa.int64()
        written = {"key": pa.array(keys, of_type), "text": texts.dictionary_encode() if number >= 80 else texts}
        pq.write_table(pa.table(written), folder / f"{number:02}.parquet", use_dictionary=number % 2 == 0)
    return folder


@pytest.mark.parametrize(
    ("batch_rows", "messages"), [(None, [640, 60, 100, 200]), (25, [20] * 50), (10, [10] * 100), (4, [4, 4, 2] * 100)]
)
def test_small_files_of_one_form_come_many_at_once(
    batch_rows: int | None, messages: list[int], small_files: Path
) -> None:
    found = tr.run(lambda scope: counted(scope.read_parquet(small_files, batch_rows=batch_rows)).collect(), workers=1)
    assert found["rows"].to_pylist() == messages
    rows = tr.run(lambda scope: scope.read_parquet(small_files, batch_rows=batch_rows).collect(), workers=1)
    assert rows["key"].to_pylist() == [*range(1000)]
    assert rows["text"].to_pylist() == [None if key == 73 else f"row {key // 3}" for key in range(1000)]


def test_a_row_of_files_that_are_read_at_once_is_named(small_files: Path) -> None:
    schema = tr.Schema(key="int64", text="string")
    with raises(tr.OperatorError, "07.parquet row 3: ", "column 'text'", "string?"):
        tr.run(lambda scope: scope.read_parquet(small_files, schema=schema).collect(), workers=1)


def write_lines(folder: Path, form: str, *, bad_key: str = "") -> None:
    """100 small files, of which one begins with a mark, and some do not end with a newline; CSV of two headers."""
    for number in range(100):
        keys = [str(key) for key in range(number * EACH, (number + 1) * EACH)]
        if number == 37 and bad_key:
            keys[3] = bad_key
        lines = [f'{{"key": {key}, "text": "{TEXT}"}}' for key in keys]
        if form == "csv":
            rows = [("key", "text"), *[(key, TEXT) for key in keys]]
            lines = [",".join(row if number < 70 else row[::-1]) for row in rows]
        begin, end = "\ufeff" * (number == 3), "\n" * (number % 2)
        (folder / f"{number:02}.{form}").write_text(begin + "\n".join(lines) + end)


def read_lines(scope: tr.Scope, folder: Path, form: str, **options: Any) -> tr.Stream:
    read = scope.read_csv if form == "csv" else scope.read_json_lines
    return read(folder, tr.Schema(key="int64", text="string"), **options)


@pytest.mark.parametrize(
    ("form", "options", "messages"),
    [
        ("csv", {}, [640, 60, 300]),
        ("csv", {"quoted_newlines": True}, [640, 60, 300]),
        ("csv", {"block_bytes": 1500}, [10] * 100),
        ("csv", {"time": "key"}, [10] * 100),
        ("jsonl", {}, [640, 360]),
        ("jsonl", {"block_bytes": 1500}, [10] * 100),
        ("jsonl", {"time": "key"}, [10] * 100),
    ],
)
def test_small_files_of_lines_come_many_at_once(
    form: str, options: dict[str, Any], messages: list[int], tmp_path: Path
) -> None:
    write_lines(tmp_path, form)
    found = tr.run(lambda scope: counted(read_lines(scope, tmp_path, form, **options)).collect(), workers=1)
    assert found["rows"].to_pylist() == messages
    rows = tr.run(lambda scope: read_lines(scope, tmp_path, form, **options).collect(), workers=1)
    assert rows["key"].to_pylist() == [*range(1000)] and set(rows["text"].to_pylist()) == {TEXT}


@pytest.mark.parametrize(("form", "line"), [("csv", 5), ("jsonl", 4)])
def test_a_line_of_files_that_are_read_at_once_is_named(form: str, line: int, tmp_path: Path) -> None:
    write_lines(tmp_path, form, bad_key="1O")
    with raises(tr.OperatorError, f"37.{form}", f"line {line}, "):
        tr.run(lambda scope: read_lines(scope, tmp_path, form).collect(), workers=1)


@pytest.mark.parametrize("row", [1000, 2047, 2048, 5000])
def test_a_row_is_named_wherever_its_message_was_cut(row: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(parquet, "_DECODED_ROWS", 2048)
    times = np.arange(10, 6_010)
    times[row] = 0
    pq.write_table(pa.table({"at": times}), tmp_path / "rows.parquet", write_statistics=False)

    def dataflow(scope: tr.Scope) -> Any:
        return scope.read_parquet(tmp_path / "rows.parquet", time="at", disorder=5, batch_rows=1000).collect()

    with raises(tr.OperatorError, f"rows.parquet row {row},", "late"):
        tr.run(dataflow, workers=1)
