"""One worker's end of the data plane: its queues to and from every peer, and what waits because a queue was full."""

from collections.abc import Callable
from struct import Struct
from sys import getrefcount
from typing import Protocol

import numpy as np

from tokenring.engine.columns import Batch
from tokenring.engine.native import World
from tokenring.shm.memory import Segment
from tokenring.shm.queues import (
    CAPACITY,
    INBOX_WORDS,
    MORE_STAMP,
    MORE_STAMP_WORDS,
    READ_POSITION,
    RELEASED,
    SCRATCH_ROWS,
    Loopback,
    any_set,
    attach_queues,
    clear_flag,
    commit_all,
    has_room,
    message_words,
    next_set,
    queue_words,
    release_all,
    set_flag,
    written_words,
)

_MESSAGE = Struct("=8q").iter_unpack
_INBOX_MESSAGES = 16  # per peer and step
POISON = -0x2152411021524111  # 0xDEADBEEFDEADBEEF


def _kept(lent: list[Batch], unkept: int) -> list[Batch]:
    """Those of the list to which there are more references than `unkept`."""
    return [batch for batch in lent if getrefcount(batch) > unkept]


def _references_to_what_nobody_keeps() -> int:
    """How many references `_kept` itself sees: the list's, its own and the call's, where Python counts them all."""
    return next(count for count in range(8) if not _kept([object()], count))  # type: ignore[list-item]


_UNKEPT = _references_to_what_nobody_keeps()


class Receiver(Protocol):
    """To whom the messages of one number are delivered."""

    def deliver(self, queue: int, rows: int, time: int, offset: int, stride: int, end: int) -> None:
        """A message from worker `queue` lies in its queue's words: its columns from `offset` on, `stride` apart, what
        they point to up to `end`."""


class Postponer(Protocol):
    """Who keeps what a full queue did not take."""

    def retry(self) -> bool:
        """Send what is kept, in order, as far as it goes; True if nothing is left."""


