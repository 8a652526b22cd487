"""What a group with a budget gives back before it is forked."""

import ctypes
import os

from tokenring.engine import Config
from tokenring.engine.budget import require_budget
from tokenring.engine.budget.resident import own_bytes

_BLOCK_BYTES = 100_000  # less than what would be mapped for itself


def test_what_the_launcher_has_freed_is_given_back_before_it_forks() -> None:
    """Workers would put rows into copies of those pages, which no count of their own shows."""
    libc = ctypes.CDLL(None)
    libc.malloc.restype = ctypes.c_void_p
    libc.free.argtypes = [ctypes.c_void_p]
    libc.memset.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_size_t]
    blocks = [libc.malloc(_BLOCK_BYTES) for _ in range(800)]
    for block in blocks:
        libc.memset(block, 1, _BLOCK_BYTES)
    for block in blocks[:-1]:  # the last keeps the others from leaving at the heap's end
        libc.free(block)
    before = own_bytes(os.getpid())
    try:
        require_budget(2**40, Config(workers=2)._layout_in)
        assert own_bytes(os.getpid()) < before - 40 * 2**20
    finally:
        libc.free(blocks[-1])
