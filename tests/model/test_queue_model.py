"""The data queue's protocol under every interleaving and every death, with skips at every offset; and that the model
can fail."""

from __future__ import annotations

from functools import partial

import pytest

from tests.errors import Fact, raises
from tests.model import queue
from tests.model.checker import Explored, Found, explore
from tests.model.queue import Rules


def _check(rules: Rules) -> Explored:
    explored = explore(
        queue.start(rules),
        partial(queue.successors, rules),
        partial(queue.forbidden, rules),
        partial(queue.undelivered, rules),
        partial(queue.resting, rules),
    )
    print(f"{rules}: {explored}")  # pytest -rP shows it
    return explored


@pytest.mark.parametrize("share", [1, 2])
@pytest.mark.parametrize("messages", [(2, 2, 2, 2), (3, 2, 3, 2, 3), (3, 3, 3), (1, 3, 2, 1, 3)])
@pytest.mark.parametrize("capacity", [6, 8])
def test_every_interleaving(capacity: int, messages: tuple[int, ...], share: int) -> None:
    explored = _check(Rules(capacity, messages, share))
    assert explored.states > 30
    assert explored.ends >= 1


@pytest.mark.parametrize("share", [1, 2])
@pytest.mark.parametrize("messages", [(3, 2, 3, 2, 3), (1, 3, 2, 1, 3)])
def test_ends_that_die_at_any_step(messages: tuple[int, ...], share: int) -> None:
    explored = _check(Rules(6, messages, share, deaths=True))
    assert explored.ends > 100, "deaths lead to many different ends"


def test_a_message_of_more_than_half_the_queue_may_never_fit() -> None:
    """Why the engine's messages are at most a quarter of a queue: the skip counts, even when the queue is empty."""
    with raises(Found, "nothing can move", "1"):
        _check(Rules(8, (2, 7)))


@pytest.mark.parametrize("deaths", [False, True])
@pytest.mark.parametrize(
    ("mutation", "wrong"),
    [
        ("no room check", {"view", "words in a queue", "came as"}),
        ("skip not counted", {"view", "words in a queue"}),
        ("commit early", "view"),
        ("release at once", "view"),
        ("reads past the write position", {"view", "came as"}),
    ],
)
def test_the_model_catches(mutation: str, wrong: Fact, deaths: bool) -> None:
    with raises(Found, wrong):
        _check(Rules(6, (2, 2, 3, 2, 3), share=1, deaths=deaths, mutation=mutation))
