"""Parking between real processes.

Forbidden: both the parker misses the work and the waker misses the parker (store buffering); a worker that sleeps to
its time
limit with work before it (a lost wake-up).
"""

from __future__ import annotations

import mmap
import time
from random import Random

import numpy as np
import pytest

from tests.litmus.processes import needs_two_cores, run_in_processes
from tests.shm.helpers import private, put, rings, take
from tokenring.shm.kernels import address_of, kernel
from tokenring.shm.memory.atomics import load_acquire, store_release
from tokenring.shm.queues.parking import (
    ParkingLot,
    any_parked,
    begin_parking,
    end_parking,
    next_parked,
    parked_address,
    yield_processor,
)
from tokenring.shm.queues.progress_ring import available

ROUNDS = 20_000
TRIES = 30
"""Until the two processes have run at once; the first one is mostly enough."""
LINE_BYTES = 128
PARKER, WAKER, WAKER_WITHOUT_FENCE = 0, 1, 2


@kernel
def meet(mine: int, theirs: int, count: int) -> None:
    """Wait until the other side is in the same round."""
    store_release(mine, count)
    while load_acquire(theirs) < count:
        pass


@kernel
def one_side(role, parked, work, mine, theirs, seen):  # type: ignore[no-untyped-def]
    """Play one side of the protocol in every round, each on words of its own; `seen[round]` is what the look saw."""
    delay = 1
    for number in range(seen.shape[0]):
        meet(mine, theirs, number + 1)
        delay = (delay * 1103515245 + 12345) & 0x7FFFFFFF
        for _ in range(delay & 31):  # so that the sides do not run in lockstep
            load_acquire(mine)
        here = number * LINE_BYTES
        if role == PARKER:
            begin_parking(parked + here, 0)
            seen[number] = load_acquire(work + here)
        else:
            store_release(work + here, 1)
            if role == WAKER:
                seen[number] = any_parked(parked + here, 1)
            else:
                seen[number] = load_acquire(parked + here) == 1


def _both_missed(waker: int) -> int:
    memory = mmap.mmap(-1, 2 * ROUNDS * LINE_BYTES + 2 * LINE_BYTES)
    words = np.frombuffer(memory, np.int64)
    parked = address_of(words)
    work = parked + ROUNDS * LINE_BYTES
    first, second = work + ROUNDS * LINE_BYTES, work + ROUNDS * LINE_BYTES + LINE_BYTES
    one_side(WAKER, parked, work, first, first, np.zeros(1, np.int64))  # compiles
    words[:] = 0

    def play(role: int, mine: int, theirs: int) -> str:
        seen = np.zeros(ROUNDS, np.int64)
        one_side(role, parked, work, mine, theirs, seen)
        return "".join(map(str, seen.tolist()))

    looks = run_in_processes(lambda: play(PARKER, first, second), lambda: play(waker, second, first))
    del words
    return sum(parker == waker == "0" for parker, waker in zip(*looks, strict=True))


def test_never_do_both_sides_miss_each_other() -> None:
    assert _both_missed(WAKER) == 0, "FORBIDDEN store buffering: the parker saw no work and the waker saw nobody parked"


@needs_two_cores
def test_the_litmus_can_see_store_buffering() -> None:
    """Without the waker's fence the forbidden outcome must show, or the test above means little on this processor."""
    assert any(_both_missed(WAKER_WITHOUT_FENCE) for _ in range(TRIES)), "no load was seen to pass a store"


@pytest.mark.parametrize("workers", [2, 3])
def test_no_wake_up_is_lost(workers: int) -> None:
    """A turn goes round through the ring; whoever has nothing parks at once, after a tiny random delay."""
    turns = 4000

    def work(me: int) -> list[int]:
        ring = rings(segment)[me]
        rng = Random(me)
        flags = parked_address(segment)
        turn = slept = overslept = 0
        while turn < turns:
            if turn % workers == me:
                for _ in range(rng.choice([0, 0, 0, 30, 300])):
                    pass
                assert put(ring, (me, 1, turn))
                if any_parked(flags, workers):
                    peer = next_parked(flags, workers, 0)
                    while peer >= 0:
                        lot.post(peer)
                        peer = next_parked(flags, workers, peer + 1)
            got = take(ring)
            turn += len(got)
            if got:
                continue
            if rng.random() < 0.2:
                yield_processor()
            begin_parking(flags, me)
            if not available(ring):
                slept += 1
                before = time.monotonic()
                posted = lot.wait(me, 20.0)
                overslept += not posted and available(ring) > 0 and time.monotonic() - before > 10
            end_parking(segment, me)
        return [slept, overslept]

    with private(workers) as segment:
        lot = ParkingLot(workers)
        try:
            answers = run_in_processes(*[lambda me=me: work(me) for me in range(workers)])
        finally:
            lot.close()
    assert sum(overslept for _, overslept in answers) == 0, (
        "FORBIDDEN lost wake-up: asleep to the time limit with work there"
    )
    assert sum(slept for slept, _ in answers) > turns // 10, "hardly anybody slept: the test did not reach its point"
