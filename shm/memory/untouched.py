"""Zeros that take no memory until they are written to, however large the array."""

import mmap
from typing import Any

import numpy as np


def untouched_zeros(count: int, dtype: Any = np.int64) -> np.ndarray:
    """A writable array of `count` zeros, of shape (count,), in pages of its own: `numpy.zeros` may be given memory that
    was used before, and then writes to all of it."""
    return np.frombuffer(mmap.mmap(-1, max(count, 1) * np.dtype(dtype).itemsize), dtype)[:count]
