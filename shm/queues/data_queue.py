"""Single-producer single-consumer queues of column messages: a shared one per ordered pair of workers, a private one to
oneself.

    message: header (size | channel | rows | columns | stamp; whole cache lines), then each column, padded to whole
    cache lines, then text if there is any (shm/queues/text_message.py)
    skip:    header with channel -1: the buffer is unused up to its end, so that every column is contiguous

Contract
1. Positions count words and only grow; position modulo capacity is an offset. One writer each: the sender's write
   position, the receiver's read position.
2. The sender fills messages, then stores the write position (release); the receiver acquires it before it reads. What
   one run of an operator sends appears together, so that the receiver runs once for it.
3. The receiver stores the read position (release) when it is done with the bytes; the sender acquires it before it
   reuses them.
4. Full is a value: `partition_for` writes all of a batch's messages or none.
5. After the write position the sender stores the receiver's bell (release), a word of all its senders, and a value that
   nobody ever stored there. The receiver acquires the bell before its queues: the value it has heard means that nothing
   has come since, whatever their number.

`outgoing` and `incoming` are private int64 arrays of shape (workers, QUEUE_STATE), a row a peer.
"""

import numpy as np

from tokenring.shm.kernels import (
    TABLE,
    WORDS,
    Words,
    address_of,
    boolean,
    int64,
    kernel,
    kernel_for_columns,
    signed,
    unsigned,
    void,
)
from tokenring.shm.memory import LINE_WORDS, MAX_WORKERS, Segment, load_acquire, load_word, store_release, store_word
from tokenring.shm.stamp_words import STAMP_WORDS, in_lines

WRITE_ADDRESS, READ_ADDRESS, DATA_ADDRESS, CAPACITY, WRITE_POSITION, READ_POSITION, COMMITTED, MORE_STAMP = range(8)
RELEASED = COMMITTED  # the sender's word and the receiver's: each has its own row
MORE_STAMP_WORDS = STAMP_WORDS - 1  # those behind the first, of what is sent next: 0, but for times of nested scopes
BELL_ADDRESS, SIGN = range(MORE_STAMP + MORE_STAMP_WORDS, MORE_STAMP + MORE_STAMP_WORDS + 2)
HEARD = SIGN  # who rings, in the sender's rows; what was heard last, in the first of the receiver's
QUEUE_STATE = SIGN + 1

UNHEARD = -1  # what no bell says: some messages are still to be received

SIZE, CHANNEL, ROWS, COLUMNS, STAMP = range(5)
HEADER_WORDS = in_lines(STAMP + STAMP_WORDS)
SKIP = -1
PAD = 8  # columns start on cache lines

# A delivered message in the inbox: which queue, channel, rows, columns, stamp, offset of the first column, words
# between columns, offset of the first word behind the message (and behind the text that may follow the columns).
INBOX_QUEUE, INBOX_CHANNEL, INBOX_ROWS, INBOX_COLUMNS, INBOX_STAMP, INBOX_OFFSET, INBOX_STRIDE, INBOX_END = range(8)
INBOX_WORDS = 8


class Loopback:
    """The private buffer for a worker's messages to itself: same layout and verbs, but no shared memory."""

    def __init__(self, capacity_words: int) -> None:
        self.words = np.zeros(2 * LINE_WORDS + capacity_words, np.int64)
        self.capacity_words = capacity_words


def _row(base: int, capacity: int, bell: int, sign: int) -> list[int]:
    zeros = [0] * (BELL_ADDRESS - CAPACITY - 1)
    return [base, base + 8 * LINE_WORDS, base + 16 * LINE_WORDS, capacity, *zeros, bell, sign]


def attach_queues(segment: Segment, me: int, loopback: Loopback) -> tuple[np.ndarray, np.ndarray]:
    """Private states (outgoing, incoming) of worker `me`: int64 of shape (workers, QUEUE_STATE)."""
    layout = segment.layout
    own = address_of(loopback.words), loopback.capacity_words
    own_bell = segment.address(layout.bell(me))
    outgoing, incoming = [], []
    for peer in range(layout.workers):
        if peer == me:
            outgoing.append(_row(*own, own_bell, me))
            incoming.append(_row(*own, own_bell, 0))
        else:
            bell = segment.address(layout.bell(peer))
            outgoing.append(_row(segment.address(layout.queue(me, peer)), layout.queue_words, bell, me))
            incoming.append(_row(segment.address(layout.queue(peer, me)), layout.queue_words, own_bell, 0))
    return np.array(outgoing, np.int64), np.array(incoming, np.int64)


