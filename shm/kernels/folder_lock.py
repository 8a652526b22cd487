"""Lets one process at a time write to a folder of compiled kernels. Imported when numba is."""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from fcntl import LOCK_EX, flock

from tokenring.shm.kernels.compilation import KernelCache


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
