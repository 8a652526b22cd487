"""Private segments and small batches for tests of the shm package."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from tokenring.shm.memory.layout import Layout
from tokenring.shm.memory.segment import Segment
from tokenring.shm.queues.data_queue import INBOX_WORDS, Loopback, attach_queues
from tokenring.shm.queues.progress_ring import advance, attach_ring, available, publish, record_word, release

WORDS_OF_RECORD = (2, 3, 4)  # location, delta, time


@contextmanager
def private(workers: int = 2, ring_records: int = 64, queue_words: int = 512) -> Iterator[Segment]:
    """A segment of this process alone."""
    segment = Segment.private(Layout(workers, ring_records, queue_words))
    try:
        yield segment
    finally:
        segment.close()


def rings(segment: Segment) -> list[np.ndarray]:
    """Every worker's state on the ring."""
    return [attach_ring(segment, worker) for worker in range(segment.layout.workers)]


def put(ring: np.ndarray, *changes: tuple[int, int, int]) -> bool:
    """Publish one batch of (location, delta, time)."""
    flat = np.array([word for change in changes for word in (*change, 0, 0, 0)], np.int64)
    return bool(publish(ring, flat, 0, len(changes)))


def take(ring: np.ndarray, then_release: bool = True) -> list[list[tuple[int, ...]]]:
    """Every batch published and not yet read."""
    batches = []
    while count := available(ring):
        batches.append([tuple(int(record_word(ring, i, word)) for word in WORDS_OF_RECORD) for i in range(count)])
        advance(ring, count)
    if then_release:
        release(ring)
    return batches


class QueueEnd:
    """One worker's end of the data queues, with everything the kernels want."""

    def __init__(self, segment: Segment, me: int, messages: int = 16) -> None:
        workers = segment.layout.workers
        self.segment, self.me = segment, me
        self.loopback = Loopback(segment.layout.queue_words)
        self.outgoing, self.incoming = attach_queues(segment, me, self.loopback)
        self.inbox = np.zeros(workers * messages * INBOX_WORDS, np.int64)
        self.routes = np.zeros(4096, np.int64)
        self.counts = np.zeros((3, workers), np.int64)
