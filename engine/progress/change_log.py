"""The log of a worker's changes to pointstamp counts, netted before it is published.

A change is its location, its delta and its time's coordinates, a word each (unused ones are 0). Writing one costs a
single `pack_into`; netting happens once a step, in a kernel, so a message produced and consumed in the same step, or a
token downgraded twice, leaves no trace.
"""

from collections.abc import Callable
from struct import Struct

import numpy as np

from tokenring.engine.times import MOST_COORDINATES, AnyTime
from tokenring.shm.kernels import (
    COLUMN,
    WORDS,
    Record,
    Words,
    int64,
    kernel,
    record_of,
    records_at,
    room,
    signed,
    unsigned,
)


class Change(Record):
    """By how much the count at a location and a time changes; `inner`: the time's other coordinates."""

    location: int
    delta: int
    time: int
    inner: Words = room(MOST_COORDINATES - 1)


CHANGE_WORDS = Change.size
CHANGE_BYTES = 8 * CHANGE_WORDS

_FORMATS = [f"{2 + depth}q{8 * (MOST_COORDINATES - depth)}x" for depth in range(1, MOST_COORDINATES + 1)]
pack_change = Struct(f"={_FORMATS[0]}").pack_into
pack_two_changes = Struct(f"={_FORMATS[0] * 2}").pack_into
_pack_nested_change = (None, *[Struct(f"={of_depth}").pack_into for of_depth in _FORMATS])

_LINEAR_LIMIT = 24


class Netted(Record):
    """The last words of the scratch. When the ring was full, the changes before `begin` are out, those before `ready`
    are netted and in the order in which they are to be published, and those behind came later. Both are 0 otherwise.
    `out`: how many went out last."""

    begin: int
    ready: int
    out: int


_NETTED_WORDS = Netted.size


@kernel
def netted_of(scratch: Words) -> Netted:
    """What stands behind the scratch."""
    return record_of(scratch[len(scratch) - _NETTED_WORDS :], Netted)


@kernel
def same_coordinates(one: Words, other: Words) -> bool:
    """Whether the coordinates behind the first one are those of another time."""
    for at in range(MOST_COORDINATES - 1):
        if one[at] != other[at]:
            return False
    return True


@kernel
def _same_pointstamp(change: Change, other: Change) -> bool:
    """Whether two changes are at one location and time."""
    if change.location != other.location or change.time != other.time:
        return False
    return same_coordinates(change.inner, other.inner)


@kernel
def _hash(change: Change) -> int:
    mixed = (unsigned(change.time) * unsigned(0x9E3779B97F4A7C15)) ^ (
        unsigned(change.location) * unsigned(0xC2B2AE3D27D4EB4F)
    )
    for at in range(len(change.inner)):
        mixed = (mixed ^ unsigned(change.inner[at])) * unsigned(0x9E3779B97F4A7C15)
    return signed(mixed >> unsigned(32))


@kernel(int64(WORDS, int64, WORDS))
def net(log: Words, count: int, scratch: Words) -> int:
    """Merge changes at equal pointstamps in place and drop zeros; returns how many are left.

    log: flat int64 of at least CHANGE_WORDS * count; scratch: int64 of at least 4 * count (used when there are many),
    and what is in it behind those stays.
    """
    changes = records_at(log.ctypes.data, count, Change)
    kept = 0
    if count <= _LINEAR_LIMIT:
        for i in range(count):
            j = 0
            while j < kept and not _same_pointstamp(changes[i], changes[j]):
                j += 1
            if j < kept:
                changes[j].delta += changes[i].delta
            else:
                changes[kept] = changes[i]
                kept += 1
    else:
        slots = 1
        while slots < 2 * count:
            slots *= 2
        for i in range(slots):
            scratch[i] = -1
        for i in range(count):
            slot = _hash(changes[i]) & (slots - 1)
            while scratch[slot] >= 0 and not _same_pointstamp(changes[i], changes[scratch[slot]]):
                slot = (slot + 1) & (slots - 1)
            if scratch[slot] >= 0:
                changes[scratch[slot]].delta += changes[i].delta
            else:
                scratch[slot] = kept
                changes[kept] = changes[i]
                kept += 1
    left = 0
    for i in range(kept):
        if changes[i].delta != 0:
            changes[left] = changes[i]
            left += 1
    return left


