"""`benchmark all`: parts that go on where they were, and files that are whole."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from scripts.benchmarks import all as everything
from scripts.benchmarks import tables
from scripts.benchmarks.__main__ import main
from scripts.benchmarks.measure import DOCUMENTS
from scripts.benchmarks.parts import FIGURES
from tests.nexmark.helpers import seal_generated
from tokenring.nexmark.events.generator import GeneratorConfig


@pytest.fixture
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("all") / "events", GeneratorConfig(events=60_000, rate=1_500, seed=3))


@pytest.mark.slow
def test_all_goes_on_where_it_was_and_leaves_whole_files(
    staged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(everything, "_staged", lambda events: staged)
    options = ["all", "--quick", "--out", str(tmp_path), "--part", "bench-chain", "step"]
    assert main([*options[:-1]]) == 0
    assert main(options) == 0
    said = capsys.readouterr().out
    assert "bench-chain: measured at this commit already" in said
    assert {path.name for path in tmp_path.iterdir()} == {"all.json", "bench-chain.json", "step.json"}
    data = orjson.loads((tmp_path / "all.json").read_bytes())
    assert data["seconds"].keys() == {"step", "bench-chain"}
    assert "| `step.json` |" in tables.marked("all", tmp_path)


def test_all_ends_with_a_part_that_fails_and_keeps_the_others(
    staged: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(everything, "_staged", lambda events: tmp_path / "none")
    assert main(["all", "--quick", "--out", str(tmp_path / "out"), "--part", "bench-idle", "step"]) == 1
    assert "step" in capsys.readouterr().err
    assert {path.name for path in (tmp_path / "out").iterdir()} == {"all.json", "bench-idle.json"}


def test_parts_that_read_whole_folders_get_fewer_events(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    staged: list[int] = []
    monkeypatch.setattr(everything, "_staged", staged.append)
    monkeypatch.setattr(everything, "_measure", lambda *_: 1.0)
    assert main(["all", "--out", str(tmp_path), "--part", "road", "queries"]) == 0
    assert staged == [10_000_000, 120_000_000]


def test_each_figures_table_has_its_place() -> None:
    text = "".join(document.read_text() for document in DOCUMENTS)
    names = [name for _, name, _ in tables._MARKED.findall(text)]
    assert sorted(names) == sorted(["goals", *FIGURES])
