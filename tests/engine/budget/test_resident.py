"""What memory processes take of their own, seen from outside."""

import os

import numpy as np

from tokenring.engine import Worker, execute
from tokenring.engine.budget.resident import own_bytes

_MIB = 2**20


def test_what_forked_processes_share_is_counted_once() -> None:
    shared = np.ones(64 * _MIB // 8)
    before = own_bytes(os.getpid())

    def program(worker: Worker) -> tuple[int, int]:
        own = own_bytes(os.getpid())
        worker.barrier()
        return own, int(shared[0])

    for own, one in execute(program, 3):
        assert own < before - 32 * _MIB * one
