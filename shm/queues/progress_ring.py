"""The broadcast progress ring: many writers, every worker reads everything, batches appear whole or not at all.

    record (whole cache lines; 64 bytes for up to 4): sequence | batch size | location | delta | time coordinates

Contract
1. A writer claims a run of slots by advancing the write position (compare-exchange, so that a claim never passes the
   gate), fills them, and publishes by storing the first slot's sequence last (release). Readers look only at first
   slots, so they see all of a batch or none of it, however the writer dies; a claim that is never published stops the
   ring, and the launcher stops the group.
2. A slot is reused only when the slowest reader has passed it: nobody is ever lapped. Who leaves stands beyond all.
3. Full is a value (`publish` returns False): the writer keeps its changes and goes on reading, since it may itself be
   the slowest.
4. Every reader sees the same batches in the same order.

`ring` is the private state of one participant: an int64 array of RING_STATE words, made by `attach_ring`.
"""

import numpy as np

from tokenring.shm.kernels import WORDS, Words, address_of, int64, kernel
from tokenring.shm.memory import (
    LINE_WORDS,
    RECORD_WORDS,
    Segment,
    compare_exchange,
    load_acquire,
    load_word,
    poke,
    store_release,
    store_word,
)
from tokenring.shm.stamp_words import STAMP_WORDS

# Words of a participant's private state. The first five are constants of the mapping.
WRITE_ADDRESS, READERS_ADDRESS, RECORDS_ADDRESS, RING_MASK, RING_WORKERS, RING_ME, RING_READ_POSITION, RING_GATE = (
    range(8)
)
RING_STATE = 8

SEQUENCE, BATCH_SIZE, LOCATION, DELTA, TIME = range(5)
RECORD_BYTES = RECORD_WORDS * 8
LINE_BYTES = LINE_WORDS * 8
BEYOND = 1 << 62  # the read position of who reads no more: no writer comes there
CHANGE_WORDS = 2 + STAMP_WORDS  # a change in private memory: location, delta, time coordinates


def attach_ring(segment: Segment, me: int) -> np.ndarray:
    """Private state of worker `me` on the segment's ring: int64 of shape (RING_STATE,)."""
    layout = segment.layout
    ring = np.zeros(RING_STATE, np.int64)
    ring[WRITE_ADDRESS] = segment.address(layout.ring_write_position)
    ring[READERS_ADDRESS] = segment.address(layout.ring_read_position(0))
    ring[RECORDS_ADDRESS] = segment.address(layout.ring_records_offset)
    ring[RING_MASK] = layout.ring_records - 1
    ring[RING_WORKERS] = layout.workers
    ring[RING_ME] = me
    return ring


@kernel(int64(WORDS))
def slowest_read_position(ring: Words) -> int:
    """The least read position of all workers."""
    slowest = load_acquire(ring[READERS_ADDRESS])  # SYNC ring-release: acquire, pairs with `release`
    for worker in range(1, ring[RING_WORKERS]):
        position = load_acquire(ring[READERS_ADDRESS] + worker * LINE_BYTES)  # SYNC ring-release: acquire
        if position < slowest:
            slowest = position
    return slowest


@kernel
def claim(ring: Words, count: int) -> int:
    """Reserve `count` consecutive slots; the first position, or -1 if the slowest reader is too far behind."""
    capacity = ring[RING_MASK] + 1
    while True:
        position = load_acquire(ring[WRITE_ADDRESS])
        if position + count - ring[RING_GATE] > capacity:
            ring[RING_GATE] = slowest_read_position(ring)  # only grows, so a stale gate is merely strict
            if position + count - ring[RING_GATE] > capacity:
                return -1
        if compare_exchange(ring[WRITE_ADDRESS], position, position + count) == position:
            return position


