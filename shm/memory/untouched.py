"""Zeros that take no memory until they are written to, however large the array."""

import mmap
from typing import Any

import numpy as np

_OWN = mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS


def untouched_zeros(count: int, dtype: Any = np.int64) -> np.ndarray:
    """A writable array of `count` zeros, of shape (count,), in pages of its own: `numpy.zeros` may be given memory that
    was used before, and then writes to all of it. A process that is forked has a copy: mmap's default would be shared.
    """
    return np.frombuffer(mmap.mmap(-1, max(count, 1) * np.dtype(dtype).itemsize, _OWN), dtype)[:count]
