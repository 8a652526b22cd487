"""Every plan ends where the bins are to be, moves none twice, and its steps are what its name says."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.errors import raises
from tokenring.engine import UsageError
from tokenring.operators.migrate.plans import drained, evened, steps_between

PLACES = st.integers(1, 6).flatmap(
    lambda peers: st.tuples(
        st.just(peers),
        st.lists(st.tuples(st.integers(0, peers - 1), st.integers(0, peers - 1)), min_size=1, max_size=80),
    )
)


@given(PLACES, st.sampled_from(["all_at_once", "fluid", "batched:1", "batched:7", "optimized"]))
def test_a_plan_ends_at_its_target(places: tuple[int, list[tuple[int, int]]], plan: str) -> None:
    now, target = np.array(places[1], np.int64).T
    steps = steps_between(now, target, plan)
    moved = [number for step in steps for number in step]
    assert sorted(moved) == np.flatnonzero(now != target).tolist()
    assert all(worker == target[number] for step in steps for number, worker in step.items())
    assert all(steps)
    if plan == "all_at_once":
        assert len(steps) <= 1
    elif plan == "optimized":
        sends = np.bincount(now[moved], minlength=6) if moved else np.zeros(1)
        takes = np.bincount(target[moved], minlength=6) if moved else np.zeros(1)
        assert len(steps) == max(*sends, *takes, 0)
        for step in steps:
            numbers = list(step)
            assert len(set(now[numbers].tolist())) == len(set(step.values())) == len(step)
    else:
        most = {"fluid": 1, "batched:1": 1, "batched:7": 7}[plan]
        assert len(steps) == -(-len(moved) // most) and all(len(step) <= most for step in steps)


@given(PLACES)
def test_evened_bins_differ_by_one_and_few_move(places: tuple[int, list[tuple[int, int]]]) -> None:
    peers, now = places[0], np.array(places[1], np.int64)[:, 0]
    before, target = np.bincount(now, minlength=peers), evened(now, peers)
    after = np.bincount(target, minlength=peers)
    assert after.max() - after.min() <= 1
    assert (now != target).sum() == np.maximum(after - before, 0).sum()
    few = len(now) // peers
    least = max(np.maximum(before - few - 1, 0).sum(), np.maximum(few - before, 0).sum())
    assert (now != target).sum() == least


@given(PLACES.filter(lambda places: places[0] > 1))
def test_a_drained_worker_has_no_bin(places: tuple[int, list[tuple[int, int]]]) -> None:
    peers, now = places[0], np.array(places[1], np.int64)[:, 0]
    for worker in range(peers):
        target = drained(now, peers, worker)
        assert worker not in target and (target == now)[now != worker].all()
        grown = (target != now).nonzero()[0]
        others = np.delete(np.bincount(target, minlength=peers), worker)
        if len(grown):  # who took one had not more than the others, who could have
            assert max(np.bincount(target, minlength=peers)[target[grown]]) - others.min() <= 1


@pytest.mark.parametrize("plan", ["batched:0", "batched:", "fluidd", "batched"])
def test_a_plan_that_there_is_not_is_named(plan: str) -> None:
    with raises(UsageError, f"'{plan}'", {"did you mean", "plans are"}):
        steps_between(np.zeros(2, np.int64), np.ones(2, np.int64), plan)


def test_steps_of_many_bins_are_found_quickly_enough_to_wait_for() -> None:
    now = np.repeat(np.arange(4), 1024)
    steps = steps_between(now, np.roll(now, 1000), "optimized")
    assert len(steps) == 1000
