"""Files out of the page cache, so that who reads them next reads the disk."""

from __future__ import annotations

import ctypes
import mmap
import os
from collections.abc import Iterable
from pathlib import Path

import numpy as np

from tokenring.tools.errors import CommandError

_libc = ctypes.CDLL(None, use_errno=True)
_libc.mincore.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_void_p]


def leave_page_cache(files: Iterable[Path]) -> None:
    """Have all pages of these files leave this machine's page cache; what a virtual machine's host keeps stays there.

    CommandError for a file of which pages stay, as of one in memory only, or one that another process has mapped.
    """
    for file in files:
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)  # pages that are not on the disk yet stay
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
        kept = pages_in_cache(file)
        if kept:
            raise CommandError(
                f"{file} cannot be read cold: {kept:,} of its pages stay in the page cache; copy the input to a disk, "
                "where nobody else reads it, or leave out --cold"
            )


def pages_in_cache(file: Path) -> int:
    """How many pages of a file are in the page cache; the system says all, if we may not write to the file."""
    if not file.stat().st_size:
        return 0  # it cannot be mapped
    mapped = np.memmap(file, mode="r")
    states = np.empty(-(-mapped.size // mmap.PAGESIZE), np.uint8)
    if _libc.mincore(mapped.ctypes.data, mapped.size, states.ctypes.data):
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code), str(file))
    return int(np.count_nonzero(states & 1))
