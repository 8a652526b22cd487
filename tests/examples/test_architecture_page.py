"""docs/architecture.md: the files it names exist, and no module is missing."""

from __future__ import annotations

import re
from pathlib import PurePath

from tests.imports import PACKAGES, ROOT

PAGE = (ROOT / "docs" / "architecture.md").read_text()
NAMED = [name for cell in re.findall(r"^\| (`[^|]+`) \|", PAGE, flags=re.M) for name in re.findall(r"`([^`]+)`", cell)]


def test_named_files_exist() -> None:
    assert len(NAMED) > 40
    assert not [name for name in NAMED if not list(ROOT.glob(name))]


def test_every_module_has_its_row() -> None:
    there = {
        str(path.relative_to(ROOT))
        for package in PACKAGES
        for path in (ROOT / package).rglob("*.py")
        if path.name != "__init__.py"
    }
    folders = tuple(name for name in NAMED if name.endswith("/"))
    missing = {path for path in there if not path.startswith(folders) and not any(map(PurePath(path).match, NAMED))}
    assert missing == set()
    assert len(NAMED) == len(set(NAMED))
