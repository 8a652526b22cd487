"""The data queues between real processes.

Forbidden: a message's header before its bytes; bytes overwritten while the receiver may look at them; a message lost,
doubled or
out of order; part of an exchange delivered though a destination was full.
"""

from __future__ import annotations

from random import Random

import numpy as np
import pytest

from tests.litmus.processes import run_in_processes
from tests.shm.helpers import QueueEnd, private
from tokenring.shm.queues.data_queue import (
    INBOX_COLUMNS,
    INBOX_OFFSET,
    INBOX_QUEUE,
    INBOX_ROWS,
    INBOX_STAMP,
    INBOX_STRIDE,
    INBOX_WORDS,
    commit_all,
    partition_for,
    queue_words,
    receive,
    release_all,
    route,
    send_for,
)
from tokenring.shm.queues.parking import yield_processor

MESSAGES = 12_000


def _shape(sender: int, stamp: int) -> tuple[int, int]:
    """Rows and columns of a message, both from its stamp: small queues skip at many offsets."""
    return 1 + (5 * stamp + sender) % 14, 1 + (stamp + sender) % 3


def _word(sender: int, stamp: int) -> int:
    return (sender + 1) * 10**9 + stamp


def _look(end: QueueEnd, following: list[int]) -> int:
    """Receive, check each message in full, and look again at all of them before their bytes are given back."""
    release_all(end.incoming)
    found = int(receive(end.incoming, end.inbox))
    for _ in range(2):
        seen = list(following)
        for entry in end.inbox[: found * INBOX_WORDS].reshape(-1, INBOX_WORDS).tolist():
            sender, stamp = entry[INBOX_QUEUE], entry[INBOX_STAMP]
            assert stamp == seen[sender], (
                f"FORBIDDEN lost, doubled or reordered: {stamp} of {sender}, not {seen[sender]}"
            )
            assert (entry[INBOX_ROWS], entry[INBOX_COLUMNS]) == _shape(sender, stamp)
            words = queue_words(end.segment, sender, end.me, end.loopback)
            for column in range(entry[INBOX_COLUMNS]):
                at = entry[INBOX_OFFSET] + column * entry[INBOX_STRIDE]
                values = words[at : at + entry[INBOX_ROWS]]
                assert (values == _word(sender, stamp)).all(), (
                    f"FORBIDDEN bytes before or after their time: {values.tolist()}"
                )
            seen[sender] += 1
    following[:] = seen
    return found


@pytest.mark.parametrize("workers", [2, 3])
def test_messages_arrive_whole_and_in_order(workers: int) -> None:
    """Everybody sends to everybody through queues that are full nearly all the time."""
    messages = MESSAGES // workers

    def work(me: int) -> int:
        end = QueueEnd(segment, me, messages=4)
        peers = [peer for peer in range(workers) if peer != me]
        sent = dict.fromkeys(peers, 0)
        following = [0] * workers
        full = 0
        while any(count < messages for count in sent.values()) or any(following[peer] < messages for peer in peers):
            for peer in peers * 8:  # more than a queue holds, so that it is full now and then
                if sent[peer] < messages:
                    rows, columns = _shape(me, sent[peer])
                    data = (np.full(rows, _word(me, sent[peer]), np.int64),) * columns
                    if send_for(columns)(data, 0, rows, end.outgoing, peer, 0, sent[peer]):
                        commit_all(end.outgoing)
                        sent[peer] += 1
                    else:
                        full += 1
            if not _look(end, following):
                yield_processor()
        release_all(end.incoming)
        return full

    for columns in range(1, 4):
        send_for(columns)
    with private(workers, queue_words=256) as segment:
        answers = run_in_processes(*[lambda me=me: work(me) for me in range(workers)])
    assert sum(answers) > 0, "no queue was ever full: the test did not reach its point"


def test_an_exchange_is_all_or_nothing_between_processes() -> None:
    """Worker 0 sends one row to each of two peers at a time, one of which is slow. Forbidden: a peer gets a row of an
    exchange that was refused (it would come again when the exchange is retried)."""
    keys = [next(key for key in range(1000) if route(key, 3) == worker) for worker in (1, 2)]

    def send() -> int:
        end = QueueEnd(segment, 0)
        refused = 0
        for stamp in range(2000):
            columns = (np.array(keys, np.int64), np.full(2, stamp, np.int64))
            while partition_for(2)(columns, 0, 0, 2, end.outgoing, end.routes, end.counts, 0, stamp) < 0:
                refused += 1
                yield_processor()
            commit_all(end.outgoing)
        return refused

    def read(me: int) -> int:
        end = QueueEnd(segment, me)
        rng = Random(me)
        got: list[int] = []
        while len(got) < 2000:
            release_all(end.incoming)
            found = int(receive(end.incoming, end.inbox))
            got += end.inbox[: found * INBOX_WORDS].reshape(-1, INBOX_WORDS)[:, INBOX_STAMP].tolist()
            if not found or (me == 2 and rng.random() < 0.3):
                yield_processor()
        assert got == list(range(2000)), "FORBIDDEN part of a refused exchange"
        return len(got)

    partition_for(2)
    with private(3, queue_words=256) as segment:
        refused, *read_by = run_in_processes(send, lambda: read(1), lambda: read(2))
    assert read_by == [2000, 2000]
    assert refused > 0
