"""The idle experiment: its row, its updates, and that a region's operators are no work for progress tracking."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from tests.engine.helpers import settle, simulated
from tokenring.engine import Worker
from tokenring.nexmark.bench.experiments import idle
from tokenring.nexmark.bench.experiments.idle import _declare, measure


@pytest.mark.parametrize("workers", [1, 2])
def test_a_small_one_runs(workers: int) -> None:
    row = measure(dataflows=6, operators=20, workers=workers, steps=8, operator_kind="fused")
    assert {name: row[name] for name in ("dataflows", "operators", "workers", "steps")} == {
        "dataflows": 6,
        "operators": 20,
        "workers": workers,
        "steps": 8,
    }
    assert row["step_ms_no_update"] > 0
    assert 0 < row["step_ms"] <= row["step_p99_ms"] <= row["step_max_ms"]
    assert row["build_s"] > 0
    assert row["peak_rss_mb"] > 0
    assert row["rows_out"] == 16, "an update a step, those to warm up included"


def test_a_step_lasts_until_what_was_sent_has_come_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on a millisecond with each step of the worker."""
    step, steps = Worker.step_or_park, [0]

    def counted(worker: Worker) -> None:
        steps[0] += 1
        step(worker)

    monkeypatch.setattr(Worker, "step_or_park", counted)
    monkeypatch.setattr(idle, "time", SimpleNamespace(monotonic_ns=lambda: steps[0] * 1_000_000))
    row = measure(dataflows=6, operators=20, workers=1, steps=8, operator_kind="fused")
    assert row["step_ms"] >= 1


def test_operators_of_a_region_are_no_locations() -> None:
    used = []
    for operators in (1, 10, 1000):
        with simulated() as group:
            worker = group.workers[0]
            passed = [0]
            with group.building(worker):
                handle, probe = _declare(worker, operators, "fused", passed)
            used.append(worker.tracker.tables.locations_used)
            handle.send({"key": [3, -1], "change": [1, 1]})
            handle.advance_to(1)
            settle(group)
            assert not probe.less_than(1)
            assert passed == [2 if operators == 1 else 1], "negative keys pass arrange and no filter"
            handle.close()
            settle(group)
    assert used[0] == used[1] == used[2]
