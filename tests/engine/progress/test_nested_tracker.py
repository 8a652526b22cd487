"""Counts and frontiers of partially ordered times, against dictionaries and the product over all paths."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.progress.counted import number_at, sum_at
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import MAX_TIME, BrokenInvariant, Notify, PathSummary, less_equal
from tokenring.engine.graph.reachability import Link, Reachability
from tokenring.engine.progress.tracker import Tracker
from tokenring.engine.times.path_summary import enter_summary, feedback_summary, identity, leave_summary
from tokenring.engine.times.timestamp import coordinates, first_time


def _tracker(links: list[Link], depths: list[int], policy: Notify = Notify.ALWAYS) -> Tracker:
    tracker = Tracker(capacity=1)
    for _ in depths:
        tracker.add_location(tracker.add_operator(policy), is_input=True)
    tracker.add_graph(0, Reachability(links, depths), depths)
    return tracker


times_of_depth = {
    depth: st.tuples(*[st.one_of(st.integers(0, 3), st.integers(MAX_TIME - 1, MAX_TIME))] * depth).map(
        lambda words: words if len(words) > 1 else words[0]
    )
    for depth in (1, 2, 3, 4)
}
changes_of = st.lists(
    st.integers(1, 4).flatmap(
        lambda depth: st.tuples(st.just(depth - 1), times_of_depth[depth], st.sampled_from([-2, -1, 1, 2]))
    ),
    max_size=150,
)


@given(changes_of)
def test_counts_are_a_dictionary(changes: list[tuple[int, Any, int]]) -> None:
    tracker = _tracker([], [1, 2, 3, 4], Notify.NEVER)
    counts: Counter[tuple[int, Any]] = Counter()
    for location, time, delta in changes:
        tracker.change(location, time, delta)
        counts[location, time] += delta
        tracker.entries.check()
    for location in range(4):
        expected = sorted((time, count) for (at, time), count in counts.items() if at == location and count)
        assert tracker.entries.at(location) == expected
    assert tracker.complete == (not any(counts.values()))


def test_sums_of_times_are_those_of_the_outermost_scope() -> None:
    """By them regions tell all workers that there is too much: in a dataflow that has a loop besides, too."""
    tracker = _tracker([], [1, 2], Notify.NEVER)
    address = tracker.tables.state.address
    for at in range(2):
        for time, delta in ((7, 1), (3, 2), (11, 1), (3, -1)):
            tracker.change(at, time if at == 0 else (time, 100), delta)
        assert sum_at(address, at) == 7 + 3 + 11
        assert number_at(address, at) == 3


# input 0 -> enter 1 -> loop head 2 <-> feedback 3; 2 -> enter 4 -> inner head 5 <-> inner feedback 6;
# 5 -> leave 7 -> 3; 2 -> leave 8
LOOPS: list[Link] = [
    (0, 1, enter_summary(1)),
    (1, 2, identity(2)),
    (2, 3, feedback_summary(2)),
    (3, 2, identity(2)),
    (2, 4, enter_summary(2)),
    (4, 5, identity(3)),
    (5, 6, feedback_summary(3, 2)),
    (6, 5, identity(3)),
    (5, 7, leave_summary(3)),
    (7, 3, feedback_summary(2)),
    (2, 8, leave_summary(2)),
]
DEPTHS = [1, 2, 2, 2, 3, 3, 3, 2, 1]


def _minimal(times: list[Any]) -> list[Any]:
    return sorted(
        {time for time in times if not any(other != time and less_equal(other, time) for other in times)},
        key=coordinates,
    )


def _expected(reach: Reachability, live: Counter[tuple[int, Any]], target: int) -> list[Any]:
    images = [
        summary.results_in(time)
        for (origin, time), count in live.items()
        if count > 0
        for summary in reach.summaries(origin, target)
    ]
    return _minimal([image for image in images if image is not None])


@settings(max_examples=examples(150))
@given(st.randoms(use_true_random=False), st.sampled_from(list(Notify)))
def test_frontiers_are_the_antichains_that_the_counts_allow(rng: Random, policy: Notify) -> None:
    """Legal histories only, so frontiers never move back; kept up to date or computed when asked for, they agree."""
    tracker = _tracker(LOOPS, DEPTHS, policy)
    reach = Reachability(LOOPS, DEPTHS)
    live: Counter[tuple[int, Any]] = Counter({(0, 0): 2, (2, first_time(2)): 1})
    for (location, time), count in live.items():
        tracker.change(location, time, count)
    tracker.propagate()
    before = [_expected(reach, live, target) for target in range(len(DEPTHS))]
    for _ in range(60):
        if not +live:
            break
        location, time = rng.choice(sorted(+live, key=lambda at: (at[0], coordinates(at[1]))))
        choice = rng.random()
        if choice < 0.55:
            live[location, time] -= 1
            tracker.change(location, time, -1)
        if choice > 0.3:
            target = rng.choice([t for t in range(len(DEPTHS)) if len(reach.summaries(location, t))])
            later = rng.choice(list(reach.summaries(location, target))).results_in(time)
            if rng.random() < 0.5:
                words = list(coordinates(later))
                words[rng.randrange(len(words))] += rng.randint(1, 3)
                later = tuple(words) if len(words) > 1 else words[0]
            live[target, later] += 1
            tracker.change(target, later, 1)
        if policy == Notify.IF_TOKEN:
            tracker.set_holding(rng.randrange(len(DEPTHS)), rng.randint(0, 1))
        woken = tracker.propagate()
        tracker.entries.check()
        after = [_expected(reach, live, target) for target in range(len(DEPTHS))]
        assert [tracker.nested_frontier(target) for target in range(len(DEPTHS))] == after
        if policy == Notify.ALWAYS:
            assert sorted(woken) == [target for target in range(len(DEPTHS)) if after[target] != before[target]]
        if policy == Notify.NEVER:
            assert woken == []
        before = after


def test_a_frontier_of_incomparable_times() -> None:
    tracker = _tracker([(0, 1, identity(2))], [2, 2])
    for time in [(0, 7), (1, 3), (2, 5), (3, 0)]:
        tracker.change(0, time, 1)
    tracker.propagate()
    assert tracker.nested_frontier(1) == [(0, 7), (1, 3), (3, 0)]
    tracker.change(0, (1, 3), -1)
    tracker.propagate()
    assert tracker.nested_frontier(1) == [(0, 7), (2, 5), (3, 0)]


def test_more_incomparable_times_than_there_is_room_for_at_first() -> None:
    tracker = _tracker([(0, 1, identity(2))], [2, 2])
    order = list(range(600))
    Random(1).shuffle(order)
    for i in order:
        tracker.change(0, (i, 600 - i), 1)
    assert tracker.propagate() == [0, 1] or tracker.propagate() == []
    assert len(tracker.nested_frontier(1)) == 600
    tracker.entries.check()


def test_a_window_that_moves_on_for_ever_stays_small() -> None:
    tracker = _tracker([(0, 1, identity(2))], [2, 2])
    tracker.change(0, (0, 0), 1)
    for i in range(1, 20_000):
        tracker.change(0, (i // 100, i), 1)
        tracker.change(0, ((i - 1) // 100, i - 1), -1)
        tracker.propagate()
    assert tracker.entries.at(0) == [((199, 19_999), 1)]
    assert len(tracker.tables.pool) < 2000


def test_beyond_the_last_round_nothing_results() -> None:
    tracker = _tracker([(0, 1, PathSummary(0, 5))], [2, 2])
    tracker.change(0, (0, MAX_TIME - 4), 1)
    tracker.change(0, (3, MAX_TIME - 5), 1)
    tracker.propagate()
    assert tracker.nested_frontier(1) == [(3, MAX_TIME)]


def test_a_frontier_that_would_move_back_is_our_bug() -> None:
    tracker = _tracker([(0, 1, identity(2))], [2, 2])
    tracker.change(0, (1, 5), 1)
    tracker.propagate()
    tracker.change(0, (0, 9), 1)
    with raises(BrokenInvariant, "location 0", "from 1"):
        tracker.propagate()
