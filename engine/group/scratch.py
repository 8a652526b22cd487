"""Temporary folders that are gone after use, or, where their owner was killed, at the next use of the same place.

Their names carry the owner's pid and start time, as those of segments do, so that a dead owner's can be told; and a
folder is locked for as long as its owner or a process that it forked lives, since another PID namespace that shares the
place (a container's) knows other pids.
"""

import os
import re
import shutil
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from io import BufferedWriter
from pathlib import Path

from tokenring.engine.ask import made_in
from tokenring.shm.memory import hold, is_held, process_start_ticks

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
                if is_held(entry.path):
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
    owner = os.getpid()
    with owned_folder(parent, kind) as folder:
        try:
            yield folder
        finally:
            if os.getpid() == owner:
                shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def owned_folder(parent: Path, kind: str, mark: str = "", mode: int = 0o700) -> Iterator[Path]:
    """A new folder in `parent`, which is this process's until the end of the block, whatever becomes of it; mark: what
    its name begins with."""
    while True:
        folder = parent / f"{mark}{owned_name(kind)}"
        folder.mkdir(mode=mode)
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        except FileNotFoundError:  # whom our pid means nothing has removed it, before there was a lock
            continue
        try:
            if _holds(lock):
                yield folder
                return
        finally:
            os.close(lock)


def group_folder(kind: str, leader: int) -> Path:
    """The folder that the workers of a group share, if one of them has made it: see `new_group_file`. leader: the
    process of its worker 0, which no other group has, while a launcher may have several."""
    return Path(tempfile.gettempdir()) / f"tokenring-{kind}-{leader}-{process_start_ticks(leader)}-0"


def new_group_file(path: Path) -> tuple[BufferedWriter, int]:
    """A new file in the group's folder, which is made if it is not there; and a descriptor of that, which keeps it from
    being taken for a dead group's as long as it is open. Whoever removes the last file in it removes it. UsageError if
    somebody else has made it."""
    folder = path.parent

    def make() -> tuple[BufferedWriter, int] | None:
        with ExitStack() as opened:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
            opened.callback(os.close, lock)
            if not _holds(lock):
                return None
            file = path.open("wb")
            opened.pop_all()
            return file, lock

    remove_leftovers(folder.parent)
    return made_in(folder, make)


def _holds(lock: int) -> bool:
    """Hold a file or folder, unless somebody to whom our pid means nothing has removed it meanwhile."""
    hold(lock)
    return os.fstat(lock).st_nlink > 0


@contextmanager
def owned_file(target: Path) -> Iterator[Path]:
    """A new hidden file beside another, with a name as long as it is, whatever the other's; gone in the end, unless it
    was moved."""
    while True:
        path = target.with_name(f".{owned_name('file')}")
        lock = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o666)
        try:
            if _holds(lock):
                yield path
                return
        finally:
            path.unlink(missing_ok=True)
            os.close(lock)