@kernel
def positives_first(log: Words, count: int) -> int:
    """Order changes so that increments come before decrements: what makes a prefix of them safe to publish by itself.
    """
    changes, left = records_at(log.ctypes.data, count, Change), 0
    for i in range(count):
        if changes[i].delta > 0:
            for word in range(CHANGE_WORDS):
                one, other = CHANGE_WORDS * i + word, CHANGE_WORDS * left + word
                log[one], log[other] = log[other], log[one]
            left += 1
    return left


@kernel(int64(WORDS, int64, COLUMN, WORDS, int64, int64))
def _log_moves(log: Words, at: int, locations: Words, times: Words, count: int, time: int) -> int:
    """Log that one token at each of `count` locations moves from times[i] to `time`, from change number `at` on.

    Returns the number of changes, or -1 - i and logs nothing if token i is beyond `time` already.
    """
    for i in range(count):
        if times[i] > time:
            return -1 - i
    changes, made = records_at(log.ctypes.data, len(log) // CHANGE_WORDS, Change), at
    for i in range(count):
        if times[i] < time:
            for delta in (-1, 1):
                change = changes[made]
                change.location, change.delta, change.time = locations[i], delta, times[i] if delta < 0 else time
                change.inner[:] = 0
                made += 1
            times[i] = time
    return made - at


@kernel(int64(WORDS, int64, WORDS))
def net_what_is_left(log: Words, count: int, scratch: Words) -> int:
    """Net the changes that are not out, so that they begin the log; returns how many they are then."""
    netted = netted_of(scratch)
    begin = netted.begin
    for word in range(CHANGE_WORDS * (count - begin) if begin > 0 else 0):
        log[word] = log[CHANGE_WORDS * begin + word]
    netted.begin = netted.ready = netted.out = 0
    return net(log, count - begin, scratch)


def _zeros(count: int) -> np.ndarray:
    return np.zeros(count, np.int64)


class ChangeLog:
    """Changes not yet published. `buffer` is written with `pack_change` at `offset` bytes; `words` is the kernels' view
    of it.

    Writers write one change or two, move `offset` on and call `make_room` once it reaches `limit`: below it there is
    room for two more.
    """

    __slots__ = ("_zeros", "buffer", "limit", "netted", "offset", "scratch", "words")

    def __init__(self, capacity: int = 4096, zeros: Callable[[int], np.ndarray] = _zeros) -> None:
        """zeros: makes its arrays."""
        self._zeros = zeros
        self.offset = 0
        self._allocate(capacity)

    def _allocate(self, capacity: int) -> None:
        self.words = self._zeros(capacity * CHANGE_WORDS)
        self.buffer = self.words.data.cast("B")
        self.scratch = self._zeros(4 * capacity + Netted.size)
        self.netted = Netted(self.scratch[4 * capacity :])
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
        old, netted = self.buffer[: self.offset], self.netted
        self._allocate(capacity)
        self.buffer[: self.offset] = old
        self.netted.words[:] = netted.words

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
        return self.netted.out

    def changes(self) -> list[tuple[int, tuple[int, ...], int]]:
        """The changes as (location, all time coordinates, delta), for explanations and tests."""
        return self._decoded(self.offset // CHANGE_BYTES)

    def unfinished(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Of the changes, those that were netted together and are partly on the ring."""
        return self._decoded(self.netted.ready)

    def in_hand(self) -> list[tuple[int, tuple[int, ...], int]]:
        """Of the changes, those that came after the last that were netted to be published: none of them is out."""
        return self.changes()[len(self.unfinished()) :]

    def _decoded(self, end: int) -> list[tuple[int, tuple[int, ...], int]]:
        flat = self.words[self.netted.begin * CHANGE_WORDS : end * CHANGE_WORDS].tolist()
        return [
            (flat[i], tuple(flat[i + 2 : i + CHANGE_WORDS]), flat[i + 1]) for i in range(0, len(flat), CHANGE_WORDS)
        ]
