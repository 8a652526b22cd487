"""The progress ring: whole batches, one order, full as a value, wrapping for ever, never lapping a reader."""

from __future__ import annotations

from random import Random

import pytest

from tests.shm.helpers import private, put, rings, take
from tokenring.shm.queues.progress_ring import (
    advance,
    available,
    check,
    claim,
    leave,
    load_position,
    release,
    slowest_read_position,
)


def test_everybody_reads_every_batch_in_one_order() -> None:
    with private(workers=3) as segment:
        first, second, third = rings(segment)
        put(first, (1, 1, 10), (2, -1, 11))
        put(second, (3, 5, 2**62 - 1))
        put(first, (4, -(2**62), 0))
        expected = [[(1, 1, 10), (2, -1, 11)], [(3, 5, 2**62 - 1)], [(4, -(2**62), 0)]]
        assert take(third) == take(second) == take(first) == expected
        assert take(first) == []


def test_nothing_is_there_before_the_first_publication() -> None:
    with private() as segment:
        first, _ = rings(segment)
        assert available(first) == 0


def test_a_claim_that_is_not_published_hides_what_comes_after() -> None:
    with private() as segment:
        first, second = rings(segment)
        assert claim(first, 2) == 0
        assert put(second, (1, 1, 1))
        assert available(second) == 0
        assert available(first) == 0


def test_full_is_a_value_and_a_released_slot_is_reused() -> None:
    with private(ring_records=64) as segment:
        first, second = rings(segment)
        for number in range(64):
            assert put(first, (number, 1, 0))
        assert not put(first, (64, 1, 0))
        assert not put(second, (64, 1, 0))
        take(first)
        assert not put(first, (64, 1, 0)), "the slowest reader gates"
        take(second, then_release=False)
        assert not put(first, (64, 1, 0)), "reading is not releasing"
        release(second)
        assert put(first, (64, 1, 0))
        assert take(second) == [[(64, 1, 0)]]


def test_a_failed_publication_leaves_no_trace() -> None:
    with private(ring_records=64) as segment:
        first, second = rings(segment)
        for number in range(60):
            assert put(first, (number, 1, 0))
        write = load_position(int(first[0]))
        assert not put(second, *[(100 + i, 1, 0) for i in range(5)])
        assert load_position(int(first[0])) == write
        assert put(second, *[(100 + i, 1, 0) for i in range(4)])
        assert [batch[0][0] for batch in take(first)] == [*range(60), 100]


def test_a_batch_as_large_as_the_ring() -> None:
    with private(ring_records=64) as segment:
        first, second = rings(segment)
        batch = [(i, i, i) for i in range(64)]
        assert put(first, *batch)
        assert take(second) == take(first) == [batch]
        assert put(second, (1, 1, 1))


@pytest.mark.parametrize("seed", range(5))
def test_wrapping_many_times_loses_nothing(seed: int) -> None:
    rng = Random(seed)
    with private(workers=3, ring_records=64) as segment:
        states = rings(segment)
        published: list[list[tuple[int, int, int]]] = []
        seen: list[list[list[tuple[int, ...]]]] = [[], [], []]
        refused = 0
        while len(published) < 600:
            worker = rng.randrange(3)
            if rng.random() < 0.75:
                batch = [(len(published), i, rng.randrange(-5, 2**62)) for i in range(rng.randint(1, 16))]
                if put(states[worker], *batch):
                    published.append(batch)
                else:
                    refused += 1
                    seen[worker] += take(states[worker])
            else:
                seen[worker] += take(states[worker])
            for state in states:
                check(state)
        for worker, state in enumerate(states):
            assert seen[worker] + take(state) == published
        assert refused > 0
        assert load_position(int(states[0][0])) > 20 * 64


def test_the_slowest_reader_is_the_least() -> None:
    with private(workers=3) as segment:
        states = rings(segment)
        put(states[0], (1, 1, 1), (2, 1, 1))
        put(states[0], (1, 1, 1))
        advance(states[1], 2)
        release(states[1])
        assert slowest_read_position(states[0]) == 0
        take(states[0])
        assert slowest_read_position(states[2]) == 0
        take(states[2])
        assert slowest_read_position(states[2]) == 2


def test_who_leaves_is_alone_on_a_ring_of_its_own_that_is_full_as_any() -> None:
    """However far the ring was that it left; and those who stay wait for it no more."""
    with private(ring_records=64) as segment:
        first, second = rings(segment)
        for number in range(200):
            assert put(second, (number, 1, 0)), "what it knows of the slowest reader is from long ago"
            take(first)
            take(second)
        words = leave(second)
        for number in range(64):
            assert put(second, (number, 1, 0))
            check(second)
        assert not put(second, (64, 1, 0)), "nobody is lapped there either"
        assert take(second) == [[(number, 1, 0)] for number in range(64)]
        assert put(second, (64, 1, 0))
        assert take(second) == [[(64, 1, 0)]]
        assert load_position(words.ctypes.data) == 65
        for number in range(300):
            assert put(first, (number, 1, 0))
            assert take(first) == [[(number, 1, 0)]]


def test_check_notices_a_reader_ahead_of_the_writers() -> None:
    with private() as segment:
        first, _ = rings(segment)
        advance(first, 1)
        with pytest.raises(AssertionError):
            check(first)
