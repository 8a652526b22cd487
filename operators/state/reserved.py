"""Addresses that are reserved for one table each, so that a large one grows where it is.

Nothing is copied, and what is not used yet takes no memory. Views of the shorter table stay good, of the same memory.
Huge pages are not asked for: they make it 5 to 10 % faster, but where memory is in pieces the system puts one together
while the worker waits, for 50 ms and more.
"""

import mmap
import os
import resource
from typing import Any

import numpy as np

_IN_PLACE_BYTES = 1 << 17  # smaller tables are copied
_RESERVED_BYTES = min(1 << 36, os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"))
_NO_RESERVE = getattr(mmap, "MAP_NORESERVE", 0x4000)  # Python 3.13 names it


class _Reservation(mmap.mmap):
    """Addresses for one table, which memory comes to as they are written to. used: the table's bytes."""

    used: int


def in_place(array: np.ndarray, shape: list[int]) -> np.ndarray | None:
    """The array, longer along its first axis, its new places 0; None if it is to be copied."""
    size = int(np.prod(shape)) * array.itemsize
    if size < _IN_PLACE_BYTES or size > _RESERVED_BYTES:
        return None
    reservation = _reservation_of(array)
    longer: np.ndarray[Any, Any]
    if reservation is not None:
        longer = array.base[:size].view(array.dtype).reshape(shape)  # type: ignore[index]
    else:
        reservation = _reserve()
        if reservation is None:
            return None
        longer = np.frombuffer(reservation, np.uint8)[:size].view(array.dtype).reshape(shape)
        longer[: len(array)] = array
    reservation.used = size
    return longer


def _reservation_of(array: np.ndarray) -> _Reservation | None:
    """The reservation that this array, all of it, is the used part of."""
    whole: Any = array.base
    memory: Any = whole.base if isinstance(whole, np.ndarray) else None
    found = memory.obj if isinstance(memory, memoryview) else None
    return found if isinstance(found, _Reservation) and found.used == array.nbytes else None


def _reserve() -> _Reservation | None:
    """None where addresses are limited, or the system has no more."""
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        return None
    try:
        return _Reservation(-1, _RESERVED_BYTES, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | _NO_RESERVE)
    except (OSError, ValueError):
        return None
