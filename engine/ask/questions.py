"""The folder that a question lies in: who asks makes it and holds its lock for as long as he asks. Both sides read
questions here.
"""

import os
import shutil
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar

import orjson

from tokenring.engine.errors import UsageError
from tokenring.shm.memory import alone, hold

Made = TypeVar("Made")
_QUESTION = "question.json"
_REMOVALS = 100  # tried of a folder to which workers write at the same time


def require_private(folder: Path) -> None:
    """Raise UsageError unless the folder is a real one, this user's, and closed to all others."""
    found = folder.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise UsageError(f"{folder} is not a folder of this user alone (mode 0700); remove it")


def write_whole(path: Path, value: Any) -> None:
    """Write JSON so that whoever sees the file sees all of it."""
    draft = path.with_suffix(".part")
    draft.write_bytes(orjson.dumps(value))
    draft.rename(path)


@contextmanager
def asking_in(folder: Path, question: Any) -> Iterator[None]:
    """A new folder with a question in it, which is removed in the end, in the private one, which is made if it is not
    there. Raises FileExistsError if the folder is, and UsageError if the private one is not private."""

    def make() -> int:
        folder.mkdir(mode=0o700)
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
            try:
                hold(lock)
                write_whole(folder / _QUESTION, question)
            except BaseException:
                os.close(lock)
                raise
        except FileNotFoundError:  # somebody took it, before it was held, for one that was left
            raise
        except BaseException:
            _remove(folder)
            raise
        return lock

    lock = made_in(folder.parent, make)
    try:
        yield
    finally:
        for _ in range(_REMOVALS):
            _remove(folder)
            if not os.fstat(lock).st_nlink:  # else a worker may just have written to it
                break
        os.close(lock)


def question_in(folder: Path) -> Any:
    """The question in a folder; None while there is none. The folder of an asker who was killed is removed."""
    with suppress(OSError, ValueError), alone(folder, unknown=False) as is_left:
        if not is_left:
            return orjson.loads((folder / _QUESTION).read_bytes())
        _remove(folder)  # while it is locked: by now it may be another asker's of the same name
    return None


def made_in(private: Path, make: Callable[[], Made | None]) -> Made:
    """What `make` makes in a private folder, which is made if it is not there: it is called again where somebody else
    has just removed what it needs, as FileNotFoundError or None says. UsageError if the folder is not private."""
    while True:
        with suppress(FileExistsError):
            private.mkdir(mode=0o700)
        with suppress(FileNotFoundError):
            require_private(private)
            made = make()
            if made is not None:
                return made


def _remove(folder: Path) -> None:
    """Remove a folder, and the private one if nobody else asks."""
    shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):
        folder.parent.rmdir()
