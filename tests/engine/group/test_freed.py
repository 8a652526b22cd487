"""What a worker keeps of the memory that its program has freed."""

import os

import numpy as np
import pytest

from tokenring.engine import Config, Worker, execute
from tokenring.engine.budget.resident import own_bytes

_BLOCK_BYTES = 20 * 2**20


def _kept(worker: Worker) -> int:
    """What stays when three blocks came and went one after the other: the first one's end raises what is kept."""
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
