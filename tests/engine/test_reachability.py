"""The static closure: least summaries against trying every path, and cycles refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import GraphError
from engine.reachability import Link, Reachability, require_acyclic
from engine.timestamp import IDENTITY, MAX_TIME, PathSummary

LOCATIONS = 7
acyclic_links = st.lists(
    st.tuples(st.integers(0, LOCATIONS - 2), st.integers(1, LOCATIONS - 1), st.sampled_from([0, 0, 1, 5, MAX_TIME])),
    max_size=14,
).map(lambda links: [(a, b, PathSummary(d)) for a, b, d in links if a < b])


def _least(links: list[Link], origin: int, target: int) -> int | None:
    """The least delay of all paths, by walking each."""
    found = [0] if origin == target else []
    for a, b, summary in links:
        if a == origin:
            rest = _least(links, b, target)
            if rest is not None and rest + summary.delay <= MAX_TIME:
                found.append(rest + summary.delay)
    return min(found, default=None)


@given(acyclic_links)
def test_the_closure_is_the_least_over_all_paths(links: list[Link]) -> None:
    reachability = Reachability(links, range(LOCATIONS))
    assert reachability.targets() == list(range(LOCATIONS))
    for target in range(LOCATIONS):
        for origin in range(LOCATIONS):
            least = _least(links, origin, target)
            summaries = list(reachability.summaries(origin, target))
            assert summaries == ([] if least is None else [PathSummary(least)])
            assert (origin in reachability.sources(target)) == (least is not None)


@given(acyclic_links)
def test_acyclic_links_are_accepted(links: list[Link]) -> None:
    require_acyclic(links, {number: str(number) for number in range(LOCATIONS)})


@given(acyclic_links, st.integers(0, LOCATIONS - 1), st.integers(0, LOCATIONS - 1))
def test_a_cycle_is_found_wherever_it_is(links: list[Link], a: int, b: int) -> None:
    early, late = sorted((a, b))
    cyclic = [*links, (early, late, IDENTITY), (late, early, IDENTITY)]
    with pytest.raises(GraphError, match="cycle"):
        require_acyclic(cyclic, {number: str(number) for number in range(LOCATIONS)})


def test_the_error_names_the_cycle_and_nothing_else() -> None:
    names = {0: "'a' output 0", 1: "'b' input 0", 2: "'b' output 0", 3: "'c' input 0", 4: "'c' output 0"}
    links = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1)]
    with pytest.raises(GraphError) as caught:
        require_acyclic([(a, b, IDENTITY) for a, b in links], names)
    path = "'b' input 0 -> 'b' output 0 -> 'c' input 0 -> 'c' output 0 -> 'b' input 0"
    assert str(caught.value).endswith(f": {path}")


def test_a_long_chain_needs_no_deep_stack() -> None:
    links = [(number, number + 1, IDENTITY) for number in range(5000)]
    require_acyclic(links, {number: str(number) for number in range(5001)})
    assert list(Reachability(links, [5000]).summaries(0, 5000)) == [IDENTITY]
