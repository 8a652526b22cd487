"""The static closure: least summaries against trying every path, and cycles refused by name."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises
from tokenring.engine import COMPLETE, MAX_TIME, GraphError, PathSummary
from tokenring.engine.graph.cycles import require_advancing_cycles
from tokenring.engine.graph.reachability import Link, Reachability
from tokenring.engine.times.path_summary import IDENTITY, enter_summary, feedback_summary, identity, leave_summary

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
    reachability = Reachability(links)
    for target in range(LOCATIONS):
        for origin in range(LOCATIONS):
            least = _least(links, origin, target)
            summaries = list(reachability.summaries(origin, target))
            assert summaries == ([] if least is None else [PathSummary(least)])
            assert reachability.row(target, LOCATIONS)[origin] == (COMPLETE if least is None else least)


@given(acyclic_links, st.integers(0, 3))
def test_rows_around_cycles_are_the_least_over_all_paths(links: list[Link], back: int) -> None:
    cyclic = Reachability([*links, (LOCATIONS - 1, back, PathSummary(2))])
    for target in range(LOCATIONS):
        row = cyclic.row(target, LOCATIONS)
        for origin in range(LOCATIONS):
            (delay,) = [summary.delay for summary in cyclic.summaries(origin, target)] or [COMPLETE]
            assert row[origin] == delay


@given(acyclic_links)
def test_acyclic_links_are_accepted(links: list[Link]) -> None:
    require_advancing_cycles(links, str)


@given(acyclic_links, st.integers(0, LOCATIONS - 1), st.integers(0, LOCATIONS - 1))
def test_a_cycle_that_does_not_advance_is_found_wherever_it_is(links: list[Link], a: int, b: int) -> None:
    early, late = sorted((a, b))
    cyclic = [*links, (early, late, IDENTITY), (late, early, IDENTITY)]
    with raises(GraphError, "cycle that does not advance time"):
        require_advancing_cycles(cyclic, str)


@given(acyclic_links, st.integers(0, LOCATIONS - 1), st.integers(0, LOCATIONS - 1))
def test_cycles_that_advance_are_accepted(links: list[Link], a: int, b: int) -> None:
    early, late = sorted((a, b)) if a != b else (0, 1)
    require_advancing_cycles([*links, (early, late, IDENTITY), (late, early, PathSummary(1))], str)


def test_the_error_names_the_cycle_and_nothing_else() -> None:
    names = {0: "'a' output 0", 1: "'b' input 0", 2: "'b' output 0", 3: "'c' input 0", 4: "'c' output 0"}
    links = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 1)]
    with pytest.raises(GraphError) as caught:
        require_advancing_cycles([(a, b, IDENTITY) for a, b in links], names.__getitem__)
    ways = ["'b' input 0", "'b' output 0", "'c' input 0", "'c' output 0"]
    rotations = [" -> ".join([*ways[i:], *ways[:i], ways[i]]) for i in range(4)]
    assert any(f": {rotation};" in str(caught.value) for rotation in rotations)


def test_a_cycle_through_the_scope_around_a_loop_forgets_its_rounds_and_is_refused() -> None:
    """enter (0 -> 1), around (1 -> 2, advancing), leave (2 -> 3) and in again (3 -> 0): the outer time stands still."""
    links = [(0, 1, enter_summary(1)), (1, 2, feedback_summary(2)), (2, 3, leave_summary(2)), (3, 0, IDENTITY)]
    names = {number: f"port {number}" for number in range(4)}
    with raises(GraphError, " -> ".join(["port 0", "port 1", "port 2", "port 3", "port 0"])):
        require_advancing_cycles(links, names.__getitem__)
    links[3] = (3, 0, PathSummary(1))
    require_advancing_cycles(links, names.__getitem__)


def test_two_cycles_that_share_ports_are_both_looked_at() -> None:
    links = [(0, 1, identity(2)), (1, 0, feedback_summary(2)), (1, 2, identity(2)), (2, 0, identity(2))]
    with raises(GraphError, "0 -> 1 -> 2 -> 0"):
        require_advancing_cycles(links, str)


def test_summaries_around_a_loop_are_antichains() -> None:
    """From before the loop to behind it, over a way that skips it and delays: two incomparable summaries remain."""
    skip, go_in = PathSummary(1, then=(0,)), PathSummary(0, then=(5,))
    reachability = Reachability([(0, 1, skip), (0, 1, go_in), (0, 1, PathSummary(2, then=(7,)))], [1, 2])
    assert set(reachability.summaries(0, 1)) == {skip, go_in}


def test_a_long_chain_needs_no_deep_stack() -> None:
    links = [(number, number + 1, IDENTITY) for number in range(5000)]
    require_advancing_cycles(links, str)
    assert list(Reachability(links).summaries(0, 5000)) == [IDENTITY]
    assert Reachability(links).row(5000, 5001)[0] == 0
