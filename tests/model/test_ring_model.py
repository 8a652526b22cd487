"""The progress ring's protocol under every interleaving of its atomic steps and every death, for small bounds; and that
the model can fail."""

from __future__ import annotations

from functools import partial

import pytest

from tests.errors import raises
from tests.model import ring
from tests.model.checker import Explored, Found, explore
from tests.model.ring import Bounds


def _check(bounds: Bounds) -> Explored:
    explored = explore(
        ring.start(bounds),
        partial(ring.successors, bounds),
        partial(ring.forbidden, bounds),
        partial(ring.unfinished, bounds),
        partial(ring.resting, bounds),
    )
    print(f"{bounds}: {explored}")  # pytest -rP shows it
    return explored


CAPACITIES = [2, pytest.param(3, marks=pytest.mark.slow), 4]
"""Among runs in which two may die there are those in which none does, or one; that these end is seen here."""


@pytest.mark.parametrize("capacity", CAPACITIES)
@pytest.mark.parametrize("batches", [((1, 1), (1, 2)), ((2, 1), (2,)), ((1, 2, 1), (2,)), ((2, 2), (1, 1))])
def test_every_interleaving(batches: tuple[tuple[int, ...], ...], capacity: int) -> None:
    assert _check(Bounds(batches, readers=2, capacity=capacity)).states > 1000


@pytest.mark.parametrize(
    ("capacity", "deaths"), [(2, 1), pytest.param(3, 1, marks=pytest.mark.slow), (4, 1), (2, 2), (3, 2), (4, 2)]
)
@pytest.mark.parametrize("batches", [((2, 1), (1, 2)), ((1, 1), (1, 2)), ((2,), (2, 2))])
def test_two_workers_that_die_at_any_step(batches: tuple[tuple[int, ...], ...], capacity: int, deaths: int) -> None:
    explored = _check(Bounds(batches, readers=2, capacity=capacity, deaths=deaths))
    assert explored.ends > 100, "deaths lead to many different ends"


@pytest.mark.slow
@pytest.mark.parametrize(("batches", "capacity"), [(((2,), (1,), (1,)), 2), (((1,), (2,), (1,)), 4)])
def test_three_workers_that_die_at_any_step(batches: tuple[tuple[int, ...], ...], capacity: int) -> None:
    assert _check(Bounds(batches, readers=3, capacity=capacity, deaths=3)).states > 50_000


@pytest.mark.parametrize(
    ("batches", "deaths"), [(((1, 2), (1,)), 1), pytest.param(((1, 1), (1,), ()), 1, marks=pytest.mark.slow)]
)
def test_workers_that_leave_hold_up_nobody(batches: tuple[tuple[int, ...], ...], deaths: int) -> None:
    readers = len(batches)
    assert _check(Bounds(batches, readers, capacity=2, deaths=deaths, leavers=readers - 1)).states > 1000


def test_who_leaves_has_read_what_it_had_begun() -> None:
    with raises(Found, "reader", "lapped"):
        _check(Bounds(((2, 1, 1), (1,)), readers=2, capacity=2, leavers=1, mutation="leaves early"))


@pytest.mark.slow
def test_longer_lives() -> None:
    assert _check(Bounds(((2, 1, 2), (1, 2, 1)), readers=2, capacity=4, deaths=2)).states > 300_000


@pytest.mark.parametrize("deaths", [0, 1])
@pytest.mark.parametrize(
    ("mutation", "wrong"),
    [
        ("no gate", "lapped"),
        ("publish first", "claim"),
        ("fills upwards", "claim"),
        ("torn claim", "claim"),
        ("claim before gate", "lapped"),
        ("release early", "lapped"),
        ("no lap", "nobody claimed"),
        ("passes holes", "nothing moves"),
    ],
)
def test_the_model_catches(mutation: str, wrong: str, deaths: int) -> None:
    with raises(Found, wrong):
        _check(Bounds(((2, 1), (1, 2)), readers=2, capacity=2, deaths=deaths, mutation=mutation))


def test_only_a_death_shows_why_batches_are_published_whole() -> None:
    """Readers that take record by record are right as long as everybody lives."""
    bounds = Bounds(((2, 1), (1, 2)), readers=2, capacity=2, mutation="record by record")
    _check(bounds)
    with raises(Found, "not a batch"):
        _check(Bounds(bounds.batches, bounds.readers, bounds.capacity, 1, bounds.mutation))
