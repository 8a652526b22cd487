"""docs/compiled_operators.md: its program prints what it says, the same in both forms."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.examples.documents import Block, blocks, output


@pytest.mark.parametrize("block", blocks("docs/compiled_operators.md", "python"), ids=str)
def test_the_program_prints_what_the_page_says(
    block: Block, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    printed, _ = output(block, tmp_path, capfd)  # a notice says that the entry is compiled
    assert printed == block.prints
    python, compiled = [line.split(maxsplit=1)[1] for line in printed.strip().splitlines()]
    assert python == compiled
