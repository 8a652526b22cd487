"""Whether a sum stays in range, at every edge, against Python's integers; whether words are all the same."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given
from hypothesis import strategies as st

from tokenring.engine import COLUMN, boolean, int64, kernel
from tokenring.operators.state import LEAST, MOST, all_equal, overflows

WORDS = st.one_of(st.integers(LEAST, MOST), st.sampled_from([LEAST, LEAST + 1, -1, 0, 1, MOST - 1, MOST]))


@kernel(boolean(int64, int64))
def _overflows(before, value):  # type: ignore[no-untyped-def]
    return overflows(before, value)


@given(before=WORDS, value=WORDS)
@example(before=MOST, value=1)
@example(before=LEAST, value=-1)
@example(before=LEAST, value=LEAST)
def test_overflows(before: int, value: int) -> None:
    assert _overflows(before, value) == (not LEAST <= before + value <= MOST)


@kernel(boolean(COLUMN))
def _all_equal(words):  # type: ignore[no-untyped-def]
    return all_equal(words)


@given(rows=st.sampled_from([0, 1, 2, 1023, 1024, 1025, 3000]), word=WORDS, other=WORDS, at=st.integers(0, 2999))
def test_all_equal(rows: int, word: int, other: int, at: int) -> None:
    words = np.full(rows, word)
    assert _all_equal(words) == (rows > 0)
    words[at : at + 1] = other
    assert _all_equal(words) == (len(set(words.tolist())) == 1)
