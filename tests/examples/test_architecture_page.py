"""docs/architecture.md: the files it names exist, and no file of the engine's layers is missing."""

from __future__ import annotations

import re

from tests.imports import ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
NAMED = [name for cell in re.findall(r"^\| (`[^|]+`) \|", PAGE, flags=re.M) for name in re.findall(r"`([^`]+)`", cell)]


def test_named_files_exist() -> None:
    assert len(NAMED) > 40
    assert not [name for name in NAMED if not list(ROOT.glob(name))]


def test_every_file_of_the_lower_layers_has_its_row() -> None:
    there = {
        f"{package}/{path.name}"
        for package in ("shm", "engine", "operators")
        for path in (ROOT / package).glob("*.py")
        if path.name != "__init__.py"
    }
    assert there - set(NAMED) == set()
    assert len(NAMED) == len(set(NAMED))
