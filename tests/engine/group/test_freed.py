"""What a worker keeps of the memory that its program has freed."""

import ctypes
import os
from time import process_time_ns

import numpy as np
import pytest

from tokenring.engine import Config, Worker, execute
from tokenring.engine.budget.resident import own_bytes

_BLOCK_BYTES = 20 * 2**20
_SMALL_BYTES, _SMALL_BLOCKS = 2**20, 48


def _kept(worker: Worker) -> int:
    """What stays when three blocks came and went one after the other: the first one's end raises what is kept."""
    ctypes.CDLL(None).malloc_trim(0)  # what is free already would be taken first
    before = own_bytes(os.getpid())
    for _ in range(3):
        np.ones(_BLOCK_BYTES // 8)
    return own_bytes(os.getpid()) - before


def test_large_blocks_go_back_to_the_system(monkeypatch: pytest.MonkeyPatch) -> None:
    """Unless the user's environment says what is kept."""
    for name in [name for name in os.environ if name.startswith("MALLOC_")]:
        monkeypatch.delenv(name)
    # Half a block, since a fresh process touches some megabytes of its own.
    assert execute(_kept, config=Config(workers=1))[0] < _BLOCK_BYTES // 2
    monkeypatch.setenv("MALLOC_ARENA_MAX", "4")
    assert execute(_kept, config=Config(workers=1))[0] > _BLOCK_BYTES // 2


def _kept_in_sleep(worker: Worker) -> tuple[int, int]:
    """What stays of many small blocks once they were freed, and once the worker has slept."""
    before = own_bytes(os.getpid())
    spent_ns = process_time_ns() + 2 * 10**8
    while process_time_ns() < spent_ns:  # some work, which makes it worth while
        blocks = [np.ones(_SMALL_BYTES // 8) for _ in range(_SMALL_BLOCKS)]
        blocks.clear()
    kept = own_bytes(os.getpid()) - before
    left = kept
    for _ in range(100):
        worker.step_or_park()
        left = own_bytes(os.getpid()) - before
        if left < kept // 2:
            break
    return kept, left


def test_small_blocks_are_kept_until_the_worker_sleeps(monkeypatch: pytest.MonkeyPatch) -> None:
    """So rounds that take and free alike memory do not have it mapped and cleared anew."""
    for name in [name for name in os.environ if name.startswith("MALLOC_")]:
        monkeypatch.delenv(name)
    kept, left = execute(_kept_in_sleep, config=Config(workers=1))[0]
    assert kept > _SMALL_BYTES * _SMALL_BLOCKS // 2
    assert left < kept // 2
