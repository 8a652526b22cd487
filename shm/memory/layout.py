"""Where everything lies in a group's segment, as data: offsets in 8-byte words, apart from the algorithms.

    header      magic version digest workers ring queue total ready      1 line, `ready` written last
    group       stop ending | over relief used growth                    1 line
    flags       parked | congested: a bit for each worker, and the launcher's     1 line each
    workers     graphs digest(2) built barriers finished instant(2) forgotten(2) process running
                vote decision looks | seen                               1 line each
    bells       what its senders ring, of each worker                    1 line each
    ring        write position | of each worker: read position, parted, at rest, cut | records
                                                                         1 line, 1 line each, whole cache lines a record
    queues      for each receiver, each sender to it: write position | read position | data

A "line" is 16 words (128 bytes): two cache lines, since processors prefetch them in pairs.
"""

import hashlib
from dataclasses import dataclass
from functools import cached_property

from tokenring.shm.errors import SegmentError
from tokenring.shm.stamp_words import STAMP_WORDS, in_lines

MAGIC = 0x544F4B454E52494E  # "TOKENRIN"
VERSION = 11
WORD_BYTES = 8
LINE_WORDS = 16
RECORD_WORDS = in_lines(4 + STAMP_WORDS)

HEADER_MAGIC, HEADER_VERSION, HEADER_DIGEST, HEADER_WORKERS, HEADER_RING, HEADER_QUEUE, HEADER_TOTAL, HEADER_READY = (
    range(8)
)
(
    WORKER_GRAPHS,
    WORKER_DIGEST_EVEN,
    WORKER_DIGEST_ODD,
    WORKER_BUILT,
    WORKER_BARRIERS,
    WORKER_FINISHED,
    WORKER_INSTANT_EVEN,
    WORKER_INSTANT_ODD,
    WORKER_FORGOTTEN_EVEN,
    WORKER_FORGOTTEN_ODD,
    WORKER_PROCESS,
    WORKER_RUNNING,
    WORKER_VOTE,
    WORKER_DECISION,
    WORKER_LOOKS,
    WORKER_SEEN,
) = range(16)

FINISH, STOP = 1, 2
"""What `Layout.ending` asks for: sources close, and what they sent is finished; or they are kept where they are, and
what is open is dropped."""

MAX_WORKERS = 512


def _power_of_two(value: int) -> bool:
    return value > 0 and value & (value - 1) == 0


def fitting_queue_words(workers: int, budget_bytes: int) -> int:
    """The greatest power of two of words that each ordered pair's queue may have, so that all queues, the lines of
    their positions included, are within `budget_bytes`; 0 if there is none.
    """
    pairs = max(1, workers * (workers - 1))
    words = budget_bytes // WORD_BYTES // pairs - 2 * LINE_WORDS
    return 1 << (words.bit_length() - 1) if words > 0 else 0


