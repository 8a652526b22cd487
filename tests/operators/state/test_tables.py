"""Tables that become longer: what was written stays, and what is new is 0."""

from __future__ import annotations

import numpy as np
import pytest

from tokenring.operators.state import GrowingTable


def test_a_growing_table_keeps_what_is_written() -> None:
    made = GrowingTable(3)
    assert made.table.shape == (64, 3) and not made.table.any()
    made.table[:] = np.arange(64 * 3).reshape(64, 3)
    for rows in (64, 65, 1000, 300_000, 299_999):  # from one page to huge ones, and never less
        made.reserve(rows)
        assert made.address == made.table.ctypes.data
        assert (made.table[:64] == np.arange(64 * 3).reshape(64, 3)).all() and not made.table[64:].any()
    assert made.rows == len(made.table) == 300_000


def test_nobody_looks_at_words_that_have_moved() -> None:
    made = GrowingTable(1)
    held = made.table
    with pytest.raises(BufferError):
        made.reserve(1_000_000)
    assert not held.any()
    del held
    made.reserve(1_000_000)
    assert made.rows == 1_000_000
