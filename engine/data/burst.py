"""Bursts: many messages handed over in one call, each of which keeps its own time and its own count.

A source whose rows have times of their own (an event's nanosecond) sends a message for each. One call a message is a
few microseconds of Python in every part that it passes; a burst passes them once, and kernels write the changes of all
its messages. Progress is told of each: what is sent and taken in bursts cannot be told from single messages by anybody
who looks at counts or frontiers.
"""

from collections.abc import Iterable, Iterator
from itertools import pairwise
from typing import Any

import numpy as np

from tokenring.engine.columns import Batch
from tokenring.engine.native import OWN_TIMES
from tokenring.engine.progress import CHANGE_WORDS, ChangeLog
from tokenring.shm.kernels import COLUMN, WORDS, Words, boolean, int64, kernel


@kernel(boolean(COLUMN))
def is_ascending(keys: Words) -> bool:
    """Whether no key is less than the one before it."""
    steps_back = 0
    for i in range(1, len(keys)):  # without a way out of the loop, LLVM vectorises it
        steps_back += keys[i] < keys[i - 1]
    return steps_back == 0


@kernel
def _log_one(log: Words, word: int, location: int, delta: int, time: int) -> None:
    for unused in range(word, word + CHANGE_WORDS):
        log[unused] = 0
    log[word], log[word + 1], log[word + 2] = location, delta, time


@kernel(int64(WORDS, int64, int64, int64, COLUMN, int64))
def _log_each(log: Words, at: int, location: int, delta: int, keys: Words, time: int) -> int:
    """Log `delta` at one location for each distinct key, from change number `at` on: at the keys, or all at `time`.
    Returns the number of changes."""
    word = first = at * CHANGE_WORDS
    messages = 0
    for i in range(len(keys)):
        if i == 0 or keys[i] != keys[i - 1]:
            messages += 1
            if time == OWN_TIMES:
                _log_one(log, word, location, delta, keys[i])
                word += CHANGE_WORDS
    if time != OWN_TIMES and messages > 0:
        _log_one(log, word, location, delta * messages, time)
        word += CHANGE_WORDS
    return (word - first) // CHANGE_WORDS


@kernel(int64(WORDS, int64, int64, COLUMN, int64, WORDS, WORDS))
def _log_routed(log: Words, at: int, location: int, keys: Words, time: int, routes: Words, last: Words) -> int:
    """The same, +1 each, for rows that were exchanged: a message for each distinct key of each worker's rows. routes:
    row i's worker; last: int64 scratch of (workers,)."""
    word = first = at * CHANGE_WORDS
    messages = 0
    for worker in range(len(last)):
        last[worker] = -1
    for i in range(len(keys)):
        worker = routes[i]
        if last[worker] != keys[i]:
            last[worker] = keys[i]
            messages += 1
            if time == OWN_TIMES:
                _log_one(log, word, location, 1, keys[i])
                word += CHANGE_WORDS
    if time != OWN_TIMES and messages > 0:
        _log_one(log, word, location, messages, time)
        word += CHANGE_WORDS
    return (word - first) // CHANGE_WORDS


class Burst:
    """What stands in the place of a time with the rows of many messages: one message for each distinct key.

    keys: int64 (rows,), ascending and not negative. time: that of all the messages; OWN_TIMES: each is at its key.
    """

    __slots__ = ("keys", "time")

    def __init__(self, keys: np.ndarray, time: int = OWN_TIMES) -> None:
        self.keys = keys
        self.time = time

    @property
    def least(self) -> int:
        """The least time of the messages."""
        return int(self.keys[0]) if self.time == OWN_TIMES else self.time

    def log_each(self, log: ChangeLog, location: int, delta: int) -> None:
        """Log `delta` for each message."""
        at = log.room_for(len(self.keys))
        log.wrote(_log_each(log.words, at, location, delta, self.keys, self.time))

    def log_routed(self, log: ChangeLog, location: int, routes: np.ndarray, last: np.ndarray) -> None:
        """Log each message made when the rows were exchanged: rows of one key that go to two workers are two."""
        at = log.room_for(len(self.keys))
        log.wrote(_log_routed(log.words, at, location, self.keys, self.time, routes, last))

    def messages(self, batch: Batch) -> Iterator[tuple[int, Batch]]:
        """(time, rows) of each message."""
        keys = self.keys
        starts = [0, *(np.flatnonzero(keys[1:] != keys[:-1]) + 1).tolist(), batch.rows]
        for start, stop in pairwise(starts):
            yield (int(keys[start]) if self.time == OWN_TIMES else self.time), batch.slice(start, stop)

    def slice(self, start: int, stop: int) -> "Burst":
        """What rows start..stop are messages of."""
        return Burst(self.keys[start:stop], self.time)

    def copy(self) -> "Burst":
        """The same, without a view into a queue."""
        return Burst(self.keys.copy(), self.time)


def messages_of(stamp: Any, batch: Batch) -> Iterable[tuple[Any, Batch]]:
    """(time, rows) of the messages that one entry of an input's queue is: of a burst several."""
    return stamp.messages(batch) if stamp.__class__ is Burst else ((stamp, batch),)
