"""The members of each slot, from the last that came to the first."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from tokenring.operators.state import chain, members_of


@given(owners=st.lists(st.integers(0, 4), max_size=300), cut=st.integers(0, 300))
def test_members_are_those_chained(owners: list[int], cut: int) -> None:
    first, following = np.zeros(5, np.int64), np.zeros(len(owners), np.int64)
    members, slots = np.arange(len(owners)), np.array(owners, np.int64)
    for part in (slice(None, cut), slice(cut, None)):
        chain(members[part], slots[part], first, following)
    asked = np.array([3, 0], np.int64)
    found, which = members_of(asked, first, following)
    expected = [(member, at) for at, slot in enumerate((3, 0)) for member in members[slots == slot][::-1].tolist()]
    assert list(zip(found.tolist(), which.tolist(), strict=True)) == expected
