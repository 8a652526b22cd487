"""The benchmarks of the engine alone, in a tiny form: hops, workers, round trips, starts; rows of each, no timings."""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import orjson
import pytest

from scripts.benchmarks import hops, workers
from scripts.benchmarks.__main__ import main
from tokenring.engine.cores import Claims, claims, placement
from tokenring.engine.worker import usable_cores
from tokenring.nexmark.bench.parts import spread

pytestmark = pytest.mark.usefixtures("no_memory_made_ready")
needs_two_cores = pytest.mark.skipif(len(usable_cores()) < 2, reason="two workers that spin need two cores")

Measured = Callable[..., dict[str, Any]]


@pytest.fixture
def measured(tmp_path: Path) -> Measured:
    """Runs a verb; returns the JSON object that it wrote."""

    def run(verb: str, *options: str) -> dict[str, Any]:
        file = tmp_path / f"{verb}.json"
        assert main([verb, *options, "--rounds", "1", "--json", str(file)]) == 0
        found: dict[str, Any] = orjson.loads(file.read_bytes())
        return found

    return run


def test_a_row_for_each_chain(measured: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    rows = measured("hops", "--messages", "20")["rows"]
    assert {(row["operator"], row["operators"], row["at_once"], row["form"]) for row in rows} == {
        (what, count, at_once, form)
        for what, count in (("no_op", 256), ("running_average", 20))
        for at_once in (1, 16)
        for form in hops.FORMS
    }
    assert "| 256 × no_op | 16 |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("form", "are_compiled"),
    [(hops.COMPILED, [True] * 3), (hops.PYTHON, [False] * 3), (hops.BY_TURNS, [False, True] * 3)],
)
def test_a_chain_is_what_it_says(form: str, are_compiled: list[bool]) -> None:
    group = hops.SimulatedGroup(hops.Config(workers=1, pin=False))
    handle = hops.chain(group, "no_op", 3, form)
    operators = group.workers[0].inspection.operators
    assert [operator.compiled >= 0 for operator in operators] == [False, *are_compiled]
    handle.close()
    group.run()
    group.close()


def _cost(what: str, size: int, us: float) -> dict[str, Any]:
    return {"what": what, "workers": size, "us": spread([us])}


def test_the_model_is_the_line_through_groups_of_several() -> None:
    kernels = [_cost("grows", size, 3 + 0.5 * size) for size in (2, 4, 8, 64)] + [_cost("grows", 1, 0.1)]
    kernels += [_cost("stays", size, 2) for size in (1, 2, 4, 8)] + [_cost("stays", 64, 9)]
    grows, stays = workers.model(kernels, (1, 2, 4, 8), 64)
    assert (grows["fixed_us"], grows["each_us"]) == (pytest.approx(3), pytest.approx(0.5))
    assert grows["at_us"] == pytest.approx(grows["seen_us"]) == pytest.approx(35)
    assert (stays["each_us"], stays["at_us"]) == (pytest.approx(0, abs=1e-9), pytest.approx(2))
    assert stays["seen_us"] == 9
    (falls,) = workers.model([_cost("falls", size, 4 - 0.1 * size) for size in (2, 4, 8, 64)], (2, 4, 8), 64)
    assert falls["each_us"] == 0
    assert 3.2 < falls["at_us"] < 3.8


def test_figures_of_groups_are_whole(measured: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    data = measured("workers", "--workers", "1", "2", "3", "--at", "4")
    whats = {row["what"] for row in data["kernels"]}
    assert {row["what"] for row in data["model"]} == whats
    assert {(row["what"], row["workers"]) for row in data["kernels"]} == {(w, n) for w in whats for n in (1, 2, 3, 4)}
    assert all(row["us"]["median"] > 0 for row in data["kernels"])
    assert [row["workers"] for row in data["groups"]] == [1, 2, 3]
    assert all(row["segment_mb"] <= 160 * 1.048576 for row in data["segments"] if row["workers"] <= 128)
    text = capsys.readouterr().out
    assert "model at 4" in text
    assert "| 64 | 32 | 134 |" in text


def test_a_line_takes_two_groups(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["workers", "--workers", "1", "2", "--json", str(tmp_path / "workers.json")]) == 2
    assert "--workers" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


TRIPS = ("--trips", "20", "--spin-us", "0", "50")


@pytest.fixture
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no other group ran on this machine, and no quota held."""
    monkeypatch.setattr(claims, "_name", lambda core: f"\0tokenring-test-{os.getpid()}-{core}")
    monkeypatch.setattr(placement, "cpu_quota", lambda root: None)


@needs_two_cores
def test_a_row_for_each_way_there_and_back(alone: None, measured: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    rows = measured("roundtrip", *TRIPS)["rows"]
    assert {(row["spin_us"], row["pause_us"], row["crowded"]) for row in rows} == {
        (spin_us, pause_us, crowded)
        for spin_us in (0, 50)
        for pause_us, crowded in ((0, False), (500, False), (500, True))
    }
    for row in rows:
        assert 0 < row["p50_us"]["median"] <= row["p99_us"]["median"]
        assert 0 < row["core_share"]["median"] <= 1.01
        assert ("left_share" in row) == row["crowded"]
    assert "| every 500 µs, beside busy processes | 50 |" in capsys.readouterr().out


@needs_two_cores
def test_workers_that_may_not_spin_give_no_figures(
    alone: None, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "roundtrip.json"
    with Claims() as others:
        assert others.claim(usable_cores()[0])
        assert main(["roundtrip", *TRIPS, "--rounds", "1", "--json", str(file)]) == 1
    assert "another group has the cores" in capsys.readouterr().err
    assert not file.exists()


def test_a_row_for_each_program_that_starts(measured: Measured, capsys: pytest.CaptureFixture[str]) -> None:
    rows = {row["program"]: row for row in measured("starts")["rows"]}
    assert len(rows) == 5
    assert rows["README's first program"]["wall_s"]["median"] > rows["an empty Python"]["wall_s"]["median"] > 0
    assert "| README's first program | as it is |" in capsys.readouterr().out
