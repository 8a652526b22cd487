"""`tokenring bench migration`: its moves, its rows, and what it says of what failed."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import orjson
import pytest

from tests.nexmark.helpers import tokenring
from tokenring.nexmark.bench.figures import render
from tokenring.nexmark.bench.migration import MIGRATION, measured_key_count
from tokenring.nexmark.bench.migration.moving import half_away
from tokenring.nexmark.bench.migration.timeline import SLOT_NS, coarser, duration_above_s, greatest_ms, quantiles_ms
from tokenring.nexmark.bench.parts import record
from tokenring.nexmark.bench.parts.plots import drawn
from tokenring.nexmark.measure import BINS

ROW = {"workload", "keys_log2", "bins_log2", "workers", "plan", "rows_moved", "bytes_moved", "away", "back", "timeline"}


def test_half_of_each_workers_bins_go_away() -> None:
    away = half_away(np.array([0, 0, 1, 1, 1, 2]), 3)
    assert away == {0: 1, 2: 2, 4: 2, 5: 0}


def test_quantiles_and_timelines_are_of_the_slots_asked_for() -> None:
    part = {
        "at_ns": np.array([0, SLOT_NS, 2 * SLOT_NS, 3 * SLOT_NS]),
        "used": np.array([BINS // 2, BINS // 2 + 64]),
        "counts": np.array([[1000, 0], [0, 1], [10, 0]]),
    }
    low, high = (quantiles_ms([part], at, at + 1)["max_ms"] for at in (SLOT_NS, 2 * SLOT_NS))
    assert low is not None and high is not None and low < high
    whole = quantiles_ms([part, part], 0, 4 * SLOT_NS)
    assert (whole["p50_ms"], whole["max_ms"]) == (low, high)
    assert quantiles_ms([part], 9 * SLOT_NS, 10 * SLOT_NS)["p50_ms"] is None
    timeline = greatest_ms([part], 0, 4 * SLOT_NS)
    assert [latency for _, latency in timeline] == [low, high, low]
    assert duration_above_s(timeline, 0.0, 1.0, low) == SLOT_NS / 1e9
    assert coarser([*timeline, [0.06, 7.0]]) == [[0.0, round(high, 3)], [0.05, 7.0]]


def test_half_of_the_keys_go_away_and_back() -> None:
    point = {"workload": "key-count", "keys_log2": 10, "bins_log2": 4, "workers": 2, "plan": "all_at_once", "rate": 5e4}
    row = measured_key_count(point, 0.2) | {"error": None}
    assert row.keys() >= ROW
    assert 2 * 400 < row["rows_moved"] < 2 * 624  # about half of the keys, all of which have come, twice
    assert row["bytes_moved"] >= 16 * row["rows_moved"]
    assert row["away"]["seconds"] > 0 and row["back"]["seconds"] > 0
    data = record("bench-migration", {"rate": 5e4, "seconds": 0.2}, complete=True, rows=[row])
    assert render(data).count("key-count") == 1
    assert b"svg" in (drawn(MIGRATION.panels, [row]) or b"")


def test_the_command_writes_its_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    options = "--quick", "--seconds", "1", "--plan", "fluid", "--json", tmp_path / "m.json"
    done = tokenring(capsys, "bench", "migration", *options)
    assert done.status == 0, done.err
    data = orjson.loads((tmp_path / "m.json").read_bytes())
    (row,) = data["rows"]
    assert row["plan"] == "fluid" and row["error"] is None and row["rows_moved"] > 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["m.json", "m.md", "m.svg"]


def test_a_plan_that_is_not_there_is_told(capsys: pytest.CaptureFixture[str]) -> None:
    done = tokenring(capsys, "bench", "migration", "--quick", "--seconds", "0.1", "--plan", "slowly")
    assert done.status == 2, "before anything runs"
    assert "slowly" in done.err
