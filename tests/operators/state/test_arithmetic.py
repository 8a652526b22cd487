"""Whether a sum stays in range, at every edge, against Python's integers."""

from __future__ import annotations

from hypothesis import example, given
from hypothesis import strategies as st

from tokenring.engine import boolean, int64, kernel
from tokenring.operators.state import LEAST, MOST, overflows

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
