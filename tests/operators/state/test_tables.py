"""Tables double, along either dimension, and keep what is in them."""

from __future__ import annotations

import numpy as np

from tokenring.operators.state import grown


def test_grown_doubles_and_fills() -> None:
    array = np.arange(6, dtype=np.int64).reshape(2, 3)
    assert grown(array, 3) is array
    assert grown(array, 4, -1).tolist() == [[0, 1, 2, -1, -1, -1], [3, 4, 5, -1, -1, -1]]


def test_rows_grow_too() -> None:
    array = np.arange(6, dtype=np.int64).reshape(2, 3)
    assert grown(array, 2, axis=0) is array
    assert grown(array, 3, axis=0).tolist() == [[0, 1, 2], [3, 4, 5], [0, 0, 0], [0, 0, 0]]
    assert grown(array, 9, None, axis=0).shape == (9, 3), "twice as long, or as long as is asked for"
    assert grown(np.zeros((0, 2), np.int64), 1, 7, axis=0).tolist() == [[7, 7]]
