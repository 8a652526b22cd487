"""The ends of times' panes: as division says, whichever time comes first."""

from __future__ import annotations

import numpy as np
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tokenring.operators.time.late import fill_ends


@settings(max_examples=examples(300), deadline=None)
@given(
    times=st.lists(st.integers(-30, 30), min_size=1, max_size=8),
    step=st.integers(1, 12),
    offset=st.integers(0, 15),
    lateness=st.integers(0, 5),
)
@example(times=[-1], step=10, offset=3, lateness=0)
@example(times=[-1, -1], step=10, offset=0, lateness=2)
def test_ends_of_panes(times: list[int], step: int, offset: int, lateness: int) -> None:
    ends = np.empty(len(times), np.int64)
    least = fill_ends(np.array(times), step, offset, lateness, ends)
    expected = [min(end for end in range(time + 1, time + step + 1) if (end - offset) % step == 0) for time in times]
    assert ends.tolist() == [end + lateness for end in expected]
    assert least == min(expected) + lateness
