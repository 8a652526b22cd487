"""Antichains under a partial order (pairs)."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from tokenring.engine import COMPLETE, Antichain

Pair = tuple[int, int]
pairs = st.tuples(st.integers(0, 5), st.integers(0, 5))


def no_later(left: Pair, right: Pair) -> bool:
    """The product order."""
    return left[0] <= right[0] and left[1] <= right[1]


def minimal(elements: set[Pair]) -> set[Pair]:
    """By definition."""
    return {e for e in elements if not any(other != e and no_later(other, e) for other in elements)}


@given(st.lists(pairs))
def test_an_antichain_holds_the_minimal_elements(elements: list[Pair]) -> None:
    chain = Antichain(elements, no_later)
    chain.check()
    assert set(chain) == minimal(set(elements))
    assert len(chain) == len(set(chain))


@given(st.lists(pairs), pairs)
def test_comparisons_with_an_element(elements: list[Pair], element: Pair) -> None:
    chain = Antichain(elements, no_later)
    assert chain.less_equal(element) == any(no_later(e, element) for e in elements)
    assert chain.less_than(element) == any(no_later(e, element) and e != element for e in minimal(set(elements)))


@given(st.lists(pairs), pairs)
def test_insert_says_whether_it_changed_anything(elements: list[Pair], element: Pair) -> None:
    chain = Antichain(elements, no_later)
    before = set(chain)
    assert chain.insert(element) == (set(chain) != before)
    assert not chain.insert(element)


@given(st.lists(pairs), st.randoms())
def test_equality_is_of_sets(elements: list[Pair], rng: object) -> None:
    shuffled = list(elements)
    rng.shuffle(shuffled)  # type: ignore[attr-defined]
    assert Antichain(elements, no_later) == Antichain(shuffled, no_later)
    assert Antichain(elements, no_later) != Antichain([*elements, (-1, -1)], no_later)
    assert Antichain(elements, no_later) != elements


@given(st.lists(pairs), st.lists(pairs), pairs)
def test_as_a_frontier_it_is_compared_as_an_integer_is(elements: list[Pair], others: list[Pair], time: Pair) -> None:
    frontier = Antichain(elements, no_later)
    assert (time < frontier) == (not any(no_later(element, time) for element in elements))
    assert (frontier <= time) == any(no_later(element, time) for element in elements)
    assert (frontier < time) == any(no_later(element, time) and element != time for element in elements)
    assert (time <= frontier) == (not frontier < time)
    assert (frontier == COMPLETE) == (not elements)
    other = Antichain(others, no_later)
    if frontier == other:
        assert hash(frontier) == hash(other)
    assert len({frontier, Antichain(reversed(elements), no_later)}) == 1
    assert (Antichain() in {COMPLETE}, COMPLETE in {Antichain()}) == (True, True)


@given(st.integers(0, 9), st.integers(0, 9))
def test_of_integers_it_says_what_the_integer_says(at: int, time: int) -> None:
    frontier = Antichain([at])
    assert (time < frontier, time <= frontier, frontier < time, frontier <= time) == (
        time < at, time <= at, at < time, at <= time,
    )  # fmt: skip
