"""Parking under every interleaving and every delay of buffered stores: no lost wake-up; and that the model finds the
known bugs."""

from __future__ import annotations

from functools import partial

import pytest

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


@pytest.mark.parametrize("wakers", [1, 2, 3])
def test_no_wake_up_is_lost(wakers: int) -> None:
    explored = _check(Rules(wakers))
    assert explored.states > 30
    assert explored.ends >= 1


@pytest.mark.parametrize(
    "mutation", ["no fence in waker", "no fence in parker", "no second look", "wakes without posting"]
)
def test_the_model_catches(mutation: str) -> None:
    with pytest.raises(Found, match="sleeps for ever"):
        _check(Rules(2, mutation))
