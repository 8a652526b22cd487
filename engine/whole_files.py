"""Files that appear whole or not at all: written under hidden names that say who writes them, brought to the disk, and
only then given their own.
"""

import os
import shutil
from contextlib import suppress
from pathlib import Path

from tokenring.shm.memory import hold, is_held, process_start_ticks

_held: dict[str, int] = {}  # descriptors, by the path that each holds


def hidden(target: Path, part: object) -> Path:
    """Where this process makes a part of `target`: beside it, under a name with the process's pid and start time. Each
    `part`, which has no dash in it, has its own."""
    pid = os.getpid()
    return target.parent / f"{_mark(target)}{pid}-{process_start_ticks(pid)}-{part}"


def keep(path: str | os.PathLike[str], made: bool = True) -> None:
    """Hold what stands under a hidden name, until it is `given` its own, or this process ends: so processes of other
    PID namespaces know that it is somebody's. made: else it is a file that is made now. OSError if it is not there."""
    given(path)
    descriptor = os.open(path, os.O_RDONLY if made else os.O_RDONLY | os.O_CREAT, 0o666)
    hold(descriptor)
    _held[os.fspath(path)] = descriptor


def given(path: str | os.PathLike[str]) -> None:
    """It has got its name."""
    descriptor = _held.pop(os.fspath(path), -1)
    if descriptor >= 0:
        os.close(descriptor)


def _mark(target: Path) -> str:
    return f".{target.name}.tokenring-"


def leftovers(target: Path) -> list[Path]:
    """What processes that are gone have left of `target`, hidden beside it."""
    found = []
    for entry in target.parent.iterdir() if target.parent.is_dir() else ():
        if entry.name.startswith(_mark(target)):
            with suppress(ValueError, OSError):  # not one of ours, or it has gone
                pid, started, _ = entry.name.removeprefix(_mark(target)).split("-")
                if process_start_ticks(int(pid)) != int(started) and not is_held(entry):
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
