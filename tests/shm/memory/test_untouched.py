"""Zeros that take no memory until they are written to."""

import os

import numpy as np

from tokenring.shm.memory import untouched_zeros


def test_they_are_zeros_of_any_type_that_can_be_written_to() -> None:
    numbers = untouched_zeros(3, np.float64)
    numbers[1] = 2.5
    assert numbers.tolist() == [0, 2.5, 0] and len(untouched_zeros(0)) == 0


def test_a_process_that_is_forked_has_its_own() -> None:
    numbers = untouched_zeros(2)
    if (child := os.fork()) == 0:
        numbers[0] = 1
        os._exit(0)
    os.waitpid(child, 0)
    assert numbers.tolist() == [0, 0]
