"""`tokenring bench flow`: its rows, and that its dataflows answer alike with the bound and without."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from tests.nexmark.helpers import tokenring
from tokenring.nexmark.bench.flow import BOUNDS


def test_the_command_writes_its_rows(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    done = tokenring(capsys, "bench", "flow", "--quick", "--json", tmp_path / "f.json")
    assert done.status == 0, done.err
    data = orjson.loads((tmp_path / "f.json").read_bytes())
    multiplied = [row for row in data["rows"] if row["case"] == "multiplied"]
    assert [(row["workers"], row["bound"]) for row in multiplied] == [(n, bound) for n in (1, 2) for bound in BOUNDS]
    assert {row["rows_made"] for row in multiplied} == {1_000_000}
    assert all(row["seconds"] > 0 for row in multiplied)
    peaks = {(row["workers"], row["bound"]): row["peak_mb"] for row in multiplied}
    for workers in (1, 2):
        assert peaks[workers, "none"] > 8, "a million numbers, all at once"
        assert peaks[workers, "default"] < 0.75 * peaks[workers, "none"], "pieces of them"
    (counted,) = [row for row in data["rows"] if row["case"] == "word_count"]
    assert counted["ratio"] > 0 and len(counted["ratios"]) == 1
