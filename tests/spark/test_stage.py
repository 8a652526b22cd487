"""A DataFrame of Spark's as a staged table, in Spark's own process; and `tokenring stage --engine spark`."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tokenring.spark as tokenring_spark
from tests.errors import raises
from tests.nexmark.helpers import tokenring
from tests.nexmark.resident_spark import ResidentSpark
from tests.operators.sources.helpers import run
from tests.spark.stage_jobs import ROWS
from tokenring.engine import UsageError
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


def test_columns_of_any_names(resident: ResidentSpark, tmp_path: Path) -> None:
    """Also of those that Spark does not resolve by themselves."""
    manifest = staged(resident, tmp_path / "odd", "odd names", time="t.x")
    assert [*manifest["columns"]] == ["t.x", "a.b", "x`y", "V", "v", " "]
    made = run(lambda scope: read_staged(scope, tmp_path / "odd")).values
    assert made == [(time, 2 - time, 3 - time, 4 - time, 5 - time, 6 - time) for time in range(3)]


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
        ("decimals", {}, ("'price'", "decimal128(30, 2)", "cast it in Spark", "--engine pyarrow")),
        ("days", {}, ("'at' is date", "cast it to timestamp in Spark")),
        ("one name", {}, ("two columns are called 'at'", "(toDF)")),
        ("months", {}, ("column 'pause'", "YearMonthIntervalType", "cast it in Spark", "--engine pyarrow")),
        ("months and days", {}, ("printSchema() shows which", "interval", "cast it in Spark", "--engine pyarrow")),
        ("a stream", {}, ("streaming", "session.read in place of readStream", "foreachBatch")),
        ("equal ids", {"time": "art"}, ("'art'", "did you mean 'at'")),
    ],
)  # fmt: skip
def test_what_cannot_be_staged_is_named_and_leaves_nothing(
    resident: ResidentSpark, tmp_path: Path, make: str, more: dict[str, Any], facts: tuple[str, ...]
) -> None:
    told = staged(resident, tmp_path / "orders", make, **more)
    assert told.startswith("SchemaError: " if make != "a stream" else "UsageError: ")
    assert all(fact in told for fact in facts), told
    assert list(tmp_path.iterdir()) == []


def test_what_is_no_dataframe(tmp_path: Path) -> None:
    what: Any = "orders.parquet"
    with raises(UsageError, "a DataFrame of PySpark", "not str", "stage_files"):
        tokenring_spark.stage(what, tmp_path / "orders", time="at")


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
        odd = pa.table({"at": [20, 10], "a.b": [1, 2], "x`y": [3, 4]})
        pq.write_table(odd, tmp_path / "odd.parquet")
        told = tokenring(capsys, *arguments, "--from", tmp_path / "odd.parquet", "--columns", "a.b x`y")
        assert (told.status, told.err) == (0, "")
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
    assert run(lambda scope: read_staged(scope, out, "odd", columns=["at", "a.b", "x`y"])).values == [
        (10, 2, 4), (20, 1, 3)
    ]  # fmt: skip


@pytest.mark.usefixtures("arrow_reads_csv")
def test_csv_is_read_as_by_the_other_engine_or_refused(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, resident: ResidentSpark
) -> None:
    """Spark by itself takes 01 and 12d for numbers, and 10:30 for a time of today; drops and fills values."""
    (tmp_path / "edges.csv").write_text(
        "\ufeffat,text,code,size,month,clock,time,day,paid,price,digits,huge\r\n"
        '5,"a,""b",01,12d,2024-01,10:30,2024-01-01 10:30:00,2024-02-29,TRUE,1e5,0.1234567890123456789,-1e400\r\n'
        "7,\\,2,1,2024-02,11:00,2024-01-01T10:30:00.5+02:00,2024-03-01,,2,1,Inf\r\n\r\n"
        '6,"",3,1,2024-03,11:00,,,false,-.5,2,\r\n'
    )
    (tmp_path / "edges.tsv").write_text('at\ta\tb\n1\t\ta"b\n2\t"x\ty"\t \\" \n')
    (tmp_path / "nanoseconds.csv").write_text("at,ns\n1,2024-01-01T00:00:00.123456789\n")
    (tmp_path / "names").mkdir()
    (tmp_path / "names/a.csv").write_text("at,a\n1,2\n")
    (tmp_path / "names/b.csv").write_text("a,at\n1,2\n")
    wrong = {
        "few.csv": (b"at,a,b\n1,2,3\n3,4\n", "the line '3,4' has not one value for each of the names at, a, b"),
        "many.csv": (b"at,a\n1,2,3\n", "the line '1,2,3' has not one value"),
        "on.csv": (b'at,a\n1,"x\n2,y"\n', "a value in quotes that goes on"),
        "behind.csv": (b'at,a\n1,"x"y\n', "a value in quotes that goes on"),
        "latin.csv": (b"at,a\n1,\xfc\n", "is not in UTF-8"),
        "twice.csv": (b"at,a,a\n1,2,3\n", "or there twice"),
    }

    def told_by(engine: str, file: str) -> Any:
        out = ["--out", tmp_path / engine, "--table", "t", "--force", "--engine", engine]
        return tokenring(capsys, "stage", "--time", "at", "--from", tmp_path / file, *out)

    with resident.at_hand():
        for file in ("edges.csv", "edges.tsv"):
            found = []
            for engine in ("pyarrow", "spark"):
                told = told_by(engine, file)
                assert (told.status, told.err) == (0, "")
                rows = run(lambda scope, folder=tmp_path / engine: read_staged(scope, folder))
                found.append((StagedTable(tmp_path / engine).schema, rows.values))
            assert found[0] == found[1]
        assert told_by("spark", "nanoseconds.csv").status == 0
        rows = run(lambda scope: read_staged(scope, tmp_path / "spark"))
        assert rows.values == [(1, "2024-01-01T00:00:00.123456789")]
        for file, (content, fault) in wrong.items():
            (tmp_path / file).write_bytes(content)
            told = told_by("spark", file)
            assert (told.status, told.out, told.err.count("\n")) == (2, "", 1), told.err
            assert f"{tmp_path / file}: " in told.err
            assert fault in told.err
        told = told_by("spark", "names/*.csv")
        assert (told.status, "names/b.csv: its first line has not the names" in told.err) == (2, True)
