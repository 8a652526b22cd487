"""Tables that grow where they are: the same address, the same values, new places 0."""

from __future__ import annotations

import resource

import numpy as np
import pytest

from tokenring.operators.state import grown


def test_a_large_table_grows_where_it_is() -> None:
    if resource.getrlimit(resource.RLIMIT_AS)[0] != resource.RLIM_INFINITY:
        pytest.skip("addresses are limited, so tables are copied")
    table = np.arange(3 * 64).reshape(64, 3)
    addresses = []
    while len(table) < 1 << 20:
        before = len(table)
        table = grown(table, before + 1, axis=0)
        assert not table[before:].any() and table[before - 1, 2] == 3 * before - 1
        table[before:] = np.arange(3 * before, table.size).reshape(-1, 3)
        if table.nbytes >= 1 << 18:
            addresses.append(table.ctypes.data)
    assert len(set(addresses)) == 1, "it is copied while it is small"
    assert (table.ravel() == np.arange(table.size)).all()
