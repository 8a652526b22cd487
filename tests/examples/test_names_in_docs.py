"""What the docs name, the packages export: imports in their programs, and errors and warnings in their prose."""

from __future__ import annotations

import builtins
import re

from tests.imports import ROOT
from tokenring import engine, operators

PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
TEXT = "\n".join(page.read_text() for page in PAGES)


def test_errors_and_warnings_can_be_imported() -> None:
    named = set(re.findall(r"`([A-Z]\w+(?:Error|Warning))`", TEXT))
    assert len(named) > 10
    assert named - {*dir(builtins), *engine.__all__, *operators.__all__} == set()


def test_the_operators_of_the_list_are_exported() -> None:
    page = (ROOT / "docs" / "operators.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(named) > 40
    assert named - {*operators.__all__} == set()
