"""`tokenring run` as a command: the JSON contract, files, exit statuses, and each mistake named on one line."""

from __future__ import annotations

import os
import re
import shutil
from pathlib import Path
from typing import Any

import orjson
import pyarrow.parquet as pq
import pytest

from tests.nexmark.answers import write_answer
from tests.nexmark.helpers import Outcome, seal_generated, tokenring
from tests.nexmark.run_helpers import expected, hand_made
from tokenring.engine import BrokenInvariant
from tokenring.engine.progress.validation import Validator
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.events.schema import STREAMS
from tokenring.nexmark.run import runner

EVENTS = 60_000


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("run") / "events", GeneratorConfig(EVENTS, rate=2_000, seed=5))


@pytest.fixture(autouse=True)
def short_hiccup_meter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "HICCUP_S", 0.02)


def _is_complaint(outcome: Outcome, status: int, *named: str) -> None:
    assert outcome.status == status, outcome
    assert outcome.out == ""
    assert outcome.err.count("\n") == 1, outcome.err
    assert outcome.err.startswith("tokenring: error: ")
    for text in named:
        assert text in outcome.err


# What a run gives


@pytest.mark.parametrize("query", ["q4", "q7"])
@pytest.mark.parametrize("rate", [None, 300_000])
@pytest.mark.usefixtures("answers_alone_count")
def test_the_json_object(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, query: str, rate: int | None
) -> None:
    file = tmp_path / "outcome.json"
    pace = [] if rate is None else ["--rate", str(rate)]
    assert tokenring(capsys, "run", query, "--input", staged, "--workers", "2", "--json", file, *pace).status == 0
    outcome = orjson.loads(file.read_bytes())
    kinds: dict[str, Any] = {
        "query": str,
        "engine": str,
        "workers": int,
        "mechanism": str,
        "events": int,
        "seconds": float,
        "events_per_second": float,
        "dnf": bool,
        "cpu_seconds": float,
        "peak_rss_mb": float,
        "verified": type(None),
        "result": list,
    }
    assert {name: type(outcome[name]) for name in kinds} == kinds
    assert (outcome["query"], outcome["workers"], outcome["mechanism"]) == (query, 2, "tokens")
    assert (outcome["events"], outcome["dnf"]) == (EVENTS, False)
    assert outcome["events_per_second"] == pytest.approx(EVENTS / outcome["seconds"])
    assert outcome["cpu_seconds"] > 0
    assert 10 < outcome["peak_rss_mb"] < 10_000
    assert outcome["result"] == expected(query, staged)
    latency = outcome["latency_ms"]
    if rate is None:
        assert latency is None
    else:
        assert set(latency) == {"p50", "p99", "p999", "max"}
        assert 0 < latency["p50"] <= latency["p99"] <= latency["p999"] <= latency["max"]
        # It ends when the last event is due, or later; half an event's time is rounding.
        assert outcome["seconds"] >= (EVENTS - 1) / rate - 1e-4


def test_json_to_standard_output_is_all_there_is(capsys: pytest.CaptureFixture[str], staged: Path) -> None:
    outcome = tokenring(capsys, "run", "q7", "--input", staged, "--json", "-")
    assert outcome.status == 0
    assert orjson.loads(outcome.out)["result"] == expected("q7", staged)
    assert outcome.err == ""


@pytest.mark.parametrize("query", ["q4", "q7"])
def test_the_rows_as_parquet(capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, query: str) -> None:
    file = tmp_path / "rows.parquet"
    file.write_text("of an earlier run")
    assert tokenring(capsys, "run", query, "--input", staged, "--out", file).status == 0
    table = pq.read_table(file)
    assert table.to_pylist() == expected(query, staged)
    assert {str(field.type) for field in table.schema} == {"int64"}
    assert list(tmp_path.iterdir()) == [file]