class DataPlane:
    """Sends and receives column messages; channels are numbered in the order they are made, alike on every worker."""

    def __init__(
        self, segment: Segment, me: int, backlog_limit_bytes: int, world: World, poisons: bool = False
    ) -> None:
        layout = segment.layout
        self._segment = segment
        self._world = world.state
        self._me = me
        self._loopback = Loopback(layout.queue_words)
        self.outgoing, self.incoming = attach_queues(segment, me, self._loopback)
        self.words = [queue_words(segment, peer, me, self._loopback) for peer in range(layout.workers)]
        self.inbox = np.zeros(layout.workers * _INBOX_MESSAGES * INBOX_WORDS, np.int64)
        self._inbox_bytes = self.inbox.data.cast("B")
        self.message_limit_words = layout.queue_words // 4
        self.routes = np.zeros(2 * self.message_limit_words, np.int64)
        self.living = self.outgoing
        """The queues' states of those workers that there still are, the first ones."""
        self._counts = self.counts = np.zeros((SCRATCH_ROWS, layout.workers), np.int64)
        self.channels: dict[int, Receiver] = {}
        self.channels_made = 0
        self._waiting: list[Postponer] = []
        self.uncommitted = False
        """Whether something was written that the receivers do not see yet."""
        self.lent: list[Batch] = []
        """The batches whose columns or heaps lie in bytes that are given back at the round's end."""
        self._poisons = poisons
        self._written = [written_words(segment, peer, me, self._loopback) for peer in range(layout.workers)]
        self._sent = 0  # postponed pieces sent since
        self.backlog_limit_bytes = backlog_limit_bytes
        self.congested_flags = segment.address(layout.congested)
        self._flags = layout.workers + 1

    def add_channel(self, channel: Receiver) -> int:
        """Let messages for a channel be delivered; returns the number they carry."""
        number = self.channels_made
        self.channels[number] = channel
        self.channels_made += 1
        return number

    def forget(self, numbers: range) -> None:
        """Drop the channels of a finished dataflow."""
        for number in numbers:
            del self.channels[number]

    def end_round(self) -> None:
        """The bytes of the messages taken in go back to their senders: batches that somebody keeps get their own."""
        for batch in _kept(self.lent, _UNKEPT):
            batch.keep()
        self.lent.clear()
        self._world.lent = 0
        if self._poisons and self._world.taken:
            self._poison()
            self._world.taken = 0
            release_all(self.incoming)

    def _poison(self) -> None:
        """Write over what is given back, so that who still looks at it sees no rows."""
        for queue, words in zip(self.incoming, self._written, strict=True):
            capacity, start, stop = int(queue[CAPACITY]), int(queue[RELEASED]), int(queue[READ_POSITION])
            words[np.arange(start, stop) & (capacity - 1)] = POISON

    def deliver(self, found: int) -> None:
        """Hand the first `found` messages of the inbox, which were taken in, to the channels' targets."""
        channels = self.channels
        messages = _MESSAGE(self._inbox_bytes[: found * 8 * INBOX_WORDS])
        for queue, number, rows, _, stamp, offset, stride, end in messages:
            channel = channels.get(number)
            if channel is not None:  # a signal may come late; nothing that is counted can
                channel.deliver(queue, rows, stamp, offset, stride, end)

    def set_more_stamp(self, coordinates: tuple[int, ...]) -> None:
        """Give what is sent next these time coordinates behind the first one; () for none."""
        unused = MORE_STAMP_WORDS - len(coordinates)
        self.outgoing[:, MORE_STAMP : MORE_STAMP + MORE_STAMP_WORDS] = [*coordinates, *[0] * unused]

    def broadcast(
        self,
        copy: Callable[..., bool],
        columns: tuple[np.ndarray, ...],
        start: int,
        stop: int,
        channel: int,
        stamp: int,
    ) -> int:
        """Copy rows with the kernel `copy` to the queue of every worker that there still is, or to none (-1)."""
        words = message_words(stop - start, len(columns))
        if not all(has_room(queue, words) for queue in self.living):
            return -1
        for worker in range(len(self.living)):
            copy(columns, start, stop, self.outgoing, worker, channel, stamp)
        return len(self.living)

    def send_only_to(self, workers: int) -> None:
        """Send nothing more to workers but the first so many: what is broadcast leaves the others out from now on, and
        channels to come spread their rows over these. What was sent before is shown."""
        commit_all(self.outgoing)
        self.living = self.outgoing[:workers]
        self.counts = np.zeros((SCRATCH_ROWS, workers), np.int64)  # `_counts` stays, the kernels' address
        self._world.living = workers

    def commit(self) -> None:
        """Show the receivers what was sent."""
        if self.uncommitted:
            self.uncommitted = False
            commit_all(self.outgoing)

    def postponed(self, channel: Postponer, size_bytes: int) -> None:
        """A channel keeps rows because a queue was full; too many of them ask all sources to pause."""
        if channel not in self._waiting:
            self._waiting.append(channel)
            self._world.pending_channels += 1
        self._world.backlog_bytes += size_bytes
        if self._world.backlog_bytes > self.backlog_limit_bytes:
            set_flag(self.congested_flags, self._me)

    def sent_postponed(self) -> None:
        """A channel sent a piece of what it had kept."""
        self._sent += 1

    def caught_up(self, size_bytes: int) -> None:
        """A channel sent rows that it had kept."""
        self._world.backlog_bytes -= size_bytes
        if self._world.backlog_bytes <= self.backlog_limit_bytes // 2:
            clear_flag(self.congested_flags, self._me)

    def retry(self) -> bool:
        """Try to send what waits; True if something was sent."""
        if not self._waiting:
            return False
        before = self._sent
        self._waiting = [channel for channel in self._waiting if not channel.retry()]
        self._world.pending_channels = len(self._waiting)
        self.commit()
        return self._sent != before

    @property
    def waiting(self) -> bool:
        """Whether rows wait for room in a queue."""
        return bool(self._waiting) or self._world.pending_edges > 0

    @property
    def backlog_bytes(self) -> int:
        """How much of this worker's rows waits for room."""
        return self._world.backlog_bytes

    @property
    def is_overfull(self) -> bool:
        """Whether more of this worker's rows than the limit wait for room."""
        return self._world.backlog_bytes > self.backlog_limit_bytes

    @property
    def stops_sources(self) -> bool:
        """Whether on some worker more than the limit waits, or memory is short: sources that do not look are not run
        then."""
        return bool(any_set(self.congested_flags, self._flags))

    @property
    def memory_is_short(self) -> bool:
        """Whether the launcher asks sources to pause: the group is near its budget of memory."""
        return bool(next_set(self.congested_flags, self._flags, self._flags - 1) >= 0)

    @property
    def congested(self) -> bool:
        """Whether some worker has more waiting than the limit, or memory is short: sources should pause."""
        return self.waiting or any_set(self.congested_flags, self._flags)
