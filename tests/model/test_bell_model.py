"""The bell under every interleaving and every order in which stores may become visible: nothing that was committed lies
unheard; and that the model finds each order and value that would not do."""

from __future__ import annotations

from functools import partial

import pytest

from tests.errors import raises
from tests.model import bell
from tests.model.bell import Rules
from tests.model.checker import Explored, Found, explore


def _check(rules: Rules) -> Explored:
    explored = explore(
        bell.start(rules),
        partial(bell.successors, rules),
        partial(bell.forbidden, rules),
        partial(bell.unheard, rules),
        partial(bell.resting, rules),
    )
    print(f"{rules}: {explored}")  # pytest -rP shows it
    return explored


@pytest.mark.parametrize("share", [1, 2])
@pytest.mark.parametrize("messages", [(3,), (1, 1), (2, 1), (2, 2), (1, 1, 1)])
def test_nothing_lies_unheard(messages: tuple[int, ...], share: int) -> None:
    explored = _check(Rules(messages, share))
    assert explored.states > 30
    assert explored.ends >= 1


@pytest.mark.parametrize(
    "mutation",
    [
        "rings first",
        "rings plainly",
        "hears plainly",
        "hears late",
        "forgets leftovers",
        "no position",
        "no sender",
        "clears",
    ],
)
def test_the_model_catches(mutation: str) -> None:
    with raises(Found, "receiver", "only"):
        _check(Rules((2, 2), share=1, mutation=mutation))
