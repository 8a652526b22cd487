"""How soon the launcher looks again at what a group takes: a segment and this process as its worker, no group."""

import os
from collections.abc import Iterator

import pytest

from tokenring.engine.budget import LOOK_S, BudgetWatch
from tokenring.shm.memory import Layout, Segment, peek
from tokenring.shm.queues import ParkingLot

_PAUSES_AT = 0.8  # of a budget of which nothing is fixed


@pytest.fixture
def segment() -> Iterator[Segment]:
    made = Segment.create(Layout(1, 64, 4096))
    yield made
    made.unlink()
    made.close()


def _look(segment: Segment, budget_bytes: int) -> tuple[float, int]:
    """In how many seconds to look again, and how much is taken."""
    watch = BudgetWatch(segment, ParkingLot(1), budget_bytes, fixed_bytes=0)
    return watch.look({0: os.getpid()}), peek(segment.address(segment.layout.used))


def test_a_group_far_from_its_budget_is_looked_at_some_times_a_second(segment: Segment) -> None:
    assert _look(segment, 2**42)[0] == LOOK_S


def test_a_group_that_may_soon_come_to_its_budget_is_looked_at_sooner_but_not_all_the_time(segment: Segment) -> None:
    used = _look(segment, 2**42)[1]
    for more in (2**26, 2**16):  # so much memory is had in 31 ms, and in 31 us
        seconds, _ = _look(segment, int((used + more) / _PAUSES_AT))
        assert LOOK_S / 50 < seconds < LOOK_S
