"""Very many open times at one location: counts and least times stay right, and cost the same in any order."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.growth import growth
from tests.engine.helpers import VALUE, build, settle, simulated
from tests.engine.progress.counted import least_time
from tests.long_form import examples
from tokenring.engine import COMPLETE, Notify, OperatorContext, Scope, Token, Worker
from tokenring.engine.graph.reachability import Reachability
from tokenring.engine.progress.tracker import Tracker

_ORDERS: dict[str, Callable[[list[int]], None]] = {
    "ascending": list.sort,
    "descending": list.reverse,
    "random": lambda times: Random(1).shuffle(times),
}


def _one_location() -> Tracker:
    tracker = Tracker(capacity=1)
    tracker.add_location(tracker.add_operator(Notify.NEVER))
    tracker.add_graph(0, Reachability([]))
    return tracker


@settings(max_examples=examples(40), deadline=None)
@given(st.integers(100, 2000), st.integers(1, 3), st.randoms(use_true_random=False))
def test_counts_are_a_dictionary_however_many(steps: int, spread: int, rng: Random) -> None:
    tracker = _one_location()
    counts: Counter[int] = Counter()
    for step in range(steps):
        if counts and rng.random() < 0.5 + 0.2 * (step > steps // 2):
            time, delta = rng.choice(sorted(counts)), -1
        else:
            time, delta = rng.randrange(steps * 10**spread), rng.choice([1, 1, 2, -1])
        tracker.change(0, time, delta)
        counts[time] += delta
        if not counts[time]:
            del counts[time]
        if step % 50 == 0 or not counts:
            tracker.propagate()
            tracker.entries.check()
            assert tracker.entries.at(0) == sorted(counts.items())
            least = least_time(tracker.tables.state.address, 0)
            assert least == min((t for t, c in counts.items() if c > 0), default=COMPLETE)
    for time, count in counts.items():
        tracker.change(0, time, -count)
    assert tracker.complete
    tracker.entries.check()


def _open_and_release(opened: str, released: str, number: int) -> None:
    tracker = _one_location()
    for order, delta in ((opened, 1), (released, -1)):
        times = list(range(number))
        _ORDERS[order](times)
        for done, time in enumerate(times):
            tracker.change(0, time, delta)
            if done % 64 == 0:
                tracker.propagate()
    assert tracker.complete


@pytest.mark.parametrize("released", _ORDERS)
@pytest.mark.parametrize("opened", _ORDERS)
def test_times_are_opened_and_released_in_linear_time(opened: str, released: str) -> None:
    assert growth(partial(_open_and_release, opened, released), 2_000, 32_000) < 80, "16 times as many"


def test_what_was_outgrown_is_used_again() -> None:
    tracker = _one_location()
    sizes = []
    for _ in range(5):
        for time in range(5000, 0, -1):
            tracker.change(0, time, 1)
        for time in range(5000):
            tracker.change(0, time + 1, -1)
        sizes.append(len(tracker.tables.pool))
    assert sizes[0] == sizes[-1]


def _hold_and_drop(number: int) -> None:
    """A source holds tokens at many times, which go out over a ring with room for few; then they are dropped."""
    held: list[Token] = []

    def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
        for time in range(number):
            held.append(token.clone())
            held[-1].downgrade(time)
        token.drop()
        return lambda output: None

    def declare(worker: Worker, scope: Scope) -> None:
        scope.source("source", VALUE, construct)[0].probe()

    with simulated() as group:
        build(group, declare)
        settle(group)
        for token in held:
            token.drop()
        settle(group)
        assert group.workers[0].complete


def test_a_ring_that_is_full_for_long_costs_linear_time() -> None:
    assert growth(_hold_and_drop, 3_000, 48_000) < 80, "16 times as many"


def test_changes_that_wait_for_the_ring_go_out_in_order_and_whole() -> None:
    """Two workers; the second does not read for a while, and the first goes on changing its mind."""
    tokens: list[list[Token]] = [[], []]

    def declare(worker: Worker, scope: Scope) -> object:
        def construct(context: OperatorContext, token: Token) -> Callable[..., None]:
            tokens[worker.index].append(token)
            return lambda rows, output: [None for _ in rows] and None

        handle, stream = scope.new_input(VALUE)
        return handle, stream.unary("holder", VALUE, construct).probe()

    with simulated(2) as group:
        made = build(group, declare)
        settle(group)
        rng, first = Random(3), group.workers[0]
        mine = tokens[0]
        for turn in range(60):
            for _ in range(rng.randrange(40)):
                mine.append(rng.choice(mine).clone())
                mine[-1].downgrade(mine[-1].time + rng.randrange(50))
                if len(mine) > 2 and rng.random() < 0.4:
                    mine.pop(rng.randrange(1, len(mine))).drop()
            first.step()
            if turn % 7 == 6:
                group.workers[1].step()
        settle(group)
        for worker in group.workers:
            found = Counter(dict(worker.tracker.entries.at(mine[0]._port.location)))
            assert found == Counter([token.time for token in (*mine, *tokens[1])])
        for token in (*mine, *tokens[1]):
            token.drop()
        for handle, _ in made:
            handle.close()
        settle(group)
        assert all(worker.complete for worker in group.workers)

