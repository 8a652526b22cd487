"""The count tables and the frontiers that follow from them, against dictionaries and a product over all paths."""

from __future__ import annotations

from collections import Counter
from random import Random
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.progress.counted import least_time
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import COMPLETE, BrokenInvariant, Notify, PathSummary
from tokenring.engine.graph.reachability import Link, Reachability
from tokenring.engine.progress.tracker import Tracker

times = st.one_of(st.integers(0, 12), st.integers(0, 2**62 - 1))


@given(st.lists(st.tuples(st.integers(0, 3), times, st.sampled_from([-2, -1, 1, 2])), max_size=200))
def test_counts_are_a_dictionary(changes: list[tuple[int, int, int]]) -> None:
    tracker = _connected([], 4, Notify.NEVER)
    counts: Counter[tuple[int, int]] = Counter()
    for location, time, delta in changes:
        tracker.change(location, time, delta)  # never 0: netting drops those
        counts[location, time] += delta
        tracker.entries.check()
    for location in range(4):
        expected = sorted((time, count) for (at, time), count in counts.items() if at == location and count)
        assert tracker.entries.at(location) == expected
        least = least_time(tracker.tables.state.address, location)
        assert least == min((t for t, c in expected if c > 0), default=COMPLETE)
    assert tracker.complete == (not any(counts.values()))


def test_a_window_that_moves_on_for_ever_stays_small() -> None:
    tracker = _connected([], 1, Notify.NEVER)
    tracker.change(0, 0, 1)
    for time in range(50_000):
        tracker.change(0, time + 1, 1)
        tracker.change(0, time, -1)
    assert tracker.entries.at(0) == [(50_000, 1)]
    assert len(tracker.tables.pool) < 200


def test_entries_that_died_behind_an_old_time_take_no_room() -> None:
    """One worker's token stays at time 0 while the others go on: dead times must not pile up."""
    tracker = _connected([], 1, Notify.NEVER)
    tracker.change(0, 0, 1)
    for time in range(1, 50_000):
        tracker.change(0, time, 1)
        tracker.change(0, time, -1)
    assert tracker.entries.at(0) == [(0, 1)]
    assert len(tracker.tables.pool) < 500


def test_many_outstanding_times_in_any_order() -> None:
    tracker = _connected([], 1, Notify.NEVER)
    order = list(range(5000))
    Random(1).shuffle(order)
    for time in order:
        tracker.change(0, time, 1)
    assert tracker.entries.at(0) == [(time, 1) for time in range(5000)]
    Random(2).shuffle(order)
    for time in order:
        tracker.change(0, time, -1)
    assert tracker.complete


def _connected(links: list[Link], locations: int, policy: Notify = Notify.ALWAYS) -> Tracker:
    tracker = Tracker(capacity=1)
    for _ in range(locations):
        tracker.add_location(tracker.add_operator(policy), is_input=True)
    tracker.add_graph(0, Reachability(links))
    return tracker


LOCATIONS = 5
links_of = st.lists(
    st.tuples(st.integers(0, LOCATIONS - 1), st.integers(0, LOCATIONS - 1), st.integers(0, 4)), max_size=10
).map(lambda links: [(a, b, PathSummary(d)) for a, b, d in links if a < b])


@pytest.mark.parametrize("few_words", [0, 1 << 15])
@settings(max_examples=examples(200))
@given(links_of, st.randoms(use_true_random=False), st.booleans())
def test_frontiers_are_the_least_that_the_counts_allow(
    few_words: int, links: list[Link], rng: Random, turned: bool
) -> None:
    """Legal histories only (a new count needs an earlier-or-equal one that could result in it), so frontiers never
    move back. By rows of paths, along the edges, and the other way round in the middle of it."""
    if turned:  # so that the order of numbers is not topological
        links = [(LOCATIONS - 1 - a, LOCATIONS - 1 - b, summary) for a, b, summary in links]
    with patch("tokenring.engine.progress.tracker._FEW_WORDS", few_words):
        tracker = _connected(links, LOCATIONS)
    assert (tracker.tables.graphs_used[0].edges is None) == (few_words > 0)
    reach = Reachability(links)
    live: Counter[tuple[int, int]] = Counter({(location, 0): 1 for location in range(LOCATIONS)})
    for location, time in live:
        tracker.change(location, time, 1)
    tracker.propagate()
    before = [tracker.frontier(target) for target in range(LOCATIONS)]
    for step in range(40):
        if step == 20 and few_words:
            tracker._go_along_edges(0, is_new=False)
        if not +live:
            break
        location, time = rng.choice(sorted(+live))
        choice = rng.random()
        if choice < 0.5:
            live[location, time] -= 1
            tracker.change(location, time, -1)
        if choice > 0.3:
            reachable = [target for target in range(LOCATIONS) if len(reach.summaries(location, target))]
            target = rng.choice(reachable)
            later = time + next(iter(reach.summaries(location, target))).delay + rng.choice([0, 0, 1, 3])
            live[target, later] += 1
            tracker.change(target, later, 1)
        woken = tracker.propagate()
        tracker.entries.check()
        after = [tracker.frontier(target) for target in range(LOCATIONS)]
        for target in range(LOCATIONS):
            assert after[target] == min(
                (at + s.delay for origin, at in +live for s in reach.summaries(origin, target)), default=COMPLETE
            )
        assert sorted(woken) == [target for target in range(LOCATIONS) if after[target] != before[target]]
        before = after


