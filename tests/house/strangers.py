"""A folder as a newcomer may have it: files of their own, called like our parts, beside the program."""

from __future__ import annotations

import os
from pathlib import Path

from tests.examples.documents import Block, blocks
from tests.imports import PACKAGES

README_FIRST: Block = blocks("README.md", "python")[0]


def make_folder(folder: Path) -> Path:
    """Fill a folder with the README's first program, and files that must never be imported for ours; returns the
    program.
    """
    for part in (*PACKAGES, "kernel"):
        (folder / f"{part}.py").write_text(f"raise SystemExit('{part}.py is not ours')\n")
    program = folder / "program.py"
    program.write_text(README_FIRST.text)
    return program


def environment(**more: str) -> dict[str, str]:
    """The environment without what points Python at a checkout, and with `more`."""
    return {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")} | more
