"""`benchmark earlier`: what it makes of two checkouts' runs; the runs themselves are `tokenring run`'s."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from scripts.benchmarks.__main__ import main
from scripts.benchmarks.earlier import _compared, _kernels, tables
from tests.errors import raises
from tests.nexmark.helpers import seal_generated
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.tools.errors import CommandError


def _runs(seconds: list[float], result: str = "same") -> list[dict[str, Any]]:
    return [
        {"seconds": s, "cpu_seconds": s / 2, "latency_ms": {"p50": s / 1e3}, "dnf": False, "result": result}
        for s in seconds
    ]


def test_ratios_are_taken_within_rounds() -> None:
    row = _compared("q4", "1 worker", _runs([1.0, 2.0, 8.0]), _runs([1.1, 1.0, 8.0]))
    ratio = row["measures"]["seconds"]["ratio"]
    assert ratio == {"median": 1.0, "least": 0.5, "greatest": 1.1}
    assert set(row["measures"]) == {"seconds", "cpu_seconds"}
    assert set(_compared("q7", "open loop, 1 worker", _runs([1]), _runs([2]))["measures"]) == {"p50_us"}


def test_other_answers_are_no_comparison() -> None:
    with raises(CommandError, "q4", "1 worker", "this checkout"):
        _compared("q4", "1 worker", _runs([1.0]), _runs([1.0], result="other"))


def test_the_table_shows_both_and_the_ratio() -> None:
    figures = [_compared("q4", "1 worker", _runs([2.0]), _runs([1.0]))]
    parameters = {"commit": "abc1234", "rounds": 1, "rate": 4e6, "duration_s": 2}
    text = "\n".join(tables({"parameters": parameters, "figures": figures}))
    assert "commit abc1234" in text
    assert "| Q4 | 1 worker | s | 2.00 (2.00 – 2.00) | 1.00 (1.00 – 1.00) | 0.50 (0.50 – 0.50) |" in text


def test_kernels_that_both_have_are_compared_round_by_round() -> None:
    before = [{"idle": 2.0, "gone": 1.0}, {"idle": 4.0, "gone": 1.0}]
    rows = _kernels(before, [{"idle": 1.0, "new": 1.0}, {"idle": 4.0}])
    assert [(row["what"], row["ratio"]["least"], row["ratio"]["greatest"]) for row in rows] == [("idle", 0.5, 1.0)]
    parameters = {"commit": "abc1234", "rounds": 2, "rate": 4e6, "duration_s": 2}
    text = "\n".join(tables({"parameters": parameters, "figures": [], "kernels": rows}))
    assert "| idle | 3.00 (2.00 – 4.00) |" in text


def test_a_commit_that_is_none(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    staged = seal_generated(tmp_path / "events", GeneratorConfig(events=1000, rate=1_000, seed=3))
    command = ["earlier", "--input", str(staged), "--commit", "no-such", "--json", str(tmp_path / "out.json")]
    assert main(command) == 2
    assert "--commit no-such: no such commit" in capsys.readouterr().err
    assert not (tmp_path / "out.json").exists()
