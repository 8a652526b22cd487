"""docs/operators.md has a row for every operator; the programs of the pages below it print what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.documents import Block, blocks, output
from tests.imports import ROOT
from tokenring import operators

PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "operators").glob("*.md"))
PROGRAMS = [block for page in PAGES for block in blocks(page, "python")]


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_programs_print_what_the_page_says(block: Block, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert block.prints is not None, "say what it prints, in a block of text right after it"
    assert output(block, tmp_path, capfd) == (block.prints, "")


def test_every_public_operator_has_its_row() -> None:
    index = (ROOT / "docs" / "operators.md").read_text()
    functions = [name for name in operators.__all__ if name.islower() and callable(getattr(operators, name))]
    assert len(functions) > 40
    assert not [name for name in functions if f"`{name}`" not in index]
