"""What is in a Delta table by its log, of which nothing but appends is expected; nothing of deltalake reads it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any
from urllib.parse import unquote


def log_of(folder: Path) -> list[list[dict[str, Any]]]:
    """The actions of each commit, as the protocol has them."""
    paths = sorted((folder / "_delta_log").glob("*.json"))
    return [[json.loads(line) for line in path.read_text().splitlines()] for path in paths]


def files_of(folder: Path) -> list[Path]:
    """The files that are in the table, by its log."""
    actions = [action for commit in log_of(folder) for action in commit]
    assert not any("remove" in action for action in actions)
    return [folder / unquote(action["add"]["path"]) for action in actions if "add" in action]
