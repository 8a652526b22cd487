"""The programs of the pages below docs/operators.md print what they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.documents import Block, blocks, output
from tests.imports import ROOT

PAGES = sorted(str(path.relative_to(ROOT)) for path in (ROOT / "docs" / "operators").glob("*.md"))
PROGRAMS = [block for page in PAGES for block in blocks(page, "python")]


@pytest.mark.parametrize("block", PROGRAMS, ids=str)
def test_programs_print_what_the_page_says(block: Block, tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    assert block.prints is not None, "say what it prints, in a block of text right after it"
    assert output(block, tmp_path, capfd) == (block.prints, "")
