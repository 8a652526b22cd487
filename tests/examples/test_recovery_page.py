"""docs/recovery.md: its program prints what it says."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.documents import Block, blocks, output


@pytest.mark.parametrize("block", blocks("docs/recovery.md", "python"), ids=str)
def test_the_program_prints_what_the_page_says(
    block: Block, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    printed, _ = output(block, tmp_path, capfd)
    assert printed == block.prints
