"""The benchmark of starts in its shortest form: a row for each program."""

from __future__ import annotations

from pathlib import Path

import orjson
import pytest

from scripts.benchmarks.__main__ import main

pytestmark = pytest.mark.usefixtures("no_memory_made_ready")


def test_a_row_for_each_program(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "starts.json"
    assert main(["starts", "--rounds", "1", "--json", str(file)]) == 0
    rows = {row["program"]: row for row in orjson.loads(file.read_bytes())["rows"]}
    assert len(rows) == 5
    assert rows["README's first program"]["wall_s"]["median"] > rows["an empty Python"]["wall_s"]["median"] > 0
    assert "| README's first program | as it is |" in capsys.readouterr().out