@pytest.mark.parametrize("few_words", [0, 1 << 15])
def test_a_frontier_that_would_move_back_is_our_bug_and_says_where(few_words: int) -> None:
    with patch("tokenring.engine.progress.tracker._FEW_WORDS", few_words):
        tracker = _connected([(0, 1, PathSummary(0))], 2)
    tracker.change(0, 5, 1)
    tracker.propagate()
    assert tracker.frontier(1) == 5
    tracker.change(0, 4, 1)
    with raises(BrokenInvariant, {"location 0", "location 1"}, "from 5"):
        tracker.propagate()


def test_negative_counts_hold_nothing_up() -> None:
    tracker = _connected([(0, 1, PathSummary(0))], 2)
    tracker.change(0, 5, 1)
    tracker.change(1, 2, -1)
    tracker.propagate()
    assert tracker.frontier(1) == 5
    assert not tracker.complete


@pytest.mark.parametrize(
    ("policy", "holding", "woken"),
    [(Notify.NEVER, 1, []), (Notify.IF_TOKEN, 0, []), (Notify.IF_TOKEN, 2, [1]), (Notify.ALWAYS, 0, [1])],
)
def test_whom_a_frontier_wakes(policy: Notify, holding: int, woken: list[int]) -> None:
    tracker = Tracker()
    tracker.add_location(tracker.add_operator(Notify.NEVER))
    tracker.add_location(tracker.add_operator(policy), is_input=True)
    tracker.add_graph(0, Reachability([(0, 1, PathSummary(0))]))
    tracker.change(0, 0, 1)
    tracker.propagate()
    tracker.set_holding(1, holding)
    tracker.change(0, 0, -1)
    tracker.change(0, 3, 1)
    assert tracker.propagate() == woken
    assert tracker.propagate() == [], "once for each move"


def test_growing_keeps_everything() -> None:
    tracker = _connected([(0, 1, PathSummary(2))], 2)
    tracker.change(0, 3, 1)
    tracker.propagate()
    for number in range(200):
        tracker.add_location(tracker.add_operator(Notify.ALWAYS), is_input=True)
        tracker.add_graph(number + 2, Reachability([]))
        tracker.change(number + 2, number + 3, 1)
    assert tracker.frontier(1) == 5
    assert tracker.entries.at(201) == [(202, 1)]
    tracker.entries.check()


def test_an_idle_operators_frontier_is_left_alone_and_right_when_it_is_asked_for() -> None:
    tracker = _connected([(0, 1, PathSummary(2)), (1, 2, PathSummary(0))], 3, Notify.IF_TOKEN)
    for time in range(1, 20):
        tracker.change(0, time, 1)
        if time > 1:
            tracker.change(0, time - 1, -1)
        assert tracker.propagate() == ([2] if time % 5 == 0 else [])
        assert [tracker.frontier(location) for location in range(3)] == [time, time + 2, time + 2]
        eager = tracker.tables.graphs["eager_count"][0]
        assert eager == (1 if time % 5 == 0 else 0)
        tracker.set_holding(2, 1 if (time + 1) % 5 == 0 else 0)
        if (time + 1) % 5 == 0:
            tracker.change(0, time, 1)  # a change that moves nothing
            assert tracker.propagate() == []
            tracker.change(0, time, -1)


def test_a_dataflow_that_is_done_wakes_its_owner_and_can_be_forgotten() -> None:
    tracker = Tracker()
    for first in (0, 2):
        for _ in range(2):
            tracker.add_location(tracker.add_operator(Notify.ALWAYS), is_input=True)
        owner = tracker.add_operator(Notify.NEVER)
        number = tracker.add_graph(first, Reachability([(0, 1, PathSummary(0))]), all_done=owner)
        tracker.change(first, 0, 1)
        tracker.propagate()
        tracker.change(first, 7, 1)
        tracker.change(first, 0, -1)
        assert owner not in tracker.propagate()
        if first == 0:
            tracker.change(first, 7, -1)
            assert owner in tracker.propagate()
            tracker.remove_graph(number)
    assert [tracker.frontier(location) for location in range(4)] == [COMPLETE, COMPLETE, 7, 7]
    tracker.entries.check()
