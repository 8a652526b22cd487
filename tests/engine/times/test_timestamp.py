"""The laws of times and path summaries."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises
from tokenring.engine import COMPLETE, MAX_TIME, PathSummary, UsageError, less_equal
from tokenring.engine.times.path_summary import IDENTITY

times = st.one_of(st.integers(0, 20), st.integers(MAX_TIME - 20, MAX_TIME), st.integers(0, MAX_TIME))
summaries = st.builds(PathSummary, times)


@given(times, times, times)
def test_less_equal_is_a_total_order(a: int, b: int, c: int) -> None:
    assert less_equal(a, a)
    assert less_equal(a, b) or less_equal(b, a)
    assert not (less_equal(a, b) and less_equal(b, a)) or a == b
    assert not (less_equal(a, b) and less_equal(b, c)) or less_equal(a, c)


@given(times)
def test_the_identity_changes_nothing(time: int) -> None:
    assert IDENTITY.results_in(time) == time


@given(summaries, times)
def test_results_in_never_moves_back_and_is_none_only_beyond_the_end(summary: PathSummary, time: int) -> None:
    result = summary.results_in(time)
    if result is None:
        assert time + summary.delay > MAX_TIME
    else:
        assert less_equal(time, result)
        assert result <= MAX_TIME < COMPLETE


@given(summaries, times, times)
def test_results_in_is_monotone(summary: PathSummary, early: int, late: int) -> None:
    early, late = sorted((early, late))
    first, second = summary.results_in(early), summary.results_in(late)
    assert second is None or (first is not None and less_equal(first, second))


@given(summaries, summaries, times)
def test_followed_by_composes(p: PathSummary, q: PathSummary, time: int) -> None:
    both = p.followed_by(q)
    middle = p.results_in(time)
    expected = None if middle is None else q.results_in(middle)
    assert (None if both is None else both.results_in(time)) == expected


@given(summaries, summaries, summaries)
def test_followed_by_is_associative_with_a_unit(p: PathSummary, q: PathSummary, r: PathSummary) -> None:
    pq, qr = p.followed_by(q), q.followed_by(r)
    assert (pq and pq.followed_by(r)) == (qr and p.followed_by(qr))
    assert IDENTITY.followed_by(p) == p == p.followed_by(IDENTITY)


@given(summaries, summaries, times)
def test_the_order_of_summaries_is_that_of_their_results(p: PathSummary, q: PathSummary, time: int) -> None:
    first, second = p.results_in(time), q.results_in(time)
    if p.less_equal(q):
        assert second is None or (first is not None and first <= second)


@pytest.mark.parametrize("delay", [-1, MAX_TIME + 1, 1.5, "x", None])
def test_a_summary_only_advances(delay: Any) -> None:
    with raises(UsageError, f"delay {delay!r}", f"0..{MAX_TIME}"):
        PathSummary(delay)
    with raises(UsageError, f"delay {delay!r}", f"0..{MAX_TIME}"):
        PathSummary(0, then=(delay,))
    with raises(UsageError, "a tuple", f"not {delay!r}"):
        PathSummary(0, then=delay)
