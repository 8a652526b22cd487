"""The benchmark of users' programs: their answers are DuckDB's, a wrong one stops it, and a tiny run is told whole."""

from __future__ import annotations

import mmap
from itertools import product
from pathlib import Path
from tempfile import NamedTemporaryFile

import orjson
import pytest
from pyarrow.dataset import dataset

from scripts.benchmarks import road, road_programs
from scripts.benchmarks.__main__ import main
from scripts.benchmarks.page_cache import leave_page_cache, pages_in_cache
from scripts.benchmarks.references import Case, duckdb_process, fingerprint
from scripts.benchmarks.references.processes import ANSWERED, FORMATS, PARQUET, Files
from tests.errors import raises
from tests.nexmark.foreign_events import seal_edges
from tokenring.nexmark.queries import QUERIES
from tokenring.tools.errors import CommandError

OURS = Case("tokenring", "q2", 2)


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Events at the bounds of the queries' conditions, nulls among them, in no order."""
    return seal_edges(tmp_path_factory.mktemp("road") / "events", by_time=False)


@pytest.fixture(scope="module")
def written(staged: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Files]:
    """The same in files of each format."""
    made = {name: Files(tmp_path_factory.mktemp(name), name) for name in FORMATS if name != "parquet"}
    for files in made.values():
        duckdb_process.write(Files(staged), files)
    return made | {"parquet": Files(staged)}


@pytest.mark.parametrize(
    ("query", "of_format"),
    [(query, "parquet") for query in road_programs.PROGRAMS]
    + [(query, text) for text in ("csv", "json-lines") for query in ("q3", "q8", "q10", "q20")],
)
def test_our_rows_are_duckdbs(staged: Path, written: dict[str, Files], query: str, of_format: str) -> None:
    files = written[of_format]
    answers = [duckdb_process.road(query, Files(staged), 2), road_programs.answer(query, files, 2)]
    answers += [duckdb_process.road(query, files, 2)] if of_format != "parquet" else []
    wanted, *found = [fingerprint(QUERIES[query], table.to_batches()) for table in answers]
    assert wanted[0] > 0, "there are rows to compare"
    assert all([one == wanted for one in found])


@pytest.mark.parametrize("system", road.PROCESSES)
def test_answers_as_parquet_are_compressed_alike_and_hold_all_rows(staged: Path, tmp_path: Path, system: str) -> None:
    way, out = road.Way(Files(staged), "warm", PARQUET, tmp_path), tmp_path / "answer"
    case = Case(system, "q3", 2)
    road.run_one(case, way, out)
    metadata = [fragment.metadata for fragment in dataset(out, format=PARQUET).get_fragments()]
    columns = [each.row_group(0).column(0) for each in metadata if each.num_rows]
    assert {column.compression for column in columns} == {"SNAPPY"}
    wanted = fingerprint(QUERIES["q3"], duckdb_process.road("q3", Files(staged), 2).to_batches())
    assert road.answer_of(case, way) == wanted
    assert wanted[0] == sum(each.num_rows for each in metadata) > 0


