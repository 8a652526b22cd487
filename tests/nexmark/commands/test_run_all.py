"""`tokenring run all`, and results that are not gathered: the table, its JSON, files of every kind, failures."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import orjson
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tests.nexmark.answers import write_answer
from tests.nexmark.helpers import seal_generated, tokenring
from tokenring.nexmark.commands import run_all
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run import on_behalf as run_query
from tokenring.nexmark.run import runner
from tokenring.tools.errors import RunError

EVENTS = 20_000


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("run") / "events", GeneratorConfig(EVENTS, rate=2_000, seed=5))


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two queries, a large result and a small one, stand for all; the machine's hiccups are not asked for."""
    monkeypatch.setattr(runner, "HICCUP_S", 0.02)
    monkeypatch.setattr("tokenring.nexmark.commands.run.QUERIES", ("q0", "q7"))


@pytest.mark.usefixtures("answers_alone_count")
def test_the_table(capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path) -> None:
    file = tmp_path / "rows.json"
    told = tokenring(capsys, "run", "all", "--input", staged, "--workers", "2", "--rate", "200000", "--json", file)
    assert told.status == 0, told.err
    (q0, q7) = orjson.loads(file.read_bytes())["rows"]
    assert (q0["query"], q7["query"], q0["events"], q7["workers"]) == ("q0", "q7", EVENTS, 2)
    assert (q0["result_rows"], q7["result_rows"]) == (EVENTS * 46 // 50, 1)
    for row in (q0, q7):
        assert row["events_per_second"] > 0
        assert 0 < row["p50_ms"] <= row["p99_ms"] <= row["max_ms"]
        assert (row["verified"], row["error"], row["failed"]) == (None, None, False)
    assert told.out.count("0.20 M") + told.out.count("200,000") == 2, "the rate offered"


def test_all_that_has_a_mechanism(capsys: pytest.CaptureFixture[str], staged: Path) -> None:
    told = tokenring(capsys, "run", "all", "--input", staged, "--mechanism", "notifications", "--json", "-")
    assert [row["query"] for row in orjson.loads(told.out)["rows"]] == ["q7"]


def test_one_failure_does_not_stop_the_others(
    capsys: pytest.CaptureFixture[str], staged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    execute = run_query.execute_plan

    def fail_q0(plan: Any, *arguments: Any, **named: Any) -> Any:
        if plan.query == "q0":
            raise RunError("worker 1 ended")
        return execute(plan, *arguments, **named)

    monkeypatch.setattr(run_all, "execute_plan", fail_q0)
    told = tokenring(capsys, "run", "all", "--input", staged, "--json", "-")
    assert told.status == 1
    assert told.err == "tokenring: q0 failed: worker 1 ended\n"
    rows = orjson.loads(told.out)["rows"]
    assert [(row["error"], row["failed"]) for row in rows] == [("worker 1 ended", True), (None, False)]


def _with_answer(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, staged: Path, events: int) -> None:
    """Have DuckDB's answer over the first events stand in for Spark's, which takes a while."""

    def answers(queries: Sequence[str], *_: Any, **__: Any) -> dict[str, Path]:
        for query in queries:
            write_answer(query, staged, tmp_path / f"{query}.parquet", events)
        return {query: tmp_path / f"{query}.parquet" for query in queries}

    monkeypatch.setattr("tokenring.nexmark.oracle.answers", answers)


def test_large_results_are_verified_too(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_answer(monkeypatch, tmp_path, staged, EVENTS)
    told = tokenring(capsys, "run", "all", "--input", staged, "--verify", "--json", "-")
    assert (told.status, told.err) == (0, "")
    assert [row["verified"] for row in orjson.loads(told.out)["rows"]] == [True, True]


def test_a_wrong_result_is_told(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _with_answer(monkeypatch, tmp_path, staged, EVENTS // 2)
    told = tokenring(capsys, "run", "q0", "--input", staged, "--verify")
    assert told.status == 1
    assert f"differs from Spark SQL: {EVENTS * 46 // 50:,} rows, expected" in told.err
    assert "NO" in told.out


@pytest.mark.parametrize("ending", [".parquet", ".arrow", ".jsonl"])
def test_rows_as_files(capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path, ending: str) -> None:
    file = tmp_path / f"rows{ending}"
    told = tokenring(capsys, "run", "q0", "--input", staged, "--out", file, "--events", "5000", "--json", "-")
    assert told.status == 0
    outcome = orjson.loads(told.out)
    read = {
        ".parquet": lambda: pq.read_table(file).to_pylist(),
        ".arrow": lambda: pa.ipc.open_file(pa.memory_map(str(file))).read_all().to_pylist(),
        ".jsonl": lambda: [orjson.loads(line) for line in file.read_bytes().splitlines()],
    }
    rows = read[ending]()
    assert (len(rows), outcome["result_rows"]) == (4600, 4600)
    assert outcome["result"] == rows[: runner.SHOWN_ROWS]
    assert rows[0].keys() == set(QUERIES["q0"].result.names)
    assert list(tmp_path.iterdir()) == [file], "nothing temporary is left"


def test_rows_of_all_queries_have_no_file(capsys: pytest.CaptureFixture[str], tmp_path: Path, staged: Path) -> None:
    told = tokenring(capsys, "run", "all", "--input", staged, "--out", tmp_path / "rows.parquet")
    assert (told.status, told.err.count("\n")) == (2, 1)
    assert "--out" in told.err
