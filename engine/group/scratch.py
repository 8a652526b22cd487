"""Temporary folders that are gone after use, or, where their owner was killed, at the next use of the same place.

Their names carry the owner's pid and start time, as those of segments do, so that a dead owner's can be told.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tokenring.shm.memory import process_start_ticks

_OURS = re.compile(r"\.?tokenring-[a-z]+-(\d+)-(\d+)-[0-9a-f]+")


def owned_name(kind: str) -> str:
    """A new name for a file or folder of this process; kind: lower-case letters that say what for."""
    pid = os.getpid()
    return f"tokenring-{kind}-{pid}-{process_start_ticks(pid)}-{os.urandom(6).hex()}"


def remove_leftovers(folder: Path) -> list[Path]:
    """Remove what processes of this user that are gone have left in a folder under names of theirs."""
    removed = []
    with suppress(OSError):
        for entry in os.scandir(folder):
            match = _OURS.fullmatch(entry.name)
            if not match or process_start_ticks(int(match[1])) == int(match[2]):
                continue
            with suppress(OSError):  # somebody else was quicker
                if entry.stat(follow_symlinks=False).st_uid != os.geteuid():
                    continue
                if entry.is_dir(follow_symlinks=False):
                    shutil.rmtree(entry.path, ignore_errors=True)
                else:
                    os.unlink(entry.path)
                removed.append(Path(entry.path))
    return removed


@contextmanager
def scratch_folder(kind: str, parent: Path | None = None) -> Iterator[Path]:
    """A new folder for this user alone in `parent` (default: where temporary files go), which is removed with all that
    is in it; first those that dead owners left there are.
    """
    parent = Path(tempfile.gettempdir()) if parent is None else parent
    remove_leftovers(parent)
    folder = parent / owned_name(kind)
    owner = os.getpid()
    folder.mkdir(mode=0o700)
    try:
        yield folder
    finally:
        if os.getpid() == owner:
            shutil.rmtree(folder, ignore_errors=True)
