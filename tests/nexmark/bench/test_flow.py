"""`tokenring bench flow`: its rows, and that its dataflows answer alike with the bound and without."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import orjson

from tests.imports import ROOT
from tokenring.nexmark.bench.experiments import BOUNDS


def test_the_command_writes_its_rows(tmp_path: Path) -> None:
    """In a process of its own: workers of this one find what is free of its hundreds of megabytes."""
    command = [sys.executable, "-m", "tokenring", "bench", "flow", "--quick", "--json", str(tmp_path / "f.json")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
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
