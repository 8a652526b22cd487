"""The benchmark of state in a tiny form; and by counts, that keys which never come again leave nothing."""

from __future__ import annotations

import os
import subprocess
from functools import partial
from pathlib import Path

import orjson
import pytest

from scripts.benchmarks import state
from scripts.benchmarks.__main__ import main
from tests.nexmark.helpers import seal_generated
from tokenring.nexmark.events.generator import GeneratorConfig

pytestmark = pytest.mark.usefixtures("no_memory_made_ready")


@pytest.fixture(scope="module")
def events(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("state") / "events", GeneratorConfig(events=220_000, seed=3))


def test_a_row_for_each_query(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run yields to this process, which looks at its memory: it lasts some hundredths of a second, and of one that
    nobody looked at towards its end three megabytes are not seen, more than q18 keeps of 100,000 events."""
    monkeypatch.setattr(subprocess, "Popen", partial(subprocess.Popen, preexec_fn=lambda: os.nice(4)))
    monkeypatch.setattr(state, "LONG", ("q18",))
    file = tmp_path / "state.json"
    sizes = ["--events", "30000", "200000", "--long", "220000", "--rounds", "1", "--keys", "0.3"]
    command = ["state", "--input", str(events), "--query", "q1", *sizes, "--workers", "1", "--json", str(file)]
    assert main(command) == 0
    data = orjson.loads(file.read_bytes())
    assert [row["query"] for row in data["rows"]] == ["q1", "q18"]
    assert [row["query"] for row in data["long"]] == ["q18"]
    assert all(row["mb"]["median"] > 10 for row in data["rows"])
    stateless, keyed = [row["bytes"]["median"] for row in data["rows"]]
    assert 0 <= stateless < keyed < 200, "q1 keeps nothing, q18 most events' keys"
    assert data["keys"]["windows"] > 0
    assert "| q18 |" in capsys.readouterr().out


@pytest.mark.parametrize(("sizes", "said"), [("5 5", "fewer events first"), ("1 999999999999", "holds")])
def test_what_cannot_be_measured(
    events: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str], sizes: str, said: str
) -> None:
    command = ["state", "--input", str(events), "--events", *sizes.split(), "--json", str(tmp_path / "state.json")]
    assert main(command) == 2
    assert said in capsys.readouterr().err


@pytest.mark.parametrize(("workers", "windows", "most"), [(1, 40, 0.01), (2, 80, 0.1)])
def test_keys_that_never_come_again_leave_nothing(workers: int, windows: int, most: float) -> None:
    """A window has 48,000 keys of each worker: after 80 a third more memory at the end, if they stay. Two workers may
    go together better at first, and have a window less open then."""
    samples = state.never_repeated(lambda number: number < 8 * windows, workers)
    assert [len(worker) for worker in samples] == [windows] * workers
    assert state.flatness(samples)["grown"] < most


def test_what_is_foretold() -> None:
    row = {"query": "q18", "mb": {"median": 100.0}, "bytes": state.grown([50.0], [100.0], 1_000_000)}
    assert row["bytes"] == {"median": 50.0, "least": 50.0, "greatest": 50.0}
    assert state.foretold(row, 2_000_000, 4_000_000, 190.0) == {
        "query": "q18", "expected_mb": 200.0, "mb": 190.0, "ratio": 0.95
    }  # fmt: skip
    assert state.grown([50.0], [40.0], 10)["median"] == 0
