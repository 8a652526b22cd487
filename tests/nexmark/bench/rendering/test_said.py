"""Where a benchmark says what it found: to people and a file, or as JSON alone where that goes to standard output."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import orjson
import pytest

from tokenring.nexmark.bench.rendering.said import say
from tokenring.tools.system import STANDARD_OUTPUT

ROWS: list[dict[str, Any]] = [{"workload": "one", "p50_ms": 1.5}]


def _said(json_file: Path | None, drawn: bytes | None = b"<svg/>") -> None:
    say("some", ROWS, True, {"scale": 1}, json_file, lambda data: f"{len(data['rows'])} row", lambda rows: drawn)


def test_without_a_file_it_is_printed(capfd: pytest.CaptureFixture[str]) -> None:
    _said(None)
    assert capfd.readouterr().out == "1 row\n"


@pytest.mark.parametrize("drawn", [b"<svg/>", None])
def test_a_file_and_its_drawing_stand_beside_what_is_printed(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, drawn: bytes | None
) -> None:
    _said(tmp_path / "some.json", drawn)
    assert capfd.readouterr().out == "1 row\n"
    told = orjson.loads((tmp_path / "some.json").read_bytes())
    assert (told["benchmark"], told["complete"], told["rows"]) == ("some", True, ROWS)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["some.json"] + ["some.svg"] * (drawn is not None)


def test_standard_output_gets_json_alone(capfd: pytest.CaptureFixture[str]) -> None:
    _said(STANDARD_OUTPUT)
    assert orjson.loads(capfd.readouterr().out)["rows"] == ROWS
