"""The log of a worker's changes to pointstamp counts, netted before it is published.

A change is six words: location, delta, time coordinates 0..3 (unused ones are 0). Writing one costs a single
`pack_into`; netting happens once a step, in a kernel, so a message produced and consumed in the same step, or a token
downgraded twice, leaves no trace.
"""

from collections.abc import Callable
from struct import Struct

import numpy as np

from tokenring.engine.times import AnyTime
from tokenring.shm.kernels import COLUMN, WORDS, int64, kernel

CHANGE_WORDS = 6
CHANGE_BYTES = 8 * CHANGE_WORDS
_LOCATION, _DELTA, _TIME = range(3)

pack_change = Struct("=3q24x").pack_into
pack_two_changes = Struct("=3q24x3q24x").pack_into
_pack_nested_change = (None, None, Struct("=4q16x").pack_into, Struct("=5q8x").pack_into, Struct("=6q").pack_into)

_LINEAR_LIMIT = 24

# The last words of the scratch. When the ring was full, the changes before BEGIN are out, those before READY are netted
# and in the order in which they are to be published, and those behind came later. Both are 0 otherwise. OUT: how many
# went out last.
BEGIN, READY, OUT = range(3)
HEADER_WORDS = 3


@kernel
def _same_pointstamp(log, i, j):  # type: ignore[no-untyped-def]
    """Whether changes i and j are at one location and time."""
    return (
        log[i + _LOCATION] == log[j + _LOCATION]
        and log[i + _TIME] == log[j + _TIME]
        and log[i + _TIME + 1] == log[j + _TIME + 1]
        and log[i + _TIME + 2] == log[j + _TIME + 2]
        and log[i + _TIME + 3] == log[j + _TIME + 3]
    )


@kernel
def _move(log, target, origin):  # type: ignore[no-untyped-def]
    for word in range(CHANGE_WORDS):
        log[target + word] = log[origin + word]


@kernel
def _hash(log, i):  # type: ignore[no-untyped-def]
    mixed = (np.uint64(log[i + _TIME]) * np.uint64(0x9E3779B97F4A7C15)) ^ (
        np.uint64(log[i + _LOCATION]) * np.uint64(0xC2B2AE3D27D4EB4F)
    )
    for word in range(_TIME + 1, CHANGE_WORDS):
        mixed = (mixed ^ np.uint64(log[i + word])) * np.uint64(0x9E3779B97F4A7C15)
    return np.int64(mixed >> np.uint64(32))


@kernel(int64(WORDS, int64, WORDS))
def net(log, count, scratch):  # type: ignore[no-untyped-def]
    """Merge changes at equal pointstamps in place and drop zeros; returns how many are left.

    log: flat int64 of at least CHANGE_WORDS * count; scratch: int64 of at least 4 * count (used when there are many),
    and what is in it behind those stays.
    """
    kept = 0  # words, as are all positions here
    end = count * CHANGE_WORDS
    if count <= _LINEAR_LIMIT:
        for i in range(0, end, CHANGE_WORDS):
            j = 0
            while j < kept and not _same_pointstamp(log, i, j):
                j += CHANGE_WORDS
            if j < kept:
                log[j + _DELTA] += log[i + _DELTA]
            else:
                _move(log, kept, i)
                kept += CHANGE_WORDS
    else:
        slots = 1
        while slots < 2 * count:
            slots *= 2
        for i in range(slots):
            scratch[i] = -1
        for i in range(0, end, CHANGE_WORDS):
            slot = _hash(log, i) & (slots - 1)
            while scratch[slot] >= 0 and not _same_pointstamp(log, i, scratch[slot]):
                slot = (slot + 1) & (slots - 1)
            if scratch[slot] >= 0:
                log[scratch[slot] + _DELTA] += log[i + _DELTA]
            else:
                scratch[slot] = kept
                _move(log, kept, i)
                kept += CHANGE_WORDS
    left = 0
    for i in range(0, kept, CHANGE_WORDS):
        if log[i + _DELTA] != 0:
            _move(log, left, i)
            left += CHANGE_WORDS
    return left // CHANGE_WORDS


@kernel
def positives_first(log, count):  # type: ignore[no-untyped-def]
    """Order changes so that increments come before decrements: what makes a prefix of them safe to publish by itself.
    """
    left = 0
    for i in range(0, count * CHANGE_WORDS, CHANGE_WORDS):
        if log[i + _DELTA] > 0:
            for word in range(CHANGE_WORDS):
                log[i + word], log[left + word] = log[left + word], log[i + word]
            left += CHANGE_WORDS
    return left // CHANGE_WORDS


@kernel(int64(WORDS, int64, COLUMN, WORDS, int64, int64))
def _log_moves(log, at, locations, times, count, time):  # type: ignore[no-untyped-def]
    """Log that one token at each of `count` locations moves from times[i] to `time`, from change number `at` on.

    Returns the number of changes, or -1 - i and logs nothing if token i is beyond `time` already.
    """
    for i in range(count):
        if times[i] > time:
            return -1 - i
    word = first = at * CHANGE_WORDS
    for i in range(count):
        if times[i] < time:
            for unused in range(word, word + 2 * CHANGE_WORDS):
                log[unused] = 0
            log[word], log[word + 1], log[word + 2] = locations[i], -1, times[i]
            word += CHANGE_WORDS
            log[word], log[word + 1], log[word + 2] = locations[i], 1, time
            word += CHANGE_WORDS
            times[i] = time
    return (word - first) // CHANGE_WORDS


