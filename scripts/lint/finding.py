"""What a rule has found, and where."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

from tests.imports import ROOT


class Finding(NamedTuple):
    """A sentence about a line of a file."""

    path: Path
    line: int
    sentence: str

    def __str__(self) -> str:
        path = self.path.relative_to(ROOT) if self.path.is_relative_to(ROOT) else self.path
        return f"{path}:{self.line}: {self.sentence}"


def line_of(text: str, offset: int) -> int:
    """The line that a place in a text is on, counted from 1."""
    return text.count("\n", 0, offset) + 1
