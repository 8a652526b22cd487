"""The round-trip benchmark in a tiny form: a row for each way, and no figures of workers that did not spin."""

from __future__ import annotations

import os
from pathlib import Path

import orjson
import pytest

from scripts.benchmarks.__main__ import main
from tokenring.engine.cores import Claims, claims, placement
from tokenring.engine.worker import usable_cores

pytestmark = [
    pytest.mark.skipif(len(usable_cores()) < 2, reason="two workers that spin need two cores"),
    pytest.mark.usefixtures("no_memory_made_ready"),
]
OPTIONS = ("--trips", "20", "--rounds", "1", "--spin-us", "0", "50", "--json")


@pytest.fixture(autouse=True)
def alone(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if no other group ran on this machine, and no quota held."""
    monkeypatch.setattr(claims, "_name", lambda core: f"\0tokenring-test-{os.getpid()}-{core}")
    monkeypatch.setattr(placement, "cpu_quota", lambda root: None)


def test_a_row_for_each_way(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "roundtrip.json"
    assert main(["roundtrip", *OPTIONS, str(file)]) == 0
    rows = orjson.loads(file.read_bytes())["rows"]
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


def test_workers_that_may_not_spin_give_no_figures(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "roundtrip.json"
    with Claims() as others:
        assert others.claim(usable_cores()[0])
        assert main(["roundtrip", *OPTIONS, str(file)]) == 1
    assert "another group has the cores" in capsys.readouterr().err
    assert not file.exists()
