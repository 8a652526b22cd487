"""Places are handed out once, and those given back before new ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokenring.engine import WORDS, int64, kernel, void
from tokenring.operators.state import FREE, LIMIT, give_place, take_place


@kernel(int64(WORDS, WORDS))
def _take(free, meta):  # type: ignore[no-untyped-def]
    return take_place(free, meta)


@kernel(void(WORDS, WORDS, int64))
def _give(free, meta, place):  # type: ignore[no-untyped-def]
    give_place(free, meta, place)


@given(st.lists(st.integers(-1, 5), max_size=60))
def test_places(steps: list[int]) -> None:
    free, meta = np.zeros(64, np.int64), np.zeros(2, np.int64)
    taken: list[int] = []
    most = 0
    for step in steps:
        if step < 0 or step >= len(taken):
            place = _take(free, meta)
            assert place not in taken
            taken.append(place)
            most = max(most, len(taken))
        else:
            _give(free, meta, taken.pop(step))
        assert meta[LIMIT] == most, "what was given back is used before new places"
        assert meta[FREE] == most - len(taken)
