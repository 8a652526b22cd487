"""What the benchmarks are made of: the floor, the counters, rounds, and what is concluded from figures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from scripts import floor
from scripts.benchmarks import latency, memory, nexmark, step_profile
from scripts.benchmarks import open as open_loop
from scripts.benchmarks.open import CALLBACK, LATENCIES, of_those_that_held, summarise
from scripts.benchmarks.references import Case
from scripts.benchmarks.references.answers import require_equal_results
from tests.errors import raises
from tokenring.engine import COMPLETE, Config, Worker
from tokenring.engine.worker.simulation import SimulatedGroup
from tokenring.nexmark.measure import verdict
from tokenring.nexmark.queries.q7 import WINDOW_NS
from tokenring.nexmark.run.runner import Plan
from tokenring.shm.queues.progress_ring import CHANGE_WORDS
from tokenring.tools.errors import CommandError

pytestmark = pytest.mark.usefixtures("no_memory_made_ready")


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("rate", [None, 100_000.0])
def test_the_floor_passes_every_row(workers: int, rate: float | None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(verdict, "BEHIND_NS", 2**62)  # a machine that stands still for a second ends no run here
    keys, values = np.arange(7_001) % 97, np.arange(7_001)
    plan = Plan("floor", "", workers, rate=rate, block=1_000)
    outcome = floor.measure_floor(keys, values, workers, plan, 50_003)
    assert outcome["events"] == 50_003
    assert not outcome["dnf"]
    assert (outcome["latency_ms"] is None) == (rate is None)
    if outcome["latency_ms"]:
        assert 0 < outcome["latency_ms"]["p50"] <= outcome["latency_ms"]["max"]


def test_the_floor_falls_behind_a_rate_that_nobody_holds() -> None:
    rows = np.arange(100_000)
    outcome = floor.measure_floor(rows, rows, 1, Plan("floor", "", 1, rate=2e9, duration_s=60, block=64), 10**11)
    assert outcome["dnf"]
    assert outcome["events"] < 10**11


def test_the_floors_kernels_keep_maxima_and_settle_all_counts() -> None:
    rng = np.random.default_rng(5)
    keys, values = rng.integers(-50, 50, 3_000), rng.integers(0, 10**6, 3_000)
    group = SimulatedGroup(Config(workers=2))
    tables_of = {}
    for worker in group.workers:
        counts = np.zeros((2, 16, 2), np.int64)
        counts[floor.TOKENS, 0] = 0, 2
        sizes = np.array([1, 0])
        tables_of[worker.index] = (
            np.full((512, 2), floor.FREE),
            np.zeros(100 * CHANGE_WORDS, np.int64),
            np.zeros(1, np.int64),
            counts,
            sizes,
        )
    frontiers = [0, 0]

    def turn(worker: Worker) -> None:
        best, changes, used, counts, sizes = tables_of[worker.index]
        floor.take(worker.plane.incoming, worker.plane.inbox, best, changes, used)
        before = frontiers[worker.index]
        frontiers[worker.index] = floor.exchange(worker.progress.ring, changes, used, counts, sizes, before)

    for worker in group.workers:
        _, changes, used, _, _ = tables_of[worker.index]
        plane, half = worker.plane, slice(worker.index * 1_500, (worker.index + 1) * 1_500)
        mine = keys[half].copy(), values[half].copy()
        assert floor.send(*mine, 0, 1_500, plane.outgoing, plane.routes, plane.counts, 0, 7, changes, used) == 2
    for worker in group.workers:
        turn(worker)
    turn(group.workers[0])
    assert frontiers[0] == 7  # every row of time 0 was taken in, and both tokens are at 7
    for worker in group.workers:
        floor.log_change(tables_of[worker.index][1], tables_of[worker.index][2], floor.TOKENS, -1, 7)
        turn(worker)
    turn(group.workers[0])
    assert frontiers == [COMPLETE, COMPLETE]
    found = {int(key): int(value) for best, *_ in tables_of.values() for key, value in best if key != floor.FREE}
    assert found == {int(key): int(values[keys == key].max()) for key in np.unique(keys)}
    group.close()


def test_counters_are_gone_after_a_measuring_run(tmp_path: Path) -> None:
    before = [(owner, method, owner.__dict__[method]) for owner, method, _ in step_profile.PARTS]
    run = Worker.run

    def fail_while_counting() -> None:
        with step_profile.counting(tmp_path):
            assert Worker.run is not run
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail_while_counting()
    assert Worker.run is run
    assert [(owner, method, owner.__dict__[method]) for owner, method, _ in step_profile.PARTS] == before


def test_own_time_leaves_out_what_is_called() -> None:
    counters = step_profile.Counters()

    class Outer:
        def step(self) -> bool:
            for _ in range(3):
                Inner().look()
            return True

    class Inner:
        def look(self) -> int:
            return sum(range(20_000))

    Inner.look = counters.around(Inner.look, "look")  # type: ignore[method-assign]
    counters.around(Outer.step, "step")(Outer())
    calls, own_ns, whole_ns = counters.parts["step"]
    assert (calls, counters.parts["look"][0], counters.parts["idle step"][0]) == (1, 3, 0)
    assert counters.parts["look"][1] == counters.parts["look"][2]
    assert own_ns == pytest.approx(whole_ns - counters.parts["look"][2])


def test_a_rate_is_held_up_to_the_first_that_is_not() -> None:
    rows = [
        {"system": "q4", "workers": 1, "rate": rate, "rounds": 3, "held": held}
        for rate, held in ((1, 3), (2, 2), (3, 3))
    ]
    assert latency.held(rows) == [{"system": "q4", "workers": 1, "rate": 1, "failed_above": True}]


def test_latencies_are_of_runs_that_held_and_hiccups_the_worst_of_their_meters() -> None:
    def run(verdict: str, p50: float, *meters: float) -> dict[str, Any]:
        latency_ms = dict.fromkeys(("p99", "p999", "max"), 9.0) | {"p50": p50}
        return {"verdict": verdict, "latency_ms": latency_ms, "hiccups_ms": [{"p999": m, "max": m} for m in meters]}

    assert of_those_that_held([run("held", 1.0, 4.5), run("held", 1.0, 3.5), run("dnf", 1.0, 4.5)])["even"] == 1
    runs = [run("held", 1.0, 0.1, 0.4), run("undecided", 7.0, 5.0), run("dnf", 8.0, 6.0), run("held", 2.0, 0.2)]
    found = of_those_that_held(runs)
    assert (found["rounds"], found["held"], found["latency_ms"]["p50"]) == (4, 2, 1.5)
    assert found["even"] == 0, "9 ms are too late beside hiccups of a fraction of one"
    assert found["hiccup_ms"] == {"p999": pytest.approx(0.3), "max": pytest.approx(0.3)}


def test_what_ends_in_python_stands_beside_what_does_not() -> None:
    def run(verdict: str, p50: float, callback: dict[str, Any] | None = None) -> dict[str, Any]:
        of_run = {"verdict": verdict, "hiccups_ms": [{"p999": 1.0, "max": 1.0}], "slope": 0.0, "anonymous_mb": 9.0}
        return of_run | {"latency_ms": dict.fromkeys(LATENCIES, p50), "seconds": 2.0, "callback": callback}

    def seen(calls: int, rows: int, p50: float | None) -> dict[str, Any]:
        return {"calls": calls, "rows": rows, "latency_ms": dict.fromkeys(LATENCIES, p50)}

    plain, at_end = (Case(system, "q1", 2) for system in ("tokenring", CALLBACK))
    outcomes = {
        plain: [run("held", 1.0), run("held", 3.0)],
        at_end: [run("held", 4.0, seen(20, 400, 5.0)), run("dnf", 90.0, seen(1, 1, 99.0))],
        Case("tokenring", "q2", 2): [run("held", 1.0)] * 2,
        Case("tokenring", "q7", 2): [run("held", 1.0)] * 2,
        Case(CALLBACK, "q7", 2): [run("held", 1.0, seen(0, 0, None))] * 2,
    }
    rows = summarise(outcomes)
    assert [(row["query"], CALLBACK in row) for row in rows] == [("q1", True), ("q2", False), ("q7", True)]
    found = rows[0][CALLBACK]
    assert (found["held"], found["verdicts"], found["events_latency_ms"]["p50"]) == (1, ["held", "dnf"], 4)
    data = {"parameters": {"rate": 1.0, "duration_s": 1, "rounds": 2, "workers": [2]}, "rows": rows}
    *_, shown = open_loop.tables(data)
    assert "| Q1 | 2 | 1 of 2 | 10.0 | 200 | 5.00 | 5.00 | 2.00 | 2.00 |" in shown
    assert "| Q7 | 2 | 2 of 2 | 0.00 | 0.00 | – | – | 1.00 | 1.00 |" in shown
    assert "Q2" not in shown
    assert len(open_loop.tables(data | {"rows": rows[1:2]})) == 3, "no table of what was not measured"


def test_a_trend_is_told_from_steadiness() -> None:
    flat = memory.steadiness([(second, [70.0, 60.0]) for second in range(60)])
    grows = memory.steadiness([(second, [60.0, 70.0 + 0.5 * second]) for second in range(60)])
    assert flat["mb_per_minute"] == pytest.approx(0)
    assert grows["mb_per_minute"] == pytest.approx(30)
    assert grows["end"] == pytest.approx(99.5)


def test_numpy_answers_q7_whatever_the_order() -> None:
    window = WINDOW_NS
    times, prices = np.array([1, window, 2, 3 * window, window + 1]), np.array([5, 7, 6, 1, 9])
    result = nexmark.numpy_q7(times, prices)["result"]
    assert result == [{"window_end": (n + 1) * window, "price": price} for n, price in ((0, 6), (1, 9), (3, 1))]
    assert nexmark.numpy_q7(times[:0], prices[:0])["result"] == []


def test_unequal_answers_give_no_figures() -> None:
    ours, theirs = Case("tokenring", "q7", 2), Case("duckdb", "q7", 2)
    require_equal_results({ours: [{"result": [1]}], theirs: [{"result": [1]}]})
    with raises(CommandError, "duckdb", "2 worker(s)", "q7"):
        require_equal_results({ours: [{"result": [1]}], theirs: [{"result": [1]}, {"result": [2]}]})