@kernel
def publish(ring: Words, changes: Words, start: int, count: int) -> bool:
    """Publish `count` changes (flat int64, CHANGE_WORDS each) from change `start` as one atomic batch; False
    if full.
    """
    first = claim(ring, count)
    if first < 0:
        return False
    mask, records = ring[RING_MASK], ring[RECORDS_ADDRESS]
    for i in range(count - 1, -1, -1):
        record = records + ((first + i) & mask) * RECORD_BYTES
        change = (start + i) * CHANGE_WORDS
        store_word(record + 8 * BATCH_SIZE, count)
        for word in range(CHANGE_WORDS):
            store_word(record + 8 * (LOCATION + word), changes[change + word])
        if i > 0:
            store_word(record + 8 * SEQUENCE, first + i + 1)
    store_release(
        records + (first & mask) * RECORD_BYTES, first + 1
    )  # SYNC ring-publish: release, pairs with `available`
    return True


@kernel(int64(WORDS))
def available(ring: Words) -> int:
    """Records in the batch at the read position; 0 if none is published there yet."""
    position = ring[RING_READ_POSITION]
    record = ring[RECORDS_ADDRESS] + (position & ring[RING_MASK]) * RECORD_BYTES
    if load_acquire(record + 8 * SEQUENCE) != position + 1:  # SYNC ring-publish: acquire, pairs with `publish`
        return 0
    return load_word(record + 8 * BATCH_SIZE)


@kernel
def record_address(ring: Words, index: int) -> int:
    """Where record `index` of the batch at the read position lies (after `available` said that it is there)."""
    return ring[RECORDS_ADDRESS] + ((ring[RING_READ_POSITION] + index) & ring[RING_MASK]) * RECORD_BYTES


@kernel
def record_word(ring: Words, index: int, word: int) -> int:
    """Word `word` of record `index` of the batch at the read position."""
    return load_word(record_address(ring, index) + 8 * word)


@kernel
def advance(ring: Words, count: int) -> None:
    """Step the private read position over a batch; its slots stay ours until `release`."""
    ring[RING_READ_POSITION] += count


@kernel
def release(ring: Words) -> None:
    """Give the slots before the read position back to the writers."""
    at = ring[READERS_ADDRESS] + ring[RING_ME] * LINE_BYTES
    store_release(at, ring[RING_READ_POSITION])  # SYNC ring-release: release, pairs with `slowest_read_position`


def leave(ring: np.ndarray) -> np.ndarray:
    """Read the group's ring no more, ever, and keep nobody from writing to it; from now on the participant is alone, on
    a ring of its own, whose words are returned: they are to be kept for as long as the state is. To be called by a
    worker that has nothing more to publish, and does not care for what others publish.
    """
    shared = int(ring[READERS_ADDRESS]) + int(ring[RING_ME]) * LINE_BYTES
    records = int(ring[RING_MASK]) + 1
    words = np.zeros(2 * LINE_WORDS + records * RECORD_WORDS, np.int64)
    ring[WRITE_ADDRESS] = address_of(words)
    ring[READERS_ADDRESS] = address_of(words) + LINE_BYTES
    ring[RECORDS_ADDRESS] = address_of(words) + 2 * LINE_BYTES
    ring[RING_WORKERS], ring[RING_ME], ring[RING_READ_POSITION], ring[RING_GATE] = 1, 0, 0, 0
    poke(shared, BEYOND)  # SYNC ring-release: release, pairs with `slowest_read_position`
    return words


def check(ring: np.ndarray) -> None:
    """Raise AssertionError unless the participant's positions are consistent: slowest <= own read <= write <= slowest +
    capacity.
    """
    write = load_position(int(ring[WRITE_ADDRESS]))
    slowest = slowest_read_position(ring)
    own = int(ring[RING_READ_POSITION])
    assert slowest <= own <= write <= slowest + int(ring[RING_MASK]) + 1, (slowest, own, write)


@kernel(int64(int64))
def load_position(address: int) -> int:
    """A position word, with acquire."""
    return load_acquire(address)
