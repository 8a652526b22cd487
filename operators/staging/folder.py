"""A folder that appears whole or not at all: built beside its place under a hidden name, synced, then renamed.

What a killed builder left is removed by the next.
"""

from __future__ import annotations

import ctypes
import errno
import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from tokenring.engine import UsageError
from tokenring.engine.group import owned_folder, owned_name, remove_leftovers

_KIND = "staging"
_ELSEWHERE = "choose another folder (--out)"
_REPLACE = "replace it with force=True (--force)"
_AT_FDCWD = -100
_RENAME_EXCHANGE = 2


@contextmanager
def staging_folder(target: Path, force: bool, needed_bytes: int) -> Iterator[Path]:
    """Yields a new empty folder that becomes `target` when the block ends well, and vanishes when it does not.
    UsageError, with the cure, for a place that cannot be written to, is taken or has too little room.
    """
    target = Path(os.path.abspath(target))
    _check_target(target, force)
    made_parents = _make_parents(target.parent)
    done = False
    try:
        remove_leftovers(target.parent)
        check_space(target.parent, needed_bytes)
        with owned_folder(target.parent, _KIND, ".", 0o755) as building:
            try:
                yield building
                sync_tree(building)
                _put_in_place(building, target, force)
            except BaseException:
                shutil.rmtree(building, ignore_errors=True)
                raise
        done = True
    except PermissionError as error:
        raise UsageError(f"{target}: cannot write there ({error.strerror}); {_ELSEWHERE}") from None
    except OSError as error:
        if error.errno == errno.ENOSPC:
            raise UsageError(f"{target}: the disk is full; free some space or {_ELSEWHERE}") from None
        if error.errno == errno.EDQUOT:
            raise UsageError(f"{target}: the quota of disk space is used up; {_ELSEWHERE}") from None
        if error.errno == errno.EFBIG:
            raise UsageError(f"{target}: files may not be so large: raise `ulimit -f` or {_ELSEWHERE}") from None
        raise
    finally:
        if not done:
            for parent in made_parents:
                with suppress(OSError):
                    parent.rmdir()


def check_space(folder: Path, needed_bytes: int) -> None:
    """Refuses to start what the disk cannot hold."""
    free = shutil.disk_usage(folder).free
    if needed_bytes > free:
        raise UsageError(
            f"{folder}: staging needs about {needed_bytes / 1e9:.1f} GB and the disk has {free / 1e9:.1f} GB free; "
            f"stage less (--events), free some space, or {_ELSEWHERE}"
        )


def sync_tree(root: Path) -> None:
    """Flushes every file and folder to the disk, so that the rename does not overtake the bytes."""
    for folder, _, names in os.walk(root):
        for path in [Path(folder) / name for name in names] + [Path(folder)]:
            descriptor = os.open(path, os.O_RDONLY)
            try:
                os.fsync(descriptor)
            finally:
                os.close(descriptor)


def _check_target(target: Path, force: bool) -> None:
    if target.is_symlink():
        raise UsageError(f"{target} is a symbolic link; give the folder itself (--out)")
    if target.exists() and not target.is_dir():
        raise UsageError(f"{target} is not a folder; {_ELSEWHERE}")
    if not target.exists() or not any(target.iterdir()):
        return
    if not force:
        raise UsageError(f"{target} exists already; {_REPLACE}, or {_ELSEWHERE}")
    if not (target / "manifest.json").is_file():
        raise UsageError(f"{target} is not a staged folder, which --force does not replace; {_ELSEWHERE}")


def _make_parents(parent: Path) -> list[Path]:
    """Makes the missing parents, and returns them innermost first."""
    made = []
    missing = parent
    while not missing.exists():
        made.append(missing)
        missing = missing.parent
    try:
        parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"{parent}: cannot make this folder ({error.strerror}); {_ELSEWHERE}") from None
    return made


def _put_in_place(building: Path, target: Path, force: bool) -> None:
    """Renames; when a folder stands there already, the two change places in one step and the old one is removed."""
    try:
        os.rename(building, target)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        if not force:
            raise UsageError(f"{target} appeared while staging; {_ELSEWHERE}, or {_REPLACE}") from None
        _exchange(building, target)
        shutil.rmtree(building, ignore_errors=True)
    descriptor = os.open(target.parent, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _exchange(one: Path, other: Path) -> None:
    """Swaps two folders atomically (Linux, renameat2); where the file system cannot, with two renames."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(_AT_FDCWD, os.fsencode(one), _AT_FDCWD, os.fsencode(other), _RENAME_EXCHANGE) == 0:
        return
    code = ctypes.get_errno()
    if code not in (errno.EINVAL, errno.ENOSYS):
        raise OSError(code, os.strerror(code), str(other))
    aside = other.with_name(f".{owned_name(_KIND)}")
    os.rename(other, aside)
    os.rename(one, other)
    os.rename(aside, one)
