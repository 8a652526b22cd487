"""`tokenring stage --time`: any table out of files, told in a line or as JSON; without --time, events as ever."""

from __future__ import annotations

from pathlib import Path

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.nexmark.helpers import tokenring
from tests.operators.sources.helpers import run
from tokenring.engine import Schema
from tokenring.operators import read_staged
from tokenring.operators.staging import StagedTable

pytestmark = pytest.mark.usefixtures("arrow_reads_csv")


@pytest.fixture
def files(tmp_path: Path) -> Path:
    """Two files of one table, the later rows first."""
    folder = tmp_path / "files"
    folder.mkdir()
    pq.write_table(pa.table({"id": [5, 4], "at": [50, 40], "x": [0.5, None]}), folder / "a.parquet")
    (folder / "b.csv").write_text("id,at,x\n1,10,1\n3,30,\n")
    return folder


def rows(folder: Path, table: str) -> list[tuple[object, ...]]:
    return run(lambda scope: read_staged(scope, folder, table, columns="id at")).values


def test_a_table_of_several_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, files: Path) -> None:
    out = tmp_path / "out"
    arguments = ["stage", "--out", out, "--from", files / "a.parquet", files / "b.csv", "--time", "at"]
    outcome = tokenring(capsys, *arguments, "--unique", "id", "--table", "orders")
    assert (outcome.status, outcome.err) == (0, "")
    assert outcome.out.startswith(f"staged 4 rows of orders in {out} in ")
    assert outcome.out.count("\n") == 1
    assert rows(out, "orders") == [(1, 10), (3, 30), (4, 40), (5, 50)]
    assert StagedTable(out).unique == ("id",)
    assert tokenring(capsys, *arguments).status == 0, "it is called as its first file"
    assert tokenring(capsys, "stage", files, "--out", out, "--time", "at", "--table", "all").status == 0
    assert sorted(path.name for path in out.iterdir()) == ["a", "all", "orders"]


def test_what_was_staged_as_json(capsys: pytest.CaptureFixture[str], tmp_path: Path, files: Path) -> None:
    arguments = ["stage", "--out", tmp_path / "out", "--from", files / "*.parquet", "--time", "at", "--columns", "x"]
    outcome = tokenring(capsys, *arguments, "--json")
    told = orjson.loads(outcome.out)
    assert list(told) == ["folder", "table", "rows", "seconds", "manifest"]
    assert (told["folder"], told["table"], told["rows"]) == (str(tmp_path / "out"), "a", 2)
    assert told["manifest"] == StagedTable(tmp_path / "out").manifest
    assert list(told["manifest"]["columns"]) == ["x", "at"]
    outcome = tokenring(capsys, *arguments, "--force", "--json", tmp_path / "told.json")
    assert outcome.out.startswith("staged 2 rows of a")
    assert orjson.loads((tmp_path / "told.json").read_bytes())["manifest"] == told["manifest"]


def test_a_schema_in_words(capsys: pytest.CaptureFixture[str], tmp_path: Path, files: Path) -> None:
    arguments = ["stage", "--out", tmp_path / "out", "--from", files, "--time", "at", "--table", "orders"]
    assert tokenring(capsys, *arguments, "--schema", "x:float64? at id:uint64").status == 0
    assert StagedTable(tmp_path / "out").schema == Schema(x="float64?", at="int64", id="uint64")


def test_values_across_lines(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text('id,at\n"a\nb",10\n')
    arguments = ["stage", "--out", tmp_path / "out", "--from", tmp_path / "a.csv", "--time", "at"]
    refused = tokenring(capsys, *arguments)
    assert (refused.status, "(--quoted-newlines)" in refused.err) == (2, True)
    assert tokenring(capsys, *arguments, "--quoted-newlines").status == 0
    assert rows(tmp_path / "out", "a") == [("a\nb", 10)]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--from FILES --time at --events 10", "--events: for NEXMark events only"),
        ("--from FILES --time at --edges", "--edges"),
        ("--from FILES --time at --time-unit ms", "--time-unit"),
        ("--time at", "--from SRC"),
        ("--from FILES --time id --time at", "--time is given twice: give it once, as --time COLUMN"),
        ("--from FILES --time at --columns id --columns x", "--columns is given twice: give it once, as"),
        ("--from FILES --time at --master local", "--master: for Spark; give --engine spark"),
        ("--from FILES --time at --engine spark --master yarn", "--master is 'yarn'"),
        ("--from FILES --engine spark", "--engine: for tables only"),
        ("--from FILES --table orders", "--table: for tables only, so only together with --time COLUMN"),
        ("--from FILES --unique id --columns id", "--unique, --columns"),
        ("--from FILES --schema at", "--schema: for tables only"),
        ("--from FILES --time at --schema at --columns at", "--schema"),
        ("--from FILES --time at --engine spark --schema at", "--schema"),
        ("--from FILES --time at --engine spark --quoted-newlines", "--quoted-newlines is for --engine pyarrow"),
        ("--from FILES --quoted-newlines", "--quoted-newlines: for tables only"),
        ("--from FILES/a.parquet --time at --quoted-newlines", "(--quoted-newlines) is for CSV"),
        ("--from FILES --time at --columns=", "(--columns) names none"),
        ("--from FILES/b.csv --time at --schema at:int", "'int'"),
        ("--from FILES FILES/b.csv", "--time COLUMN"),
        ("--from FILES --from FILES", "--time COLUMN"),
        ("--from nowhere.parquet --time at", "nowhere.parquet"),
        ("--from FILES --time when", "'when'"),
        ("--from FILES --time at --unique x", "'x'"),
        ("--from FILES --time at --table a/b", "'a/b'"),
        ("--from FILES/b.csv FILES/b.csv --time at --unique id", "b.csv line 2 both have 1"),
    ],
)
def test_what_cannot_be_is_named_and_leaves_nothing(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, files: Path, arguments: str, named: str
) -> None:
    told = arguments.replace("FILES", str(files)).split()
    outcome = tokenring(capsys, "stage", "--out", tmp_path / "out", *told)
    assert (outcome.status, outcome.out) == (2, "")
    assert outcome.err.startswith("tokenring: error: ")
    assert outcome.err.count("\n") == 1
    assert named in outcome.err
    assert [path.name for path in tmp_path.iterdir()] == ["files"]
