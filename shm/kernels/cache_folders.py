"""Where compiled kernels are found besides where numba looks, since what is loaded is run. If neither beside their
sources nor below the user's home anything can be written, they are kept in a temporary folder of this user alone. And
what stands beside the sources is read though it cannot be written there: an image's, say, which root has made. One
process at a time writes to a folder.
"""

import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock
from pathlib import Path
from typing import Any

from numba.core.caching import UserWideCacheLocator

from tokenring.shm.kernels.compilation import KernelCache, KernelFiles


class TemporaryCacheLocator(UserWideCacheLocator):  # type: ignore[misc]
    """Numba's locator, for a folder below `tokenring-kernels-UID`."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        super().__init__(function, file)
        self._cache_path = str(_folder() / self.get_suitable_cache_subpath(file))

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Any:
        """The locator for this function; None if there is no such folder, or somebody else might have made it."""
        try:
            folder = _folder()
            with suppress(FileExistsError):
                folder.mkdir(mode=0o700)
            is_ours = _is_private(folder)
        except OSError:
            return None
        return super().from_function(py_func, py_file) if is_ours else None


def folder_beside(file: str) -> str:
    """The folder of what is kept beside a source file; "" if there is none, or if others than root, this user and the
    file's owner could have put it there: what is loaded is run."""
    folder = os.path.join(os.path.dirname(file), "__pycache__")
    try:
        found, owner = os.stat(folder), os.stat(file).st_uid
    except OSError:
        return ""
    return folder if found.st_uid in (0, os.geteuid(), owner) and not found.st_mode & stat.S_IWOTH else ""


class ReadOnlyCacheLocator(UserWideCacheLocator):  # type: ignore[misc]
    """Numba's locator, where nothing can be written anywhere."""

    def __init__(self, function: Callable[..., Any], file: str) -> None:
        super().__init__(function, file)
        self._cache_path = folder_beside(file)

    @classmethod
    def from_function(cls, py_func: Callable[..., Any], py_file: str) -> Any:
        """The locator for this function; None if nothing stands there."""
        return cls(py_func, py_file) if folder_beside(py_file) else None


def _folder() -> Path:
    return Path(tempfile.gettempdir()) / f"tokenring-kernels-{os.geteuid()}"


def _is_private(folder: Path) -> bool:
    """Whether nobody else can write into it, or put another in its place."""
    found, above = folder.lstat(), folder.parent.stat()
    is_closed = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    is_fixed = above.st_uid in (0, os.geteuid()) and (bool(above.st_mode & stat.S_ISVTX) or not above.st_mode & 0o022)
    return is_closed and is_fixed


@contextmanager
def held(folder: str) -> Iterator[None]:
    """Hold a folder against other processes that do the same; not where its file system knows no locks."""
    descriptor = os.open(folder, os.O_RDONLY)
    try:
        with suppress(OSError):
            flock(descriptor, LOCK_EX)
        yield
    finally:
        os.close(descriptor)


KernelCache.held = staticmethod(held)
KernelFiles._locator_classes += [TemporaryCacheLocator, ReadOnlyCacheLocator]
KernelCache.beside = staticmethod(folder_beside)
