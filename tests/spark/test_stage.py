"""A DataFrame of Spark's as a staged table, in Spark's own process; and `tokenring stage --engine spark`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.nexmark.helpers import tokenring
from tests.nexmark.resident_spark import ResidentSpark
from tests.operators.sources.helpers import run
from tests.spark.stage_jobs import ROWS
from tokenring.operators import read_staged
from tokenring.operators.staging import StagedTable

pytestmark = pytest.mark.spark


@pytest.fixture(scope="module")
def resident(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ResidentSpark]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("JDK_JAVA_OPTIONS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC")
        resident = ResidentSpark(tmp_path_factory.mktemp("spark"))
    yield resident
    resident.close()


def staged(resident: ResidentSpark, folder: Path, make: str, **more: Any) -> Any:
    arguments = {"make": make, "folder": str(folder), "more": {"time": "at", **more}}
    return resident.run("tests.spark.stage_jobs", arguments, folder.parent)


def test_a_dataframe_comes_out_in_order_of_time(resident: ResidentSpark, tmp_path: Path) -> None:
    folder = tmp_path / "orders"
    manifest = staged(resident, folder, "computed", unique=["id"])
    assert (manifest["table"], manifest["rows"], manifest["unique"]) == ("orders", ROWS, ["id"])
    assert manifest["source"] == {"engine": "spark", "was_in_order": True}
    assert manifest == StagedTable(folder).manifest
    kinds = {name: entry["kind"] for name, entry in manifest["columns"].items()}
    assert kinds == {
        "id": "int64", "at": "timestamp", "small": "int64", "city": "string?", "price": "float64?", "paid": "bool?",
        "blob": "bytes?", "a b": "string",
    }  # fmt: skip
    expected = [
        (
            number, number * 7919 % 5003 * 10**6, number % 3, f"city {number % 4}" if number % 10 else None,
            number / 4 if number % 7 else None, number % 2 == 0 if number % 5 else None,
            b"\xff\x00" if number % 6 else None, "Zürich",
        )
        for number in range(ROWS)
    ]  # fmt: skip
    made = run(lambda scope: read_staged(scope, folder, batch_rows=200), 2)
    rows = [tuple(None if value != value else value for value in row) for row in made.values]
    assert sorted(rows) == expected
    alone = run(lambda scope: read_staged(scope, folder, columns="at"), 1).values
    assert alone == sorted((row[1],) for row in expected)


def test_a_dataframe_without_rows(resident: ResidentSpark, tmp_path: Path) -> None:
    manifest = staged(resident, tmp_path / "folder", "none", table="orders")
    assert (manifest["table"], manifest["rows"], list(manifest["columns"])[-1]) == ("orders", 0, "a b")
    assert run(lambda scope: read_staged(scope, tmp_path / "folder", "orders")).values == []


@pytest.mark.parametrize(
    ("make", "more", "facts"),
    [
        ("null times", {}, ("row 0 in order of 'at'", "column 'at'", "null")),
        ("early times", {}, ("row 0 in order of 'at'", "1969", "1970")),
        ("equal ids", {"unique": ["id"]}, ("'id'", "row 0 in order of 'at' and row 1 in order of 'at'", "0")),
        (
            "equal ids at the end", {"unique": ["id"]},
            ("row 29998 in order of 'at' and row 29999 in order of 'at'", "both have 29998"),
        ),
        ("decimals", {}, ("'price'", "decimal128(30, 2)")),
        ("equal ids", {"time": "art"}, ("'art'", "did you mean 'at'")),
    ],
)  # fmt: skip
def test_what_cannot_be_staged_is_named_and_leaves_nothing(
    resident: ResidentSpark, tmp_path: Path, make: str, more: dict[str, Any], facts: tuple[str, ...]
) -> None:
    told = staged(resident, tmp_path / "orders", make, **more)
    assert told.startswith("SchemaError: ")
    assert all(fact in told for fact in facts), told
    assert list(tmp_path.iterdir()) == []


@pytest.fixture
def files(tmp_path: Path) -> Path:
    folder = tmp_path / "parts [x]"
    folder.mkdir()
    pq.write_table(pa.table({"id": [5, 4], "at": [50, 40], "city": ["a", None]}), folder / "a.parquet")
    pq.write_table(pa.table({"id": [3, 1], "at": [30, 10], "city": ["b", "a"]}), folder / "b.parquet")
    (tmp_path / "c.csv").write_text("id,at\n2,20\n1,10\n")
    return folder


def test_the_command(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: Path, resident: ResidentSpark
) -> None:
    out = tmp_path / "out"
    with resident.at_hand():
        arguments = ["stage", "--out", out, "--time", "at", "--engine", "spark", "--json"]
        told = tokenring(capsys, *arguments, "--from", files, "--table", "orders", "--unique", "id")
        assert (told.status, told.err) == (0, "")
        manifest = orjson.loads(told.out)["manifest"]
        assert manifest["source"] == {"engine": "spark", "files": [str(files)], "was_in_order": True}
        told = tokenring(capsys, *arguments, "--from", tmp_path / "c.csv", "--columns", "id")
        assert (told.status, told.err) == (0, "")
        for number, pattern in enumerate((f"file://{tmp_path}/*.csv", f"{tmp_path}/*.csv")):
            told = tokenring(capsys, *arguments, "--from", pattern, "--table", f"d{number}")
            assert orjson.loads(told.out)["rows"] == 2
        told = tokenring(capsys, *arguments, "--from", "hdfs://127.0.0.1:1/orders")
        assert (told.status, told.out) == (2, "")
        assert "hdfs://127.0.0.1:1/orders cannot be read by Spark" in told.err
        told = tokenring(capsys, *arguments, "--from", files, tmp_path / "c.csv")
        assert (told.status, "csv and parquet" in told.err) == (2, True)
        told = tokenring(capsys, *arguments, "--from", files, "--table", "orders")
        assert (told.status, "--force" in told.err) == (2, True)
    assert run(lambda scope: read_staged(scope, out, "orders")).values == [
        (1, 10, "a"), (3, 30, "b"), (4, 40, None), (5, 50, "a")
    ]  # fmt: skip
    assert run(lambda scope: read_staged(scope, out, "c")).values == [(1, 10), (2, 20)]
