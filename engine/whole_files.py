"""Files that appear whole or not at all: written under hidden names that say who writes them, brought to the disk, and
only then given their own.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from tokenring.shm.memory import process_start_ticks


def hidden(target: Path, part: object) -> Path:
    """Where this process makes a part of `target`: beside it, under a name with the process's pid and start time. Each
    `part`, which has no dash in it, has its own."""
    pid = os.getpid()
    return target.parent / f"{_mark(target)}{pid}-{process_start_ticks(pid)}-{part}"


def _mark(target: Path) -> str:
    return f".{target.name}.tokenring-"


def leftovers(target: Path) -> list[Path]:
    """What processes that are gone have left of `target`, hidden beside it."""
    found = []
    for entry in target.parent.iterdir() if target.parent.is_dir() else ():
        if entry.name.startswith(_mark(target)):
            with suppress(ValueError):  # not one of ours
                pid, started, _ = entry.name.removeprefix(_mark(target)).split("-")
                if process_start_ticks(int(pid)) != int(started):
                    found.append(entry)
    return sorted(found)


def remove_leftovers(target: Path) -> None:
    """Remove what processes that are gone have left of `target`."""
    for entry in leftovers(target):
        if entry.is_dir():
            shutil.rmtree(entry, ignore_errors=True)
        else:
            entry.unlink(missing_ok=True)


def sync(path: str | os.PathLike[str]) -> None:
    """Bring a file or folder to the disk."""
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
