"""A line of a function on a sampled stack."""

from __future__ import annotations

from typing import NamedTuple


class Frame(NamedTuple):
    """A line of a function on a stack; a label (a worker, a thread) has neither file nor line."""

    name: str
    file: str = ""
    line: int = 0

    def __str__(self) -> str:
        return f"{self.name} ({self.file}:{self.line})" if self.file else self.name
