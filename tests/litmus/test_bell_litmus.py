"""The bell between real processes.

Forbidden: the bell says that a message was committed which the queue does not show yet; a receiver that knows a message
committed looks and finds nothing, since its bell says what it has heard before.
"""

from __future__ import annotations

import numpy as np
import pytest

from tests.litmus.processes import needs_two_cores, run_in_processes
from tests.shm.helpers import QueueEnd, private
from tokenring.shm.kernels.kernel import kernel
from tokenring.shm.memory.atomics import load_acquire, peek, poke, store_release
from tokenring.shm.memory.layout import MAX_WORKERS, WORKER_BARRIERS
from tokenring.shm.queues.data_queue import (
    BELL_ADDRESS,
    WRITE_ADDRESS,
    WRITE_POSITION,
    commit_all,
    receive,
    release_all,
    send_for,
)
from tokenring.shm.queues.parking import yield_processor

COMMITS = 3_000_000
TRIES = 30
"""Until the two processes have run at once; the first one is mostly enough."""


@kernel
def pause(address, count):  # type: ignore[no-untyped-def]
    """Do nothing for a moment."""
    for _ in range(count):
        load_acquire(address)


@kernel
def commit_often(outgoing, commits):  # type: ignore[no-untyped-def]
    """Commit a position after another, without messages."""
    for number in range(commits):
        outgoing[1, WRITE_POSITION] += 8
        commit_all(outgoing)
        pause(outgoing[1, WRITE_ADDRESS], number & 31)


@kernel
def ring_first(outgoing, commits):  # type: ignore[no-untyped-def]
    """The same in the wrong order."""
    for number in range(commits):
        outgoing[1, WRITE_POSITION] += 8
        store_release(outgoing[1, BELL_ADDRESS], outgoing[1, WRITE_POSITION] * MAX_WORKERS)
        pause(outgoing[1, WRITE_ADDRESS], number & 31)
        store_release(outgoing[1, WRITE_ADDRESS], outgoing[1, WRITE_POSITION])


@kernel
def ahead_of_its_queue(incoming, last):  # type: ignore[no-untyped-def]
    """How often the bell said a position that the queue had not reached when it was looked at after."""
    ahead = position = 0
    while position < last:
        said = load_acquire(incoming[0, BELL_ADDRESS]) // MAX_WORKERS
        position = load_acquire(incoming[0, WRITE_ADDRESS])
        if position < said:
            ahead += 1
    return ahead


def _ahead(sender: object) -> int:
    def send() -> int:
        outgoing = QueueEnd(segment, 0).outgoing
        while not peek(segment.address(segment.layout.worker(1) + WORKER_BARRIERS)):
            yield_processor()
        sender(outgoing, COMMITS)  # type: ignore[operator]
        return 0

    def look() -> int:
        incoming = QueueEnd(segment, 1).incoming
        poke(segment.address(segment.layout.worker(1) + WORKER_BARRIERS), 1)
        return int(ahead_of_its_queue(incoming, 8 * COMMITS))

    with private(2) as segment:  # compiles
        sender(QueueEnd(segment, 0).outgoing, 1)  # type: ignore[operator]
        ahead_of_its_queue(QueueEnd(segment, 1).incoming, 8)
    with private(2) as segment:
        return int(run_in_processes(send, look)[1])


def test_what_the_bell_says_is_there() -> None:
    assert _ahead(commit_often) == 0, "FORBIDDEN message passing: the bell was seen before what it was rung for"


@needs_two_cores
def test_the_litmus_can_see_the_wrong_order() -> None:
    """In the other order the forbidden outcome must show, or the test above means little."""
    assert any(_ahead(ring_first) for _ in range(TRIES)), "a bell that rings too early was never seen"


@pytest.mark.parametrize("senders", [1, 2])
def test_nothing_that_was_committed_lies_unheard(senders: int) -> None:
    """Each sender commits a message, says so beside the queues, and sends no more before it is taken, so that no later
    ring covers for a lost one. The receiver looks all the time; once it has read that all said so, one more look must
    bring what is missing."""
    rounds = 4000 // senders

    def send(me: int) -> int:
        end, column = QueueEnd(segment, me), (np.zeros(1, np.int64),)
        said = segment.address(segment.layout.worker(me) + WORKER_BARRIERS)
        taken = segment.address(segment.layout.worker(senders) + WORKER_BARRIERS)
        for number in range(1, rounds + 1):
            assert send_for(1)(column, 0, 1, end.outgoing, senders, 0, number)
            commit_all(end.outgoing)
            poke(said, number)
            while peek(taken) < number:
                yield_processor()
        return 0

    def read() -> int:
        end = QueueEnd(segment, senders)
        said = [segment.address(segment.layout.worker(sender) + WORKER_BARRIERS) for sender in range(senders)]
        taken = segment.address(segment.layout.worker(senders) + WORKER_BARRIERS)
        for number in range(1, rounds + 1):
            found, all_said = 0, False
            while not all_said:
                all_said = all([peek(address) >= number for address in said])
                found += int(receive(end.incoming, end.inbox))
                if not found:
                    yield_processor()
            assert found == senders, f"FORBIDDEN: committed, but unheard: {found} of {senders} in round {number}"
            release_all(end.incoming)
            poke(taken, number)
        return rounds

    send_for(1)
    with private(senders + 1, queue_words=256) as segment:
        answers = run_in_processes(*[lambda me=me: send(me) for me in range(senders)], read)
    assert answers[-1] == rounds