def test_an_empty_result_has_its_columns(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = hand_made(tmp_path / "events", [{"id": 1}])
    outcome = tokenring(capsys, "run", "q4", "--input", folder, "--out", tmp_path / "rows.parquet")
    assert outcome.status == 0
    table = pq.read_table(tmp_path / "rows.parquet")
    assert (table.num_rows, table.column_names) == (0, ["category", "average", "count"])


@pytest.mark.parametrize("query", ["q4", "q7"])
def test_exhaustive_checks_find_nothing(capsys: pytest.CaptureFixture[str], staged: Path, query: str) -> None:
    checked = (
        "run",
        query,
        "--input",
        staged,
        "--workers",
        "2",
        "--batch",
        "500",
        "--json",
        "-",
        "--checks",
        "exhaustive",
    )
    outcome = tokenring(capsys, *checked)
    assert outcome.status == 0, outcome.err
    assert orjson.loads(outcome.out)["result"] == expected(query, staged)


def test_what_exhaustive_checks_find_is_said(
    capsys: pytest.CaptureFixture[str], staged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def doubt(*_: object) -> None:
        raise BrokenInvariant("worker 0 is about to drop 1")

    monkeypatch.setattr(Validator, "check_batch", doubt)
    asked = ("run", "q4", "--input", staged, "--workers", "2")
    assert tokenring(capsys, *asked).status == 0
    _is_complaint(tokenring(capsys, *asked, "--checks", "exhaustive"), 1, "worker 0 is about to drop 1")


def test_the_report_for_people(capsys: pytest.CaptureFixture[str], staged: Path, answers_alone_count: None) -> None:
    outcome = tokenring(capsys, "run", "q4", "--input", staged, "--rate", "300000", "--workers", "2")
    assert outcome.status == 0
    assert outcome.err == "", "no progress bar in a pipe"
    for text in ("q4", "2 worker(s)", "60,000", "p50", "p99.9", "hiccups", "not asked", "category", "average"):
        assert text in outcome.out
    assert "\x1b[" not in outcome.out, "no colours in a pipe"


def test_falling_behind_ends_the_run_soon(capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path) -> None:
    """Batches of one event, each step doubted, cannot keep up with 100 M/s: a second behind long before the end."""
    file = tmp_path / "outcome.json"  # in the second that it may be behind, some hundreds of events are done
    arguments = ["--rate", "100000000", "--batch", "1", "--workers", "2", "--checks", "exhaustive", "--json", str(file)]
    outcome = tokenring(capsys, "run", "q4", "--input", staged, *arguments)
    assert outcome.status == 1
    assert "DNF" in outcome.out
    told = orjson.loads(file.read_bytes())
    assert told["dnf"] is True
    assert 2 * told["events"] < told["planned_events"] == EVENTS, "it ended soon after it fell behind"


@pytest.mark.slow
@pytest.mark.spark
def test_verified_against_spark(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    folder = seal_generated(tmp_path / "events", GeneratorConfig(20_000, rate=1_000, seed=8))
    file = tmp_path / "outcome.json"
    outcome = tokenring(capsys, "run", "q4", "--input", folder, "--verify", "--json", file, "--events", "15000")
    assert outcome.status == 0, outcome.err
    assert orjson.loads(file.read_bytes())["verified"] is True


def test_a_wrong_answer_is_said_and_fails(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Bids that the oracle sees and the engine does not: the answer it keeps is one of another prefix."""
    answer = tmp_path / "answer.parquet"
    write_answer("q7", staged, answer, EVENTS // 2)
    monkeypatch.setattr("tokenring.nexmark.oracle.answers", lambda *_, **__: {"q7": answer})
    file = tmp_path / "outcome.json"
    outcome = tokenring(capsys, "run", "q7", "--input", staged, "--verify", "--json", file)
    assert outcome.status == 1
    assert "differs from Spark SQL: window_end" in outcome.err
    assert orjson.loads(file.read_bytes())["verified"] is False


# What cannot be run


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ("--workers -1", "--workers"),
        ("--workers -2", "--workers"),
        ("--workers 513", "--workers"),
        ("--workers two", "--workers"),
        ("--rate 0", "--rate"),
        ("--rate -1", "--rate"),
        ("--rate 1e13", "--rate"),
        ("--rate fast", "--rate"),
        ("--rate nan", "--rate"),
        ("--rate inf", "--rate"),
        ("--rate 1000 --duration 0", "--duration"),
        ("--rate 1000 --duration nan", "--duration"),
        ("--duration 5", "--rate"),
        ("--mechanism barriers", "--mechanism"),
        ("--mechanism watermarks-P", "watermarks-X or sequential"),
        ("--micro-batch 2", "--micro-batch"),
        ("--mechanism sequential --micro-batch 0", "--micro-batch"),
        ("--mechanism sequential --micro-batch nan", "--micro-batch"),
        ("--events 0", "--events"),
        ("--batch 0", "--batch"),
        (f"--batch {2**63}", "--batch"),
        ("--input=", "--input"),
        ("--queue-kib 3", "--queue-kib"),
        ("--queue-kib 5", "--queue-kib"),
        ("--queue-kib 4294967296", "--queue-kib"),
        ("--checks some", "--checks"),
        ("--nonsense", "--nonsense"),
        ("surplus", "surplus"),
        ("--out rows.csv", ".jsonl"),
    ],
)
def test_a_bad_option_is_named(capsys: pytest.CaptureFixture[str], staged: Path, arguments: str, named: str) -> None:
    _is_complaint(tokenring(capsys, "run", "q4", "--input", staged, *arguments.split()), 2, named)


def test_a_query_that_there_is_not(capsys: pytest.CaptureFixture[str], staged: Path) -> None:
    _is_complaint(tokenring(capsys, "run", "q99", "--input", staged), 2, "q99", "q4", "q7", "all")
    _is_complaint(tokenring(capsys, "run", "q4"), 2, "--input")


@pytest.mark.parametrize("option", ["--json", "--out"])
def test_a_target_that_cannot_be_written(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, option: str
) -> None:
    missing = tmp_path / "missing" / "file"
    _is_complaint(tokenring(capsys, "run", "q7", "--input", staged, option, missing), 2, str(missing))
    (tmp_path / "folder").mkdir()
    _is_complaint(tokenring(capsys, "run", "q7", "--input", staged, option, tmp_path / "folder"), 2, "folder")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["folder"]


def test_one_file_for_the_outcome_and_the_rows(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path
) -> None:
    (tmp_path / "link.jsonl").symlink_to(tmp_path / "rows.jsonl")
    files = ["--json", tmp_path / "rows.jsonl", "--out", tmp_path / "link.jsonl"]
    _is_complaint(tokenring(capsys, "run", "q7", "--input", staged, *files), 2, "--out", "--json", "name two files")
    assert not (tmp_path / "rows.jsonl").exists()


def test_a_folder_that_holds_no_events(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    _is_complaint(tokenring(capsys, "run", "q4", "--input", tmp_path / "none"), 2, str(tmp_path / "none"), "stage")
    _is_complaint(tokenring(capsys, "run", "q4", "--input", tmp_path), 2, str(tmp_path), "manifest.json")
    empty = hand_made(tmp_path / "empty")
    _is_complaint(tokenring(capsys, "run", "q4", "--input", empty), 2, str(empty), "no events")


def _read_columns() -> list[str]:
    return ["bid.price", "bid.date_time", "bid.auction", "bid.event", "auction.expires", "auction.id"]


@pytest.mark.parametrize("column", _read_columns())
def test_a_changed_byte_in_a_column_that_is_read(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, column: str
) -> None:
    folder = shutil.copytree(staged, tmp_path / "events")
    file = folder / "columns" / f"{column}.i64"
    octets = bytearray(file.read_bytes())
    octets[len(octets) // 2] ^= 1
    file.write_bytes(octets)
    _is_complaint(tokenring(capsys, "run", "q4", "--input", folder), 2, file.name, "checksum")


def test_a_short_column_and_a_changed_manifest(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path
) -> None:
    folder = shutil.copytree(staged, tmp_path / "short")
    file = folder / "columns" / f"{next(iter(STREAMS))}.id.i64"
    os.truncate(file, 8)
    _is_complaint(tokenring(capsys, "run", "q7", "--input", folder), 2, file.name, "bytes")
    folder = shutil.copytree(staged, tmp_path / "manifest")
    manifest = folder / "manifest.json"
    manifest.write_text(manifest.read_text().replace(str(EVENTS), str(EVENTS - 1)))
    _is_complaint(tokenring(capsys, "run", "q7", "--input", folder), 2, "manifest.json", "checksum")


def test_more_shared_memory_than_there_is(capsys: pytest.CaptureFixture[str], staged: Path) -> None:
    """Nobody has the terabytes that queues of 2 GiB between 64 workers need."""
    outcome = tokenring(capsys, "run", "q7", "--input", staged, "--workers", "64", "--queue-kib", str(1 << 21))
    _is_complaint(outcome, 2, "/dev/shm")
    assert re.search(r"queue|workers", outcome.err)


def test_a_sum_that_leaves_int64_is_an_error_and_no_result(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    auctions = [{"id": at, "reserve": 0} for at in range(2)]
    folder = hand_made(tmp_path / "events", auctions, [{"auction": at, "price": 2**63 - 1} for at in range(2)])
    file = tmp_path / "outcome.json"
    outcome = tokenring(capsys, "run", "q4", "--input", folder, "--json", file)
    _is_complaint(outcome, 1, "OverflowError", "average_by_category")
    assert not file.exists()
