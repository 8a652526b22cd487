"""Parking: semaphores without names, one waker for each sleeper, posts that are not lost."""

from __future__ import annotations

import os
from unittest.mock import Mock

import posix_ipc
import pytest

from tests.errors import raises
from tests.shm.helpers import private
from tokenring.shm.errors import SegmentError
from tokenring.shm.memory.atomics import peek
from tokenring.shm.queues.parking import (
    ParkingLot,
    any_parked,
    begin_parking,
    end_parking,
    next_parked,
    parked_address,
    wake_all,
)


def test_semaphores_leave_no_name() -> None:
    before = set(os.listdir("/dev/shm"))
    lot = ParkingLot(3)
    assert set(os.listdir("/dev/shm")) == before
    lot.close()
    lot.close()


@pytest.mark.parametrize(
    ("error", "cure"), [(OSError("too many are open"), "ulimit -n"), (OSError(28, "no room"), "df -i /dev/shm")]
)
def test_semaphores_that_the_system_refuses(monkeypatch: pytest.MonkeyPatch, error: OSError, cure: str) -> None:
    monkeypatch.setattr(posix_ipc, "Semaphore", Mock(side_effect=error))
    with raises(SegmentError, "semaphores for 2 workers", str(error), cure):
        ParkingLot(2)


def test_a_post_is_kept_for_the_next_wait() -> None:
    lot = ParkingLot(2)
    lot.post(1)
    assert not lot.wait(0, 0)
    assert lot.wait(1, 100)
    assert not lot.wait(1, 0)
    assert not lot.wait(1, -5), "a limit in the past is no limit of a century"
    lot.close()


def test_a_sleeper_is_undertaken_by_one_waker_only() -> None:
    with private(workers=3) as segment:
        flags = parked_address(segment)
        assert not any_parked(flags, 3)
        begin_parking(parked_address(segment), 0)
        begin_parking(parked_address(segment), 2)
        assert any_parked(flags, 3)
        assert next_parked(flags, 3, 0) == 0
        assert next_parked(flags, 3, 0) == 2
        assert next_parked(flags, 3, 0) == -1
        assert not any_parked(flags, 3)


def test_the_search_starts_where_it_is_told() -> None:
    with private(workers=3) as segment:
        for worker in range(3):
            begin_parking(parked_address(segment), worker)
        assert next_parked(parked_address(segment), 3, 2) == 2
        assert next_parked(parked_address(segment), 3, 2) == -1
        assert peek(parked_address(segment)) == 0b011


def test_who_ended_parking_is_not_woken() -> None:
    with private() as segment:
        begin_parking(parked_address(segment), 1)
        end_parking(segment, 1)
        assert next_parked(parked_address(segment), 2, 0) == -1


def test_wake_all_posts_to_sleepers_only() -> None:
    with private(workers=3) as segment:
        lot = ParkingLot(3)
        begin_parking(parked_address(segment), 0)
        begin_parking(parked_address(segment), 1)
        wake_all(segment, lot)
        assert [lot.wait(worker, 0) for worker in range(3)] == [True, True, False]
        lot.close()
