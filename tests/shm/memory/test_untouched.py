"""Zeros that take no memory until they are written to."""

from __future__ import annotations

import os

import numpy as np
import psutil

from tokenring.shm.memory import untouched_zeros

MANY = 1 << 24  # words: 128 MB


def _resident() -> int:
    return int(psutil.Process().memory_info().rss)


def test_zeros_take_memory_where_they_are_written_to() -> None:
    for _ in range(3):  # memory that was used and given back is not handed out again
        np.ones(MANY // 4).sum()
    before = _resident()
    kept = [untouched_zeros(MANY) for _ in range(8)]
    assert _resident() - before < MANY
    assert all(array.shape == (MANY,) and array.dtype == np.int64 for array in kept)
    assert kept[3][::4096].sum() == 0
    kept[3][:] = 1
    assert _resident() - before > 8 * MANY - (1 << 20)


def test_of_none_there_is_an_empty_array() -> None:
    assert untouched_zeros(0).shape == (0,)


def test_a_process_that_is_forked_has_its_own() -> None:
    numbers = untouched_zeros(2)
    if (child := os.fork()) == 0:
        numbers[0] = 1
        os._exit(0)
    os.waitpid(child, 0)
    assert numbers.tolist() == [0, 0]
