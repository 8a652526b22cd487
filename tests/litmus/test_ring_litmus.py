"""The progress ring between real processes.

Forbidden: a reader sees part of a batch; two batches interleave; a reader is lapped; two readers see different
orders; a batch is
lost, comes twice, or out of its writer's order; a killed writer's batch is seen in part.
"""

from __future__ import annotations

import os
import signal
import time
from hashlib import blake2b
from random import Random

import numpy as np
import pytest

from tests.litmus.processes import run_in_processes
from tests.long_form import examples
from tests.shm.helpers import private, put, rings, take
from tokenring.shm.queues.parking import yield_processor
from tokenring.shm.queues.progress_ring import check, publish

BATCHES = examples(15_000)
LARGEST = 16


def _size(writer: int, number: int) -> int:
    return 1 + (7 * number + 3 * writer) % LARGEST


def _verify(batch: list[tuple[int, ...]], following: list[int]) -> None:
    """A batch is one writer's next one, whole: every record says writer, number and place."""
    writer, number = batch[0][0], batch[0][2]
    assert number == following[writer], (
        f"FORBIDDEN lost, doubled or reordered: batch {number} of {writer}, not {following[writer]}"
    )
    assert len(batch) == _size(writer, number), f"FORBIDDEN half a batch: {batch}"
    expected = [(writer, 1000 * number + i, number) for i in range(len(batch))]
    assert batch == expected, f"FORBIDDEN interleaved or overwritten (lapped): {batch}"
    following[writer] += 1


@pytest.mark.parametrize("workers", [2, 3])
@pytest.mark.parametrize("ring_records", [64, 1024])
def test_every_process_sees_whole_batches_in_one_order(workers: int, ring_records: int) -> None:
    """Each process writes and reads, as workers do; a small ring is full nearly all the time."""
    batches = BATCHES // workers

    def work(me: int) -> list[object]:
        ring = rings(segment)[me]
        rng = Random(me)
        order = blake2b()
        following = [0] * workers
        sent = full = 0
        while sent < batches or sum(following) < workers * batches:
            if sent < batches:
                changes = [word for i in range(_size(me, sent)) for word in (me, 1000 * sent + i, sent, 0, 0, 0)]
                if publish(ring, np.array(changes, np.int64), 0, _size(me, sent)):
                    sent += 1
                else:
                    full += 1
            if rng.random() < 0.5 or full:
                got = take(ring, then_release=rng.random() < 0.8)
                for batch in got:
                    _verify(batch, following)
                    order.update(repr(batch).encode())
                check(ring)
                if not got:
                    yield_processor()
        take(ring)
        return [order.hexdigest(), full]

    with private(workers, ring_records) as segment:
        answers = run_in_processes(*[lambda me=me: work(me) for me in range(workers)])
    assert len({order for order, _ in answers}) == 1, "FORBIDDEN two orders"
    if ring_records == 64:
        assert sum(full for _, full in answers) > 0, "the ring was never full: the test did not reach its point"


@pytest.mark.parametrize("seed", range(12))
def test_a_writer_killed_at_any_moment_leaves_whole_batches(seed: int) -> None:
    with private(2, 64) as segment:
        reader = rings(segment)[1]
        pid = os.fork()
        if pid == 0:  # publishes until it is killed, and reads so that only the reader gates it
            ring = rings(segment)[0]
            number = 0
            while True:
                changes = [word for i in range(_size(0, number)) for word in (0, 1000 * number + i, number, 0, 0, 0)]
                number += bool(publish(ring, np.array(changes, np.int64), 0, _size(0, number)))
                take(ring)
        following = [0, 0]
        rng = Random(seed)
        until = 50 + rng.randrange(300)
        deadline = time.monotonic() + 60
        while following[0] < until and time.monotonic() < deadline:
            for batch in take(reader):
                _verify(batch, following)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        for batch in take(reader):
            _verify(batch, following)
        assert following[0] >= until
        check(reader)


def test_one_reader_that_sleeps_gates_everybody() -> None:
    """Forbidden: a writer laps a reader that does nothing for a while."""

    def write() -> int:
        ring = rings(segment)[0]
        refused = 0
        for number in range(300):
            while not put(ring, *[(0, 1000 * number + i, number) for i in range(_size(0, number))]):
                refused += 1
                take(ring)
                yield_processor()
            take(ring)
        return refused

    def read() -> int:
        ring = rings(segment)[1]
        following = [0, 0]
        rng = Random(1)
        while following[0] < 300:
            if rng.random() < 0.1:
                time.sleep(0.002)
            for batch in take(ring):
                _verify(batch, following)
        return following[0]

    with private(2, 64) as segment:
        refused, seen = run_in_processes(write, read)
    assert refused > 0
    assert seen == 300
