"""Where compiled kernels are kept if neither beside their sources nor below the user's home anything can be written: in
a temporary folder of this user alone, since what is loaded from it is run.
"""

import os
import stat
import tempfile
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from numba.core.caching import UserWideCacheLocator

from tokenring.shm.kernels.compilation import KernelFiles


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


def _folder() -> Path:
    return Path(tempfile.gettempdir()) / f"tokenring-kernels-{os.geteuid()}"


def _is_private(folder: Path) -> bool:
    """Whether nobody else can write into it, or put another in its place."""
    found, above = folder.lstat(), folder.parent.stat()
    is_closed = stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o077
    is_fixed = above.st_uid in (0, os.geteuid()) and (bool(above.st_mode & stat.S_ISVTX) or not above.st_mode & 0o022)
    return is_closed and is_fixed


KernelFiles._locator_classes.append(TemporaryCacheLocator)
