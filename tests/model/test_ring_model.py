"""The progress ring's protocol under every interleaving of its atomic steps, for small bounds; and that the model can
fail."""

from __future__ import annotations

from functools import partial

import pytest

from tests.model import ring
from tests.model.checker import Explored, Found, explore
from tests.model.ring import Bounds


def _check(bounds: Bounds) -> Explored:
    return explore(
        ring.start(bounds),
        partial(ring.successors, bounds),
        partial(ring.forbidden, bounds),
        partial(ring.unfinished, bounds),
        can_always_end=not bounds.deaths,  # behind a dead writer the others wait for ever: the launcher ends the group
    )


@pytest.mark.parametrize("capacity", [2, 3, 4])
@pytest.mark.parametrize("batches", [((1, 1), (1, 2)), ((2, 1), (2,)), ((1, 2, 1), (2,)), ((2, 2), (1, 1))])
def test_every_interleaving(batches: tuple[tuple[int, ...], ...], capacity: int) -> None:
    explored = _check(Bounds(batches, readers=2, capacity=capacity))
    assert explored.states > 1000
    assert explored.ends >= 1


def test_three_writers() -> None:
    assert _check(Bounds(((1,), (2,), (1,)), readers=2, capacity=2)).states > 1000


@pytest.mark.parametrize("capacity", [2, 4])
def test_writers_that_die_at_any_step(capacity: int) -> None:
    explored = _check(Bounds(((2, 1), (1, 2)), readers=2, capacity=capacity, deaths=True))
    assert explored.ends > 10, "deaths lead to many different ends"


@pytest.mark.parametrize(
    ("mutation", "wrong"),
    [
        ("no gate", "lapped|not a batch|saw only"),
        ("publish first", "not a batch"),
        ("torn claim", "not a batch|saw only|twice"),
        ("release early", "not a batch|lapped"),
    ],
)
def test_the_model_catches(mutation: str, wrong: str) -> None:
    with pytest.raises(Found, match=wrong):
        _check(Bounds(((2, 1), (1, 2)), readers=2, capacity=2, mutation=mutation))