@kernel(int64(WORDS, int64, WORDS))
def net_what_is_left(log, count, scratch):  # type: ignore[no-untyped-def]
    """Net the changes that are not out, so that they begin the log; returns how many they are then."""
    header = len(scratch) - HEADER_WORDS
    begin = scratch[header + BEGIN]
    for word in range(CHANGE_WORDS * (count - begin) if begin > 0 else 0):
        log[word] = log[CHANGE_WORDS * begin + word]
    for word in range(HEADER_WORDS):
        scratch[header + word] = 0
    return net(log, count - begin, scratch)


def _zeros(count: int) -> np.ndarray:
    return np.zeros(count, np.int64)


class ChangeLog:
    """Changes not yet published. `buffer` is written with `pack_change` at `offset` bytes; `words` is the kernels' view
    of it.

    Writers write one change or two, move `offset` on and call `make_room` once it reaches `limit`: below it there is
    room for two more.
    """

    __slots__ = ("_zeros", "buffer", "limit", "offset", "scratch", "words")

    def __init__(self, capacity: int = 4096, zeros: Callable[[int], np.ndarray] = _zeros) -> None:
        """zeros: makes its arrays."""
        self._zeros = zeros
        self.offset = 0
        self._allocate(capacity)

    def _allocate(self, capacity: int) -> None:
        self.words = self._zeros(capacity * CHANGE_WORDS)
        self.buffer = self.words.data.cast("B")
        self.scratch = self._zeros(4 * capacity + HEADER_WORDS)
        self.limit = (capacity - 1) * CHANGE_BYTES  # below it there is room for two

    def add(self, location: int, time: AnyTime, delta: int) -> None:
        """Log one change."""
        offset = self.offset
        if isinstance(time, tuple):
            pack_nested = _pack_nested_change[len(time)]
            assert pack_nested is not None
            pack_nested(self.buffer, offset, location, delta, *time)
        else:
            pack_change(self.buffer, offset, location, delta, time)
        self.offset = offset = offset + CHANGE_BYTES
        if offset >= self.limit:
            self.make_room()

    def room_for(self, count: int) -> int:
        """Let `count` changes be written into `words`; returns the number of the first. `wrote` ends it."""
        if self.offset + count * CHANGE_BYTES > self.limit:
            self._grow(2 * (self.offset // CHANGE_BYTES + count + 4))
        return self.offset // CHANGE_BYTES

    def wrote(self, count: int) -> None:
        """So many changes stand where `room_for` said."""
        self.offset += count * CHANGE_BYTES
        if self.offset >= self.limit:
            self.make_room()

    def make_room(self) -> None:
        """Net what is there, and double the buffer if that does not help."""
        self.offset = net_what_is_left(self.words, self.offset // CHANGE_BYTES, self.scratch) * CHANGE_BYTES
        if self.offset > self.limit // 2:
            self._grow(2 * len(self.buffer) // CHANGE_BYTES)

    def _grow(self, capacity: int) -> None:
        old, header = self.buffer[: self.offset], self.scratch[-HEADER_WORDS:]
        self._allocate(capacity)
        self.buffer[: self.offset] = old
        self.scratch[-HEADER_WORDS:] = header

    @property
    def _begin(self) -> int:
        """How many changes at the beginning are out."""
        return int(self.scratch[BEGIN - HEADER_WORDS])

    def move_all(self, locations: np.ndarray, times: np.ndarray, count: int, time: int) -> int:
        """Log the move of one token at each of the first `count` locations from its time to `time`, and note that in
        `times`. Returns -1, or the number of the first token that is beyond `time` already (then nothing is logged).
        """
        at = self.room_for(2 * count)  # first: it may replace `words`
        moved: int = _log_moves(self.words, at, locations, times, count, time)
        if moved < 0:
            return -1 - moved
        self.wrote(moved)
        return -1

    @property
    def out(self) -> int:
        """How many changes the last call that published put on the ring."""
        return int(self.scratch[OUT - HEADER_WORDS])

    def changes(self) -> list[tuple[int, tuple[int, ...], int]]:
        """The changes as (location, all time coordinates, delta), for explanations and tests."""
        return self._decoded(self.offset // CHANGE_BYTES)

    def unfinished(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Of the changes, those that were netted together and are partly on the ring."""
        return self._decoded(int(self.scratch[READY - HEADER_WORDS]))

    def in_hand(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Of the changes, those that came after the last that were netted to be published: none of them is out."""
        return self.changes()[len(self.unfinished()) :]

    def _decoded(self, end: int) -> list[tuple[int, tuple[int, ...], int]]:
        flat = self.words[self._begin * CHANGE_WORDS : end * CHANGE_WORDS].tolist()
        return [
            (flat[i + _LOCATION], tuple(flat[i + _TIME : i + CHANGE_WORDS]), flat[i + _DELTA])
            for i in range(0, len(flat), CHANGE_WORDS)
        ]
