"""The pure validator, on integers and on pairs in a loop: what a worker may report, and what not."""

from __future__ import annotations

from typing import Any

import pytest

from tests.errors import raises
from tokenring.engine import BrokenInvariant
from tokenring.engine.progress.validation import NamedLocation, Validator, differences, naive_frontier

# A loop of four locations, with times (epoch, round): 0 source -> 1 target -> 2 source (next round) -> 1 target; 3 is a
# source that nothing leads to.
FIRST, BODY, BACK, ASIDE = range(4)


class Rounds:
    """A summary that adds to the round."""

    def __init__(self, rounds: int) -> None:
        self.rounds = rounds

    def results_in(self, time: tuple[int, int]) -> tuple[int, int] | None:
        """No more than ten rounds."""
        return (time[0], time[1] + self.rounds) if time[1] + self.rounds <= 10 else None


def product_order(left: tuple[int, int], right: tuple[int, int]) -> bool:
    return left[0] <= right[0] and left[1] <= right[1]


PATHS: dict[int, dict[int, list[Any]]] = {
    FIRST: {FIRST: [Rounds(0)]},
    BODY: {FIRST: [Rounds(0)], BODY: [Rounds(0)], BACK: [Rounds(0)]},
    BACK: {FIRST: [Rounds(1)], BODY: [Rounds(1)], BACK: [Rounds(0)]},
    ASIDE: {ASIDE: [Rounds(0)]},
}


@pytest.fixture
def validator() -> Validator:
    """Of a worker that owns a token at the loop's entry, at (0, 0)."""
    validator = Validator(7, product_order)
    sources = {FIRST: "first", BACK: "back", ASIDE: "aside"}
    places = {at: NamedLocation(name, True) for at, name in sources.items()}
    validator.watch({**places, BODY: NamedLocation("body", False)}, PATHS.__getitem__)
    validator.grant(FIRST, (0, 0))
    return validator


def test_a_record_goes_round_the_loop(validator: Validator) -> None:
    validator.check_batch({(FIRST, (0, 0)): -1, (BODY, (0, 0)): 1}, {})
    for turn in range(3):
        validator.received(BODY, (0, turn))
        validator.check_batch({(BODY, (0, turn)): -1, (BACK, (0, turn + 1)): 1}, {})
        assert validator.owned(BACK) == 1
        validator.check_batch({(BACK, (0, turn + 1)): -1, (BODY, (0, turn + 1)): 1}, {})


def test_times_that_are_not_comparable_support_nothing(validator: Validator) -> None:
    validator.check_batch({(FIRST, (0, 0)): -1, (FIRST, (1, 0)): 1, (FIRST, (0, 1)): 1}, {})
    validator.check_batch({(BODY, (1, 0)): 1, (BODY, (0, 5)): 2, (BODY, (1, 1)): 1}, {})
    with raises(
        BrokenInvariant, "worker 7", "add 1 at body, time (0, 0)", "A7", "first, time (1, 0)", "first, time (0, 1)"
    ):
        validator.check_batch({(BODY, (0, 0)): 1}, {})


def test_no_path_is_no_support(validator: Validator) -> None:
    with raises(BrokenInvariant, "worker 7", "add 1 at aside, time (5, 5)"):
        validator.check_batch({(ASIDE, (5, 5)): 1}, {})


def test_a_path_without_result_is_no_support(validator: Validator) -> None:
    validator.check_batch({(FIRST, (0, 0)): -1, (FIRST, (0, 10)): 1}, {})
    with raises(BrokenInvariant, "worker 7", "add 1 at back"):
        validator.check_batch({(BACK, (3, 10)): 1}, {})


def test_a_message_does_not_support_its_like(validator: Validator) -> None:
    """Only what is strictly less does; so rows that wait may not be counted at their target."""
    validator.check_batch({(FIRST, (0, 0)): -1, (BODY, (0, 0)): 1}, {})
    with raises(BrokenInvariant, "worker 7", "add 2 at body, time (0, 0)"):
        validator.check_batch({(BODY, (0, 0)): 2}, {})


def test_a_message_that_waits_supports_what_is_beyond_it_and_not_its_like(validator: Validator) -> None:
    validator.check_batch({(FIRST, (0, 0)): -1}, {})
    validator.received(BODY, (0, 0))
    waiting = {(BODY, (0, 0)): 1}
    validator.check_batch({(BACK, (0, 1)): 1}, waiting)
    with raises(BrokenInvariant, "worker 7", "add 1 at body, time (0, 0)"):
        validator.check_batch({(BODY, (0, 0)): 1}, waiting)


def test_what_is_taken_and_sent_again_needs_support_too(validator: Validator) -> None:
    """A message consumed and an equal one sent leave no trace in the batch, but the sending is seen all the same."""
    validator.check_batch({(FIRST, (0, 0)): -1, (FIRST, (2, 0)): 1, (BODY, (0, 0)): 1}, {})
    validator.received(BODY, (0, 0))
    with raises(BrokenInvariant, "worker 7", "add 0 at body, time (0, 0)"):
        validator.check_batch({}, {})


def test_messages_that_wait_are_not_taken(validator: Validator) -> None:
    validator.received(BODY, (4, 4))
    validator.check_batch({}, {(BODY, (4, 4)): 1})
    with raises(BrokenInvariant, "worker 7", "consume 2 at body, time (4, 4)", "took 1", "A6"):
        validator.check_batch({(BODY, (4, 4)): -2}, {})


def test_only_tokens_that_are_owned_are_dropped(validator: Validator) -> None:
    with raises(BrokenInvariant, "worker 7", "drop 2 at first, time (0, 0)", "owns 1", "A6"):
        validator.check_batch({(FIRST, (0, 0)): -2}, {})


def test_what_is_given_up_goes_last(validator: Validator) -> None:
    validator.check_published({(FIRST, (0, 1)): 1}, {(FIRST, (0, 2)): 1, (FIRST, (0, 0)): -1})
    validator.check_published({(FIRST, (0, 1)): 1, (FIRST, (0, 0)): -1}, {(FIRST, (0, 0)): -1})
    with raises(BrokenInvariant, "worker 7", "end of 1 at first, time (0, 0)", "before first, time (0, 2)"):
        validator.check_published({(FIRST, (0, 0)): -1}, {(FIRST, (0, 2)): 1})


def test_tokens_at_hand_are_those_reported(validator: Validator) -> None:
    validator.check_held(FIRST, 1)
    with raises(BrokenInvariant, "worker 7", "holds 0", "of first", "reported 1", "1 at (0, 0)"):
        validator.check_held(FIRST, 0)


def test_the_naive_frontier_keeps_minimal_times() -> None:
    counts = {FIRST: [((3, 0), 1), ((0, 5), 2), ((0, 0), -1)], BACK: [((1, 1), 1), ((4, 9), 1)]}
    found = naive_frontier(BODY, PATHS.__getitem__, counts, product_order)
    assert found == [(0, 5), (1, 1), (3, 0)]


def test_differences() -> None:
    assert differences({(0, 1): 2, (0, 2): 1}, {(0, 1): 2, (0, 3): 4}) == {(0, 2): 1, (0, 3): -4}
