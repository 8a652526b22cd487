"""A mutant: one text in one file replaced by another."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Mutant:
    """`before` at byte `start` of a file (a path in the checkout) becomes `after`; `what` says what kind of change."""

    file: str
    start: int
    before: str
    after: str
    what: str

    def applied(self, source: bytes) -> bytes:
        """The file's text with the change made."""
        before = self.before.encode()
        end = self.start + len(before)
        if source[self.start : end] != before:
            raise ValueError(f"{self.file} does not say {self.before!r} at byte {self.start}")
        return source[: self.start] + self.after.encode() + source[end:]

    def line(self, source: bytes) -> int:
        """The line's number, from 1."""
        return source.count(b"\n", 0, self.start) + 1

    def in_words(self, root: Path) -> str:
        """Where it is, and the line before and after."""
        source = (root / self.file).read_bytes()
        begin = source.rfind(b"\n", 0, self.start) + 1
        end = source.find(b"\n", self.start + len(self.before.encode()))
        changed = self.applied(source)
        grown = len(changed) - len(source)
        old, new = source[begin:end].decode(), changed[begin : end + grown].decode()
        told = [f"  - {line.strip()}" for line in old.splitlines()] + [
            f"  + {line.strip()}" for line in new.splitlines()
        ]
        return "\n".join([f"{self.file}:{self.line(source)}: {self.what}", *told])
