"""Places are handed out once, and those given back before new ones."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokenring.engine import WORDS, int64, kernel, void
from tokenring.engine.compiled import record_of
from tokenring.operators.state import FreeList, give_place, take_place


@kernel(int64(WORDS, WORDS))
def _take(free, meta):  # type: ignore[no-untyped-def]
    return take_place(free, record_of(meta, FreeList))


@kernel(void(WORDS, WORDS, int64))
def _give(free, meta, place):  # type: ignore[no-untyped-def]
    give_place(free, record_of(meta, FreeList), place)


@given(st.lists(st.integers(-1, 5), max_size=60))
def test_places(steps: list[int]) -> None:
    free, counts = np.zeros(64, np.int64), FreeList()
    taken: list[int] = []
    most = 0
    for step in steps:
        if step < 0 or step >= len(taken):
            place = _take(free, counts.words)
            assert place not in taken
            taken.append(place)
            most = max(most, len(taken))
        else:
            _give(free, counts.words, taken.pop(step))
        assert counts.limit == most, "what was given back is used before new places"
        assert counts.free == most - len(taken)
