"""`benchmark recovery`: a run has what its row is made of."""

from __future__ import annotations

import pytest

from scripts.benchmarks import recovery
from scripts.benchmarks.recovery import Case


@pytest.mark.parametrize("query", ["q4", "q18"])
def test_blocks_are_late_or_not_during_snapshots(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two workers: each block is fed by one of them. Events come more than once."""
    monkeypatch.setattr(recovery, "_PASS", 20_000)
    monkeypatch.setattr(recovery, "_WARM_S", 0.2)
    for seconds in (0.6, 6.0):  # a busy machine may come to no snapshot in the first
        case = Case(query, 2, "100ms", 1e5, seconds)
        found = recovery._run(case)
        if found["snapshots"]:
            break
    assert found["snapshots"] and all(0 < one["stood_ms"] < 1e3 * one["seconds"] for one in found["snapshots"])
    assert found["events_per_second"] == pytest.approx(1e5, rel=0.3)
    assert 800 * seconds < len(found["late_ms"]) <= 1_000 * seconds and all(late >= 0 for _, late in found["late_ms"])
    run = found | {"hiccups_ms": [{"p999": 0.1, "max": 0.2}]}
    row = recovery._row(case, [run], [run])
    assert row["ratio"]["median"] == 1 and row["latency_ms"]["during"]["p99"] >= row["latency_ms"]["during"]["p50"] > 0
    parameters = {"rounds": 1, "every": "100ms", "seconds": 1, "rate": 1e5}
    assert f"| {query} | 2 |" in recovery.tables({"parameters": parameters, "rows": [row]})[-1]


def test_a_closed_loop_has_no_times(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recovery, "_WARM_S", 0.2)
    monkeypatch.setattr(recovery, "_PASS", 100_000)
    found = recovery._run(Case("q4", 1, "", 0.0, 0.3))
    assert (found["late_ms"], found["snapshots"]) == ([], []) and found["events_per_second"] > 1e5
