"""`benchmark workers`: whole figures of groups of several sizes, and a model that draws them out."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from scripts.benchmarks import workers
from scripts.benchmarks.__main__ import main
from tokenring.nexmark.bench.parts import spread

pytestmark = pytest.mark.usefixtures("no_memory_made_ready")


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


def test_figures_are_whole(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "workers.json"
    options = ["--workers", "1", "2", "3", "--at", "4", "--rounds", "1"]
    assert main(["workers", *options, "--json", str(file)]) == 0
    data = orjson.loads(file.read_bytes())
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
