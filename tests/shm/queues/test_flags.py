"""Flags: each worker's own bit, at both ends of words too, and who learns that it was set."""

from __future__ import annotations

from types import FunctionType

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tokenring.shm.kernels import address_of
from tokenring.shm.memory.layout import MAX_WORKERS
from tokenring.shm.queues.flags import any_set, clear_flag, set_flag
from tokenring.shm.queues.parking import next_parked


@pytest.mark.parametrize("worker", [0, 1, 62, 63, 64, 127, 128, MAX_WORKERS - 1])
def test_a_flag_is_its_worker_s_alone(worker: int) -> None:
    words = np.zeros(MAX_WORKERS // 64 + 1, np.int64)
    first = address_of(words)
    assert not any_set(first, worker + 1)
    set_flag(first, worker)
    assert any_set(first, worker + 1)
    assert np.unpackbits(words.view(np.uint8), bitorder="little").nonzero()[0].tolist() == [worker]
    assert clear_flag(first, worker)
    assert not clear_flag(first, worker), "it was clear already"
    assert not words.any()
    set_flag(first, worker)
    assert next_parked(first, MAX_WORKERS, 0) == worker
    assert not words.any()


@pytest.mark.parametrize(("workers", "words"), [(1, 1), (2, 1), (64, 1), (65, 2), (128, 2), (MAX_WORKERS, 8)])
def test_whether_any_is_set_takes_a_load_for_64_workers(workers: int, words: int) -> None:
    loads: list[int] = []

    def load(address: int) -> int:
        loads.append(address)
        return 0

    function = any_set.py_func
    assert not FunctionType(function.__code__, function.__globals__ | {"load_acquire": load})(4096, workers)
    assert loads == [4096 + 8 * word for word in range(words)]


@given(st.integers(1, 200), st.data())
def test_the_next_that_is_set(workers: int, data: st.DataObject) -> None:
    """As sets have it; those found are cleared."""
    words = np.zeros(4, np.int64)
    first = address_of(words)
    flags = data.draw(st.sets(st.integers(0, workers - 1)))
    start = data.draw(st.integers(0, workers))
    for worker in flags:
        set_flag(first, worker)
    found = []
    worker = next_parked(first, workers, start)
    while worker >= 0:
        found.append(worker)
        worker = next_parked(first, workers, worker + 1)
    assert found == sorted(flag for flag in flags if flag >= start)
    assert any_set(first, workers) == any(flag < start for flag in flags)
