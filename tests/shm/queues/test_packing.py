"""Rows are dealt to few workers eight at a time as they are one by one, and nothing beside them is read or written."""

from __future__ import annotations

import ctypes
import mmap

import numpy as np
import pytest

from tokenring.shm.kernels import address_of, boolean, int64, kernel, void, words_at
from tokenring.shm.memory import can_pack
from tokenring.shm.queues import FEW_WORKERS, deal, pack, route

GUARD = -77
ROWS = [*range(20), 63, 64, 65, 1000]


@kernel(boolean())
def _can() -> bool:
    return can_pack()


@kernel(void(int64, int64, int64, int64, int64, int64))
def _deal(keys, start, stop, owners, counts, workers):  # type: ignore[no-untyped-def]
    deal(keys, start, stop, owners, words_at(counts, workers).reshape(1, workers))


@kernel(void(int64, int64, int64, int64, int64))
def _pack(target, origin, owners, owner, rows):  # type: ignore[no-untyped-def]
    pack(target, origin, owners, owner, rows)


needs_packing = pytest.mark.skipif(not _can(), reason="this processor has no instruction that packs")


def dealt(keys: np.ndarray, start: int, workers: int) -> tuple[np.ndarray, list[int]]:
    """The owners' bytes, and how many rows each worker has."""
    owners = np.full(len(keys) - start + 8, 255, np.uint8)
    counts = np.zeros(workers, np.int64)
    _deal(address_of(keys), start, len(keys), owners.ctypes.data, address_of(counts), workers)
    return owners, counts.tolist()


@pytest.mark.parametrize("workers", range(2, FEW_WORKERS + 1))
def test_owners_are_those_of_route(workers: int) -> None:
    for rows in ROWS:
        keys = np.random.default_rng(rows).integers(-(2**63), 2**63 - 1, rows + 3)
        owners, counts = dealt(keys, 3, workers)
        expected = [int(route(int(key), workers)) for key in keys[3:]]
        assert owners[:rows].tolist() == expected
        assert counts == [expected.count(worker) for worker in range(workers)]


@needs_packing
@pytest.mark.parametrize("workers", [2, 3, FEW_WORKERS])
def test_rows_are_packed_in_order_and_nothing_behind_them_is_written(workers: int) -> None:
    for rows in ROWS:
        keys = np.random.default_rng(rows).integers(0, 2**62, rows)
        owners, counts = dealt(keys, 0, workers)
        for worker in range(workers):
            target = np.full(counts[worker] + 8, GUARD)
            _pack(address_of(target), address_of(keys), owners.ctypes.data, worker, rows)
            chosen = keys[owners[:rows] == worker].tolist()
            assert target.tolist() == chosen + [GUARD] * 8


@needs_packing
def test_nothing_behind_the_column_is_read() -> None:
    """The column ends where the process's memory does: reading further would end it."""
    with mmap.mmap(-1, 2 * mmap.PAGESIZE) as mapped:
        words = np.frombuffer(mapped, np.int64)
        page = mmap.PAGESIZE // 8
        libc = ctypes.CDLL(None)
        assert libc.mprotect(ctypes.c_void_p(address_of(words) + mmap.PAGESIZE), mmap.PAGESIZE, 0) == 0
        for rows in range(1, 20):
            column = words[page - rows : page]
            owners = np.zeros(rows + 8, np.uint8)
            target = np.zeros(rows + 8, np.int64)
            column[:] = np.arange(1, rows + 1)
            _pack(address_of(target), address_of(column), owners.ctypes.data, 0, rows)
            assert target[:rows].tolist() == list(range(1, rows + 1))
        del column, words