@dataclass(frozen=True)
class Layout:
    """Sizes of a group's segment; every offset follows from them. `queue_words` is the data part of one pair's queue.
    """

    workers: int
    ring_records: int
    queue_words: int

    def __post_init__(self) -> None:
        if not 1 <= self.workers <= MAX_WORKERS:
            raise SegmentError(f"workers must be between 1 and {MAX_WORKERS}, not {self.workers}")
        for name in ("ring_records", "queue_words"):
            if not _power_of_two(getattr(self, name)):
                raise SegmentError(f"{name} must be a power of two, not {getattr(self, name)}")
        if self.ring_records < 64 or self.queue_words < 256:
            raise SegmentError("the ring needs at least 64 records and a queue at least 256 words (2 KiB)")

    @property
    def stop(self) -> int:
        """Offset of the group's stop word (writer: the launcher)."""
        return LINE_WORDS

    @property
    def ending(self) -> int:
        """Offset of the word that asks for an early end: FINISH or STOP, and then it stays (writers: the launcher, any
        worker; by compare-exchange)."""
        return LINE_WORDS + 1

    @property
    def over(self) -> int:
        """Offset of the word that says which worker, plus one, is to end the run for want of memory (writer: the
        launcher)."""
        return LINE_WORDS + 2

    @property
    def relief(self) -> int:
        """Offset of the count of requests to give memory back that is not used (writer: the launcher)."""
        return LINE_WORDS + 3

    @property
    def used(self) -> int:
        """Offset of how many bytes the group takes (writer: the launcher, where it has a budget)."""
        return LINE_WORDS + 4

    @property
    def growth(self) -> int:
        """Offset of how many bytes each worker may grow by until the launcher looks again (writer: the launcher)."""
        return LINE_WORDS + 5

    @property
    def parked(self) -> int:
        """Offset of the flags of those who sleep (writers: each worker and its wakers, by atomic operations)."""
        return 2 * LINE_WORDS

    @property
    def congested(self) -> int:
        """Offset of the flags of those with too many rows waiting (writers: each its own), and behind them one that is
        set while memory is short (writers: any worker sets it, the launcher sets and clears it); by atomic
        operations."""
        return 3 * LINE_WORDS

    def worker(self, worker: int) -> int:
        """Offset of a worker's line (writer: that worker, but of `allowed`, which is the launcher's)."""
        return (4 + worker) * LINE_WORDS

    def bell(self, worker: int) -> int:
        """Offset of the word that whoever sends to a worker stores, each time another value (writers: all workers)."""
        return (4 + self.workers + worker) * LINE_WORDS

    @property
    def ring_write_position(self) -> int:
        """Offset of the ring's write position (writers: all workers, by compare-exchange)."""
        return (4 + 2 * self.workers) * LINE_WORDS

    def ring_read_position(self, worker: int) -> int:
        """Offset of a worker's read position in the ring (writer: that worker)."""
        return (5 + 2 * self.workers + worker) * LINE_WORDS

    def parted(self, worker: int) -> int:
        """Offset of how many others, the last ones, a worker sends nothing to any more (writer: that worker)."""
        return self.ring_read_position(worker) + 1

    def at_rest(self, worker: int) -> int:
        """Offset of the position in the ring, plus one, at which a worker that is to stop has nothing under way; 0: it
        has (writer: that worker)."""
        return self.ring_read_position(worker) + 2

    def cut(self, worker: int) -> int:
        """Offset of how many dataflows, the first ones, a worker lets run no more, for a stop (writer: that worker)."""
        return self.ring_read_position(worker) + 3

    @property
    def ring_records_offset(self) -> int:
        """Offset of the ring's first record."""
        return (5 + 3 * self.workers) * LINE_WORDS

    @property
    def _queues(self) -> int:
        return self.ring_records_offset + self.ring_records * RECORD_WORDS

    def queue(self, sender: int, receiver: int) -> int:
        """Offset of the queue from `sender` to `receiver`: write position (sender), read position (receiver), data."""
        if sender == receiver or not (0 <= sender < self.workers and 0 <= receiver < self.workers):
            raise SegmentError(f"no queue from worker {sender} to worker {receiver} among {self.workers}")
        return self.queues_to(receiver) + (sender - (sender > receiver)) * (2 * LINE_WORDS + self.queue_words)

    def queues_to(self, receiver: int) -> int:
        """Offset of the queues that one worker reads, which lie together; `receiver` = workers: where the last end."""
        return self._queues + receiver * (self.workers - 1) * (2 * LINE_WORDS + self.queue_words)

    @property
    def total_words(self) -> int:
        """Words in the segment."""
        return self.queues_to(self.workers)

    @property
    def total_bytes(self) -> int:
        """Bytes in the segment."""
        return self.total_words * WORD_BYTES

    @cached_property
    def digest(self) -> int:
        """63 bits that two processes must agree on before they share a segment."""
        text = f"{VERSION}:{LINE_WORDS}:{RECORD_WORDS}:{self.workers}:{self.ring_records}:{self.queue_words}"
        return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little") >> 1


assert HEADER_READY < LINE_WORDS
assert MAX_WORKERS + 1 <= 8 * WORD_BYTES * LINE_WORDS, "flags have a line"
