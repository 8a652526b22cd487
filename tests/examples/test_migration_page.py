"""docs/migration.md: its programs print what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.documents import Block, blocks, output


@pytest.mark.parametrize("block", blocks("docs/migration.md", "python"), ids=str)
def test_the_program_prints_what_the_page_says(
    block: Block, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    assert output(block, tmp_path, capfd) == (block.prints, "")
