"""The progress plane's step, as one kernel: net the log, publish it, apply every published batch, move frontiers.

A worker applies its own batches from the ring like everybody else's, so all workers see one history.
"""

import numpy as np

from tokenring.engine.progress.change_log import CHANGE_BYTES, CHANGE_WORDS, ChangeLog, net, netted_of, positives_first
from tokenring.engine.progress.counts import APPLIED, NEEDS_ROOM, apply_change
from tokenring.engine.progress.layout import COORDINATES, TrackerState, locations_of
from tokenring.engine.progress.nested_counts import apply_nested_change
from tokenring.engine.progress.propagation import propagate
from tokenring.engine.progress.tracker import Tracker
from tokenring.shm.kernels import TABLE, WORDS, Words, boolean, int64, kernel, record_at, words_at
from tokenring.shm.memory import Segment
from tokenring.shm.queues import (
    DELTA,
    LOCATION,
    RING_MASK,
    RING_READ_POSITION,
    RING_WORKERS,
    TIME,
    advance,
    any_parked,
    anything_waiting,
    attach_ring,
    available,
    next_parked,
    parked_address,
    publish,
    record_address,
    record_word,
    release,
)

# Bits of what `exchange` returns.
PUBLISHED, APPLIED_ANY, FULL, ROOM, BROKEN, PARKED, INCOMING = 1, 2, 4, 8, 16, 32, 64


@kernel
def _apply_record(address: int, state: TrackerState, ring: Words, i: int) -> int:
    """Apply record `i` of the batch at the read position; NEEDS_ROOM (nothing applied) if a table is too small."""
    location, delta = record_word(ring, i, LOCATION), record_word(ring, i, DELTA)
    if locations_of(state)[location].is_nested != 0:
        times = words_at(record_address(ring, i) + 8 * TIME, COORDINATES)
        return apply_nested_change(address, location, times, 0, delta)
    return apply_change(address, location, record_word(ring, i, TIME), delta)


@kernel
def _publish_log(ring: Words, log: Words, count: int, scratch: Words) -> int:
    """Net the log of `count` changes and publish it as far as the ring has room; returns how many changes long the log
    still is, 0 if all of it is out.

    What has been netted is not looked at again before it is out, however little goes at a time: see Netted.
    """
    netted = netted_of(scratch)
    begin, ready = netted.begin, netted.ready
    limit = (ring[RING_MASK] + 1) >> 2
    while True:
        if begin == ready:
            if begin > 0:
                for i in range(CHANGE_WORDS * (count - begin)):
                    log[i] = log[CHANGE_WORDS * begin + i]
            begin, ready = 0, net(log, count - begin, scratch)
            count = ready
            if ready > limit:
                positives_first(log, ready)  # a prefix of increments only delays frontiers, so it may go ahead
        while begin < ready:
            run = min(limit, ready - begin)
            if not publish(ring, log, begin, run):
                netted.begin, netted.ready = begin, ready
                return count
            begin += run
            netted.out += run
        if begin == count:
            netted.begin = netted.ready = 0
            return 0


@kernel(int64(int64, WORDS, WORDS, int64, WORDS, TABLE, boolean, int64))
def exchange(
    address: int, ring: Words, log: Words, count: int, scratch: Words, incoming: Words, sent: bool, parked: int
) -> int:
    """One exchange of progress. log: flat int64 of `count` changes; `sent`: whether data was sent since the last call;
    incoming: the data queues' states, of which it is only told whether something waits in them.

    Returns a set of the bits above; woken operators are added to the tracker's list, `woken_count` of them. ROOM:
    the tables must grow, then the call is repeated without changes.
    """
    state = record_at(address, TrackerState)
    flags = 0
    if count > 0:
        netted_of(scratch).out = 0
    while True:
        published = False
        if count > 0:
            before = netted_of(scratch).out
            count = _publish_log(ring, log, count, scratch)
            published = netted_of(scratch).out > before
        records = available(ring)
        polled = False
        while records > 0:
            i = state.resume
            while i < records:
                if _apply_record(address, state, ring, i) == NEEDS_ROOM:
                    state.resume = i
                    if published:
                        flags |= PUBLISHED
                    if count > 0:
                        flags |= FULL
                        state.left_in_log = count
                    return flags | ROOM
                i += 1
            state.resume = 0
            advance(ring, records)
            polled = True
            records = available(ring)
        if polled:
            release(ring)
        if published:
            flags |= PUBLISHED
        if count == 0:
            break
        if not (published and polled):  # the ring is full, and not of what only we had to read
            flags |= FULL
            state.left_in_log = count
            break
    if state.dirty_count > 0 or state.dirty_graphs > 0:
        flags |= APPLIED_ANY
        status = propagate(address)
        if status != APPLIED:
            return flags | (ROOM if status == NEEDS_ROOM else BROKEN)
    if sent or flags & PUBLISHED:
        if any_parked(parked, ring[RING_WORKERS]):
            flags |= PARKED
    if anything_waiting(incoming):
        flags |= INCOMING
    return flags


class ProgressChannel:
    """One worker's end of the progress plane."""

    def __init__(self, segment: Segment, me: int, tracker: Tracker, log: ChangeLog, incoming: np.ndarray) -> None:
        self._tracker = tracker
        self._state, self._address = tracker.tables.state, tracker.tables.state.address  # which is never replaced
        self._log = log
        self._incoming = incoming
        self._workers = segment.layout.workers
        self._parked = parked_address(segment)
        self.ring = attach_ring(segment, me)

    def exchange(self, sent: bool) -> int:
        """Publish what is logged, apply what others published; returns the flags (0: nothing happened)."""
        log = self._log
        flags: int = exchange(
            self._address,
            self.ring,
            log.words,
            log.offset // CHANGE_BYTES,
            log.scratch,
            self._incoming,
            sent,
            self._parked,
        )
        log.offset = 0
        if flags & (FULL | ROOM | BROKEN):
            flags = self.handle(flags)
        return flags

    def handle(self, flags: int) -> int:
        """Do what the flags of the kernel `exchange` ask for; returns what is left of them."""
        if flags & BROKEN:
            raise self._tracker.broken()
        if flags & FULL:
            self._log.offset = self._state.left_in_log * CHANGE_BYTES
        while flags & ROOM:
            self._tracker.tables.grow()
            more: int = exchange(
                self._address,
                self.ring,
                self._log.words,
                0,
                self._log.scratch,
                self._incoming,
                True,
                self._parked,
            )
            if more & BROKEN:
                raise self._tracker.broken()
            flags = (flags & ~ROOM) | more
        return flags

    def next_parked(self, start: int) -> int:
        """The next sleeping worker from `start` on that we have undertaken to wake; -1 if none."""
        worker: int = next_parked(self._parked, self._workers, start)
        return worker

    @property
    def position(self) -> int:
        """How many records were applied so far, one's own included: it moves with whatever moves in the group."""
        return int(self.ring[RING_READ_POSITION])

    @property
    def nothing_new(self) -> bool:
        """Whether no published batch waits to be applied (for the last look before parking)."""
        return bool(available(self.ring) == 0)