def test_cold_files_are_read_from_the_disk_by_each_process(
    written: dict[str, Files], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for files in written.values():
        way = road.Way(files, "cold", "table", tmp_path)
        assert all([file.read_bytes() and pages_in_cache(file) for file in files.all()])
        monkeypatch.setattr(road, "run_one", lambda _, way, __: {"pages": sum(map(pages_in_cache, way.files.all()))})
        assert road.timed(OURS, way) == {"pages": 0}


@pytest.mark.parametrize(("asked", "state"), [([], "warm"), (["--cold"], "cold")])
def test_files_are_cold_where_asked_for(
    staged: Path, tmp_path: Path, asked: list[str], state: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    ways: list[road.Way] = []
    monkeypatch.setattr(road, "_measured", lambda _, way, __: ways.append(way) or [])
    assert main(["road", "--input", str(staged), "--json", str(tmp_path / "road.json"), *asked]) == 0
    assert [way.state for way in ways] == [state] * len(FORMATS)


def test_files_that_stay_in_memory_are_not_called_cold() -> None:
    with NamedTemporaryFile(dir="/dev/shm") as file:
        file.write(bytes(2 * mmap.PAGESIZE + 1))
        file.flush()
        with raises(CommandError, file.name, "3", "copy the input to a disk", "--cold"):
            leave_page_cache([Path(file.name)])


def test_ratios_are_to_the_better_one_round_by_round() -> None:
    seconds = {"tokenring": (2.0, 4.0, 4.0), "duckdb": (1.0, 8.0, 8.0), "polars": (4.0, 4.0, 4.0)}
    outcomes = {
        Case(system, "q2", 1): [{"running_s": each, "whole_s": each + 1} for each in of_system]
        for system, of_system in seconds.items()
    }
    (row,) = road.summarise(outcomes)
    assert (row["query"], row["workers"]) == ("q2", 1)
    assert row["running_s"]["duckdb"] == {"median": 8, "least": 1, "greatest": 8, "all": [1, 8, 8]}
    assert row["running_s"]["better"] == "polars"
    assert row["running_s"]["over_better"] == {"median": 1, "least": 1, "greatest": 2}
    assert row["whole_s"]["over_better"] == {"median": 1, "least": 1, "greatest": 5 / 3}
    faster = row | {"query": "q3", "running_s": row["running_s"] | {"over_better": {"median": 4, "least": 4}}}
    faster["running_s"]["over_better"]["greatest"] = 4
    rows = [one | {"rows": 7, "format": "csv", "files": "warm", "answers": "parquet"} for one in (row, faster)]
    cold = rows[0] | {"files": "cold"}
    _, *parts = road.tables({"parameters": {"events": 9, "rounds": 3}, "rows": [cold, *rows]})
    title, rendered, other_title, _ = parts
    assert title == "**From CSV files to Parquet files**"
    assert other_title == "**From cold CSV files to Parquet files**"
    assert "| Q2 | 1 | 7 | 4.00 | 8.00 | 4.00 | 1.00 (1.00 – 2.00) | 5.00 | 9.00 | 5.00 |" in rendered
    assert "| median of all | 1 |  |  |  |  | 2.50 |  |  |  | 1.00 |" in rendered
    assert "| least | 1 |  |  |  |  | 1.00 |  |  |  | 1.00 |" in rendered


@pytest.mark.usefixtures("no_memory_made_ready")
def test_a_row_for_each_query_of_three_processes(
    staged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "road.json"
    asked = ["--query", "q2", "--text-query", "q2"]
    options = ["--input", str(staged), "--workers", "1", "--rounds", "1", "--json", str(file)]
    options += ["--answers", *ANSWERED]
    beside = {*staged.parent.iterdir()}
    assert main(["road", *asked, *options]) == 0
    assert {*staged.parent.iterdir()} == beside
    data = orjson.loads(file.read_bytes())
    assert data["verified"] is True
    rows = {(row["format"], row["files"], row["answers"]): row for row in data["rows"]}
    assert {*rows} == {*product(FORMATS, ["warm"], ANSWERED)}
    assert len({row["rows"] for row in rows.values()} - {0}) == 1
    for system in ("tokenring", "duckdb", "polars"):
        for row in rows.values():
            ((running_s,), (whole_s,)) = (row[measure][system]["all"] for measure in ("running_s", "whole_s"))
            assert 0 < running_s < whole_s
    told = capsys.readouterr().out
    assert told.count("| Q2 | 1 |") == 6
    assert "**From files of JSON lines**" in told
    assert "**From files of JSON lines to Parquet files**" in told


def test_a_process_that_fails_is_told(staged: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(road.PROCESSES, "tokenring", "scripts.benchmarks.no_such_program")
    with raises(CommandError, "tokenring with 2 worker(s)", "q2", "no_such_program"):
        road.run_one(OURS, road.Way(Files(staged), "warm", "table", staged), None)
