"""`tokenring bench collections`: what it loads and changes, and its rows."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import orjson
import pytest

from tests.nexmark.helpers import tokenring
from tokenring.engine import Config, Worker, execute
from tokenring.nexmark.bench.collections import WORKLOADS, imports, measured, records, sized
from tokenring.nexmark.bench.collections.closed_loop import AT_REST, ClosedLoop
from tokenring.operators import collect

ROW = {"workload", "workers", "epoch_rows", "changes_per_second", "p50_ms", "p99_ms", "load_s", "rss_mb"}
KEYS, VALUES, RECORDS = 50, 1 << 62, 1_000
"""Of a small loop."""


@pytest.fixture(autouse=True)
def short_hiccup_meters(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(measured, "HICCUP_S", 0.02)


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize("only_adds", [False, True])
def test_a_loop_loads_all_records_and_replaces_the_oldest(workers: int, only_adds: bool) -> None:
    def program(worker: Worker) -> tuple[list[list[list[int]]], list[int]]:
        with worker.dataflow() as scope:
            place = worker.index, worker.peers
            phases = [(1, 60.0, 12 * worker.peers), (100, 60.0, 600)]
            streams = 1 if only_adds else 2
            loop = ClosedLoop(scope, streams, RECORDS, (KEYS, VALUES), phases, place, only_adds)
            seen = [collect(stream) for stream in loop.streams]
            probe = loop.streams[0].probe()
            loop.watch(probe)
        loop.start_at(worker.barrier())
        worker.step_while(lambda: probe.less_than(AT_REST))
        loop.end()
        worker.run()
        rows = [[column.tolist() for column in each.columns().values()] for each in seen]
        return rows, [len(loop.latencies_ns(phase)) for phase in range(2)]

    parts = execute(program, config=Config(workers=workers))
    for stream in range(1 if only_adds else 2):
        there: Counter[tuple[int, int]] = Counter()
        for rows, _ in parts:
            for key, value, times in zip(*rows[stream], strict=True):
                there[key, value] += times
        expected: Counter[tuple[int, int]] = Counter()
        changed = sum(len(rows[stream][0]) for rows, _ in parts) - RECORDS
        numbers = range(RECORDS + changed) if only_adds else range(changed // 2, RECORDS + changed // 2)
        keys, values = records(0, RECORDS + changed, stream, KEYS, VALUES)
        for number in numbers:
            expected[int(keys[number]), int(values[number])] += 1
        assert +there == expected
    assert min(epochs for _, counts in parts for epochs in counts) >= 6


@pytest.mark.parametrize("name", WORKLOADS)
def test_every_workload_gives_its_rows(name: str) -> None:
    workload = sized(WORKLOADS[name], 0.001)
    rows = measured.measured(workload, 2, 0.05)
    assert [row["epoch_rows"] for row in rows] == list(workload.epochs or [workload.records])
    for row in rows:
        assert row.keys() >= ROW
        assert 0 < row["p50_ms"] <= row["p99_ms"]
        assert row["changes_per_second"] > 0


def test_the_command_writes_what_it_measured(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    asked = "bench collections --workload count --workers 1 --scale 0.001 --seconds 0.05 --json"
    outcome = tokenring(capsys, *asked.split())
    assert outcome.status == 0
    data = orjson.loads(outcome.out)
    assert data["benchmark"] == "bench-collections"
    assert data["complete"] is True
    assert [(row["workload"], row["workers"], row["epoch_rows"]) for row in data["rows"]] == [
        ("count", 1, rows) for rows in (1, 10, 100, 1_000)
    ]
    assert all(row.keys() >= ROW and row["rss_mb"] > 10 for row in data["rows"]), "an interpreter with numpy"
    written = tokenring(capsys, *asked.split(), tmp_path / "figures.json")
    assert "| count | 1 | 1,000 |" in written.out
    assert orjson.loads((tmp_path / "figures.json").read_bytes())["parameters"]["workload"] == ["count"]


def test_imports_are_as_slow_as_their_slowest_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    """But of look-ups, which each worker does by itself, all count."""
    asked = dict.fromkeys(imports._ASKED, 0.5)
    parts = [
        {"load_s": 2.0, "rss_mb": 70.0, "look_ups_s": [0.4, 0.001, 0.002], "asked_s": asked},
        {"load_s": 3.0, "rss_mb": 0.0, "look_ups_s": [0.2, 0.003, 0.004], "asked_s": dict.fromkeys(asked, 0.25)},
    ]
    monkeypatch.setattr(imports, "execute", lambda program, config: parts)
    first, further, *queries = imports.measured_imports(2, 0.01)
    for row in (first, further, *queries):
        assert (row["workers"], row["load_s"], row["rss_mb"]) == (2, 3.0, 70.0)
    assert (first["max_ms"], first["epochs"]) == (400.0, 1)
    assert (further["max_ms"], further["p50_ms"], further["epochs"]) == (4.0, 2.5, 4)
    assert [(row["max_ms"], row["epochs"]) for row in queries] == [(500.0, 1)] * len(asked)
