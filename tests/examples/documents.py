"""Fenced blocks of a document, and what a block of Python prints when it is run as a program."""

from __future__ import annotations

import re
import runpy
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.imports import ROOT

_FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", flags=re.M | re.S)


@dataclass(frozen=True)
class Block:
    """A fenced block: its language, text and first line, and what a `text` block right after it says that it prints."""

    document: str
    language: str
    text: str
    line: int
    prints: str | None

    def __str__(self) -> str:
        return f"{self.document}:{self.line}"


def blocks(document: str, language: str) -> list[Block]:
    """The blocks of one language in a document of the repository."""
    source = (ROOT / document).read_text()
    fences = list(_FENCE.finditer(source))
    found = []
    for at, fence in enumerate(fences):
        after = fences[at + 1] if at + 1 < len(fences) else None
        adjacent = after is not None and after[1] == "text" and not source[fence.end() : after.start()].strip()
        prints = after[2] if after is not None and adjacent else None
        line = source.count("\n", 0, fence.start()) + 2
        found.append(Block(document, fence[1], fence[2], line, prints))
    return [block for block in found if block.language == language]


def output(block: Block, folder: Path, capfd: pytest.CaptureFixture[str]) -> tuple[str, str]:
    """Run a block as a program of its own; returns what it and its workers wrote to stdout and stderr."""
    program = folder / f"block_{block.line}.py"  # a file: numba keeps compiled kernels beside it
    program.write_text(block.text)
    capfd.readouterr()
    runpy.run_path(str(program), run_name="__main__")
    captured = capfd.readouterr()
    return captured.out, without_compiling(captured.err)


def without_compiling(said: str) -> str:
    """What a program said on stderr besides that it compiled kernels of its own."""
    return re.sub(r"^compiling \d+ kernels?, once\n", "", said)
