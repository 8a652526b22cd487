"""A hash index from any 64-bit key to a dense slot number 0, 1, 2, ... for operators' keyed state, in a kernel.

Open addressing with linear probing over `cells` of (key, slot + 1); a cell of (_, 0) is free, so that every key value
is allowed.
"""

from typing import Any

import numpy as np

from tokenring.engine import COLUMN, TABLE, WORDS, kernel, void

_FIRST_CELLS = 64
AT_ONCE = 16_384
"""Keys to take at a time where most are known already: room for more would only make the table larger."""


@kernel
def mixed(key):  # type: ignore[no-untyped-def]
    """A well-mixed hash of a 64-bit key (the splitmix64 finaliser: unlike the exchange's hash, so that the two are
    independent).
    """
    z = np.uint64(key) + np.uint64(0x9E3779B97F4A7C15)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return z ^ (z >> np.uint64(31))


@kernel
def slot_of(cells, size, key):  # type: ignore[no-untyped-def]
    """The slot of `key`, added if it is new. cells: int64 (n, 2), n a power of two with a free cell; size: int64 (1,).
    """
    mask = cells.shape[0] - 1
    at = np.int64(mixed(key)) & mask
    while cells[at, 1] != 0:
        if cells[at, 0] == key:
            return cells[at, 1] - 1
        at = (at + 1) & mask
    cells[at, 0] = key
    size[0] += 1
    cells[at, 1] = size[0]
    return size[0] - 1


@kernel(void(TABLE, WORDS, COLUMN, WORDS))
def _slots(cells, size, keys, slots):  # type: ignore[no-untyped-def]
    for i in range(len(keys)):
        slots[i] = slot_of(cells, size, keys[i])


@kernel(void(TABLE, TABLE))
def move_cells(old, new):  # type: ignore[no-untyped-def]
    """Enter all of `old` into the empty `new`."""
    mask = new.shape[0] - 1
    for i in range(old.shape[0]):
        if old[i, 1] != 0:
            at = np.int64(mixed(old[i, 0])) & mask
            while new[at, 1] != 0:
                at = (at + 1) & mask
            new[at, 0], new[at, 1] = old[i, 0], old[i, 1]


class HashIndex:
    """Keys seen so far; kernels work on `cells` and `size`, after `reserve` has made sure of room."""

    __slots__ = ("_capacity", "_used", "cells", "size")

    def __init__(self) -> None:
        self.cells = np.zeros((_FIRST_CELLS, 2), np.int64)
        self.size = np.zeros(1, np.int64)
        self._used = self.size.data
        self._capacity = _FIRST_CELLS // 2

    def reserve(self, keys: int) -> bool:
        """Make room for `keys` more keys; True if slot numbers may now exceed what they could before."""
        if self._used[0] + keys <= self._capacity:
            return False
        while self._used[0] + keys > self._capacity:
            self._capacity *= 2
        cells = np.zeros((2 * self._capacity, 2), np.int64)
        move_cells(self.cells, cells)
        self.cells = cells
        return True

    def slots(self, keys: np.ndarray) -> np.ndarray:
        """The slot of each of the int64 keys, int64 of the same shape; new ones are added."""
        slots: np.ndarray[Any, Any] = np.empty(len(keys), np.int64)
        for start in range(0, len(keys), AT_ONCE):
            stop = min(start + AT_ONCE, len(keys))
            self.reserve(stop - start)
            _slots(self.cells, self.size, keys[start:stop], slots[start:stop])
        return slots

    @property
    def capacity(self) -> int:
        """Slots that may be handed out before the next growth."""
        return self._capacity

    def __len__(self) -> int:
        return self._used[0]

    def keys(self) -> np.ndarray:
        """The keys by slot: int64 of shape (len,)."""
        keys: np.ndarray[Any, Any] = np.zeros(len(self), np.int64)
        taken = self.cells[self.cells[:, 1] != 0]
        keys[taken[:, 1] - 1] = taken[:, 0]
        return keys
