"""Parking under every interleaving and every delay of buffered stores: no lost wake-up; and that the model finds the
known bugs."""

from __future__ import annotations

from functools import partial

import pytest

from tests.errors import raises
from tests.model import parking
from tests.model.checker import Explored, Found, explore
from tests.model.parking import Rules


def _check(rules: Rules) -> Explored:
    return explore(
        parking.start(rules),
        partial(parking.successors, rules),
        partial(parking.forbidden, rules),
        partial(parking.lost_wake_up, rules),
    )


@pytest.mark.parametrize(("wakers", "parkers"), [(1, 1), (2, 1), (3, 1), (1, 2), (2, 2), (1, 3)])
def test_no_wake_up_is_lost(wakers: int, parkers: int) -> None:
    explored = _check(Rules(wakers, parkers=parkers))
    assert explored.states > 20
    assert explored.ends >= 1


@pytest.mark.parametrize(
    "mutation", ["no fence in waker", "no fence in parker", "no second look", "wakes without posting"]
)
def test_the_model_catches(mutation: str) -> None:
    with raises(Found, "parker 0", "sleeps", "2"):
        _check(Rules(2, mutation))


def test_two_sleepers_show_why_flags_are_set_by_an_atomic_operation() -> None:
    """One alone never loses its flag to another's store of the word."""
    _check(Rules(1, "torn word", parkers=1))
    with raises(Found, "sleeps", "1"):
        _check(Rules(1, "torn word", parkers=2))
