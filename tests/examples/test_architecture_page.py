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


def test_links_lead_somewhere() -> None:
    for link in re.findall(r"\]\(([^)]+)\)", PAGE):
        path, _, anchor = link.partition("#")
        target = ROOT / "docs" / path
        assert target.exists(), link
        headings = re.findall(r"^#+ (.+)$", target.read_text(), flags=re.M)
        anchors = {re.sub(r"[^\w -]", "", heading).strip().lower().replace(" ", "-") for heading in headings}
        assert not anchor or anchor in anchors, link