def queue_words(segment: Segment, sender: int, me: int, loopback: Loopback) -> np.ndarray:
    """The data part of the queue from `sender` to `me`, as a read-only int64 array: what inbox offsets index."""
    words = written_words(segment, sender, me, loopback).view()
    words.setflags(write=False)
    return words


def written_words(segment: Segment, sender: int, me: int, loopback: Loopback) -> np.ndarray:
    """The same as an array that can be written."""
    if sender == me:
        return loopback.words[2 * LINE_WORDS :]
    start = segment.layout.queue(sender, me) + 2 * LINE_WORDS
    return segment.words[start : start + segment.layout.queue_words]


@kernel(int64(int64, int64))
def message_words(rows: int, columns: int) -> int:
    """Words that a message occupies, header and padding included."""
    return HEADER_WORDS + columns * ((rows + PAD - 1) // PAD * PAD)


@kernel(boolean(WORDS, int64))
def has_room(queue: Words, words: int) -> bool:
    """Whether a message of `words` fits now, counting the skip before it if it would not be contiguous."""
    capacity, write = queue[CAPACITY], queue[WRITE_POSITION]
    offset = write & (capacity - 1)
    needed = words if offset + words <= capacity else words + capacity - offset
    if write + needed - queue[READ_POSITION] <= capacity:
        return True
    queue[READ_POSITION] = load_acquire(queue[READ_ADDRESS])  # SYNC queue-release: acquire, pairs with `release_all`
    return write + needed - queue[READ_POSITION] <= capacity


@kernel
def begin(queue: Words, words: int, channel: int, rows: int, columns: int, stamp: int) -> int:
    """Write a message's header (after `has_room`); returns the address of its first column. Published by `commit_all`.
    """
    capacity = queue[CAPACITY]
    offset = queue[WRITE_POSITION] & (capacity - 1)
    if offset + words > capacity:
        header = queue[DATA_ADDRESS] + 8 * offset
        store_word(header + 8 * SIZE, capacity - offset)
        store_word(header + 8 * CHANNEL, SKIP)
        queue[WRITE_POSITION] += capacity - offset
        offset = 0
    header = queue[DATA_ADDRESS] + 8 * offset
    store_word(header + 8 * SIZE, words)
    store_word(header + 8 * CHANNEL, channel)
    store_word(header + 8 * ROWS, rows)
    store_word(header + 8 * COLUMNS, columns)
    store_word(header + 8 * STAMP, stamp)
    for i in range(MORE_STAMP_WORDS):
        store_word(header + 8 * (STAMP + 1 + i), queue[MORE_STAMP + i])
    queue[WRITE_POSITION] += words
    return header + 8 * HEADER_WORDS


@kernel(void(TABLE))
def commit_all(outgoing: Words) -> None:
    """Make everything written so far visible to the receivers."""
    for worker in range(outgoing.shape[0]):
        position = outgoing[worker, WRITE_POSITION]
        if position != outgoing[worker, COMMITTED]:
            outgoing[worker, COMMITTED] = position
            store_release(
                outgoing[worker, WRITE_ADDRESS], position
            )  # SYNC queue-publish: release, pairs with `receive`
            rung = position * MAX_WORKERS + outgoing[worker, SIGN]  # positions only grow: no value comes twice
            store_release(outgoing[worker, BELL_ADDRESS], rung)  # SYNC queue-bell: release, pairs with `receive`


@kernel(int64(int64, int64))
def route(key: int, workers: int) -> int:
    """The worker that owns `key`: multiplicative hash, high bits scaled to the number of workers."""
    mixed = (unsigned(key) ^ (unsigned(key) >> unsigned(32))) * unsigned(0x9E3779B97F4A7C15)
    return signed(((mixed >> unsigned(32)) * unsigned(workers)) >> unsigned(32))


def key_of_worker(worker: int, workers: int) -> int:
    """A key that `route` sends to this worker: its hash undone, from the least high word of the worker's."""
    mixed = -(-(worker << 32) // workers) << 32
    key = mixed * pow(0x9E3779B97F4A7C15, -1, 1 << 64) % (1 << 64)
    key ^= key >> 32
    return key - (1 << 64) if key >= 1 << 63 else key


@kernel_for_columns(lambda columns: int64(columns, int64, int64, int64, TABLE, WORDS, TABLE, int64, int64))
def partition_for(
    columns: Words, key: int, start: int, stop: int, outgoing: Words, routes: Words, counts: Words, channel: int,
    stamp: int,
) -> int:  # fmt: skip
    """Exchange rows start..stop of `columns` by `columns[key]`, straight into the queues of their owners.

    columns: tuple of int64 arrays; routes: int64 scratch of at least stop - start; counts: int64 scratch of (3,
    workers). Returns the number of messages written, or -1 (nothing written) if a queue lacks room.
    """
    workers = outgoing.shape[0]
    for worker in range(workers):
        counts[0, worker] = 0
    keys = columns[key]
    for i in range(start, stop):
        worker = route(keys[i], workers)
        routes[i - start] = worker
        counts[0, worker] += 1
    for worker in range(workers):
        rows = counts[0, worker]
        if rows > 0 and not has_room(outgoing[worker], message_words(rows, len(columns))):
            return -1
    sent = 0
    for worker in range(workers):
        rows = counts[0, worker]
        if rows > 0:
            words = message_words(rows, len(columns))
            counts[1, worker] = begin(outgoing[worker], words, channel, rows, len(columns), stamp)
            counts[2, worker] = 8 * ((rows + PAD - 1) // PAD * PAD)
            sent += 1
    for i in range(start, stop):
        worker = routes[i - start]
        at = counts[1, worker]
        counts[1, worker] = at + 8
        stride = counts[2, worker]
        for column in columns:
            store_word(at, column[i])
            at += stride
    return sent


@kernel_for_columns(lambda columns: boolean(columns, int64, int64, TABLE, int64, int64, int64))
def send_for(columns: Words, start: int, stop: int, outgoing: Words, worker: int, channel: int, stamp: int) -> bool:
    """Copy rows start..stop to one worker's queue; False (nothing written) if it lacks room."""
    queue = outgoing[worker]
    rows = stop - start
    words = message_words(rows, len(columns))
    if not has_room(queue, words):
        return False
    at = begin(queue, words, channel, rows, len(columns), stamp)
    for column in columns:
        for i in range(rows):
            store_word(at + 8 * i, column[start + i])
        at += 8 * ((rows + PAD - 1) // PAD * PAD)
    return True


@kernel(void(TABLE))
def release_all(incoming: Words) -> None:
    """Give back the bytes of every message received so far."""
    for worker in range(incoming.shape[0]):
        position = incoming[worker, READ_POSITION]
        if position != incoming[worker, RELEASED]:
            incoming[worker, RELEASED] = position
            store_release(
                incoming[worker, READ_ADDRESS], position
            )  # SYNC queue-release: release, pairs with `has_room`


@kernel(int64(TABLE, WORDS))
def receive(incoming: Words, inbox: Words) -> int:
    """Fill `inbox` (flat int64, INBOX_WORDS a message) with new messages; returns how many. Their bytes stay until
    `release_all`.
    """
    heard = load_acquire(incoming[0, BELL_ADDRESS])  # SYNC queue-bell: acquire, pairs with `commit_all`
    workers = incoming.shape[0]
    share = inbox.shape[0] // INBOX_WORDS // workers  # so that one busy peer cannot starve the others
    found = 0
    for worker in range(workers if heard != incoming[0, HEARD] else 0):
        queue = incoming[worker]
        position = queue[READ_POSITION]
        write = load_acquire(queue[WRITE_ADDRESS])  # SYNC queue-publish: acquire, pairs with `commit_all`
        left = share
        while position < write and left > 0:
            offset = position & (queue[CAPACITY] - 1)
            header = queue[DATA_ADDRESS] + 8 * offset
            words = load_word(header + 8 * SIZE)
            if load_word(header + 8 * CHANNEL) != SKIP:
                rows = load_word(header + 8 * ROWS)
                at = found * INBOX_WORDS
                inbox[at + INBOX_QUEUE] = worker
                inbox[at + INBOX_CHANNEL] = load_word(header + 8 * CHANNEL)
                inbox[at + INBOX_ROWS] = rows
                inbox[at + INBOX_COLUMNS] = load_word(header + 8 * COLUMNS)
                inbox[at + INBOX_STAMP] = load_word(header + 8 * STAMP)
                inbox[at + INBOX_OFFSET] = offset + HEADER_WORDS
                inbox[at + INBOX_STRIDE] = (rows + PAD - 1) // PAD * PAD
                inbox[at + INBOX_END] = offset + words
                found += 1
                left -= 1
            position += words
        queue[READ_POSITION] = position
        if position < write:
            heard = UNHEARD
    incoming[0, HEARD] = heard
    return found


@kernel(boolean(TABLE))
def anything_waiting(incoming: Words) -> bool:
    """Whether a queue may hold something not yet received (for the last look before parking): surely if one does, and
    now and then if a bell was rung for what has been received already.
    """
    return load_acquire(incoming[0, BELL_ADDRESS]) != incoming[0, HEARD]  # SYNC queue-bell: acquire
