"""What a compiled source notes of its lateness comes to the backlog as if each look had been told at once."""

from __future__ import annotations

import pytest

from tokenring.nexmark.measure.looks import Looks, has_looked, look
from tokenring.nexmark.measure.verdict import BEHIND_NS, Backlog

SECOND_NS = 1_000_000_000


@pytest.mark.parametrize("count", [1, 2, 9, 10, 11, 35])
def test_looks_are_told_a_few_at_once(count: int) -> None:
    seen = [(at * SECOND_NS // 5, at * 1_000_000) for at in range(count)]
    told, noted = Backlog(0), Backlog(0)
    looks = Looks(noted)
    assert not has_looked.py_func(looks.state)
    for now_ns, late_ns in seen:
        assert not told.note(now_ns, late_ns)
        if look.py_func(looks.state, now_ns, late_ns):
            assert not looks.tell()
            assert not has_looked.py_func(looks.state)
        else:
            assert has_looked.py_func(looks.state), "the rest is told when the source has ended"
    looks.tell()
    assert noted.trail == told.trail


def test_a_source_that_is_far_behind_is_told_of_at_once() -> None:
    looks = Looks(Backlog(0))
    assert not look.py_func(looks.state, 0, BEHIND_NS)
    assert look.py_func(looks.state, SECOND_NS, BEHIND_NS + 1)
    assert looks.tell()
