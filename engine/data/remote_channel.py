"""Channels between workers: a push is exchanged and counted, or kept until a full queue drains."""

from collections import deque
from typing import Any, Protocol

import numpy as np

from tokenring.engine.columns import Batch, Heaps, Schema
from tokenring.engine.data.burst import Burst
from tokenring.engine.data.inbox import NO_MESSAGES, Inbox
from tokenring.engine.data.plane import DataPlane
from tokenring.engine.data.runtime import Runtime
from tokenring.engine.progress import CHANGE_BYTES, pack_change
from tokenring.engine.texts import heap_of_words
from tokenring.shm.queues import HEADER_WORDS, PAD, STAMP, partition_for

BURST_COLUMNS = 8  # of the exchange kernels that are compiled ahead (engine/group/warm_up.py); wider bursts are split
Rows = Any
"""What a carrier keeps of a batch to send pieces of it."""


class Carrier(Protocol):
    """How the rows of an edge are written into the queues."""

    key: int
    """The column of whole words to route by; -1 if there is none."""
    whole_rows: int
    """So many rows always fit into one message; -1 if that depends on the rows."""

    def prepared(self, batch: Batch) -> Rows:
        """What is to be written of a batch."""

    def piece(self, columns: Rows, start: int, rows: int) -> int:
        """Where a piece of rows from `start` on ends that is one message."""

    def write(self, columns: Rows, start: int, stop: int, number: int, stamp: int) -> int:
        """Write rows into the queues of those that get them; returns how many messages, below 0 if one lacks room."""

    def is_full(self) -> bool:
        """Whether the piece that lacked room last still does, as far as is known without trying."""

    def copied(self, columns: Rows, start: int, stop: int) -> Rows:
        """The same rows in memory of their own."""

    def size_bytes(self, columns: Rows) -> int:
        """How much they are."""


class RemoteChannel:
    """An edge between workers: rows go through the data queues, all of them or none; what does not fit waits in
    `pending`.

    A batch that waits holds a token at the source it comes from, as its sender did. Counting it as a message at the
    target would be unsafe: its pieces are sent before they are counted, and a receiver's consumption of the first,
    published before the sender's count, would cancel the wait while the other pieces are still to come
    (docs/concurrency.md, A7: support must be strictly earlier).
    """

    def __init__(
        self,
        runtime: Runtime,
        origin: int,
        inbox: Inbox,
        schema: Schema,
        depth: int,
        carrier: Carrier,
    ) -> None:
        """origin: the location of the output; schema, depth: of what arrives at the inbox, and of its times."""
        self.log = runtime.log
        self.inbox = inbox
        self._plane = plane = runtime.plane
        self.carrier = carrier
        self._whole_rows = carrier.whole_rows
        self.source_location = origin
        self.number = plane.add_channel(self)
        self._schema = schema
        self._depth = depth
        self._all_int64 = schema.all_int64
        self._width = len(schema)
        self.pending: deque[tuple[Any, Rows, int, int]] = deque()
        self.bursts = BurstEnd(self, plane, schema, carrier.key)

    def push(self, time: Any, batch: Batch) -> None:
        """Exchange the rows of a batch; count the messages that were made."""
        carrier = self.carrier
        columns = carrier.prepared(batch)
        rows = batch.rows
        if rows <= self._whole_rows and time.__class__ is int and not self.pending:
            self._plane.uncommitted = True
            sent = carrier.write(columns, 0, rows, self.number, time)
            if sent >= 0:
                self._count(time, sent)
                return
        self._push_pieces(columns, rows, time)

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Exchange the rows of many messages in as few pieces as fit, and count each message. What does not fit goes
        one message after the other, as single ones do."""
        start, rows, limit = 0, batch.rows, self.bursts.rows_limit
        if limit and not self.pending:
            columns = self.carrier.prepared(batch)
            while start < rows:
                stop = min(rows, start + limit)
                if not self.bursts.send(columns, burst, start, stop):
                    break
                start = stop
        if start < rows:
            for time, left in burst.slice(start, rows).messages(batch.slice(start, rows)):
                self.push(time, left)

    def _push_pieces(self, columns: Rows, rows: int, time: Any) -> None:
        """Send rows in pieces that fit, and keep those from the first that does not."""
        start = 0
        while start < rows:
            stop = self.carrier.piece(columns, start, rows)
            sent = -1 if self.pending else self._send(columns, start, stop, time)
            if sent < 0:
                self._postpone(columns, start, rows, time)
                return
            self._count(time, sent)
            start = stop

    def _count(self, time: Any, messages: int) -> None:
        log = self.log
        if time.__class__ is not int:
            log.add(self.inbox.location, time, messages)
            return
        offset = log.offset
        pack_change(log.buffer, offset, self.inbox.location, messages, time)
        log.offset = offset = offset + CHANGE_BYTES
        if offset >= log.limit:
            log.make_room()

    def _send(self, columns: Rows, start: int, stop: int, time: Any) -> int:
        """Write rows into the queues of those that get them; returns how many messages, below 0 if one lacks room."""
        plane = self._plane
        plane.uncommitted = True
        if time.__class__ is not int:
            plane.set_more_stamp(time[1:])
            sent = self._send(columns, start, stop, time[0])
            plane.set_more_stamp(())
            return sent
        return self.carrier.write(columns, start, stop, self.number, time)

    def _postpone(self, columns: Rows, start: int, stop: int, time: Any) -> None:
        """Keep rows that did not fit, with a token of their own."""
        kept = self.carrier.copied(columns, start, stop)
        self.pending.append((time, kept, 0, stop - start))
        self.log.add(self.source_location, time, 1)
        self._plane.postponed(self, self.carrier.size_bytes(kept))

    def retry(self) -> bool:
        """Send what is pending, in order, as far as it goes; True if nothing is left."""
        while self.pending:
            if self.carrier.is_full():
                return False
            time, columns, start, rows = self.pending[0]
            while start < rows:
                stop = self.carrier.piece(columns, start, rows)
                sent = self._send(columns, start, stop, time)
                if sent < 0:
                    self.pending[0] = (time, columns, start, rows)
                    return False
                self._count(time, sent)
                self._plane.sent_postponed()
                start = stop
            self.pending.popleft()
            self.log.add(self.source_location, time, -1)
            self._plane.caught_up(self.carrier.size_bytes(columns))
        return True

    def deliver(self, queue: int, rows: int, time: Any, offset: int, stride: int, end: int) -> None:
        """A message arrived: hand its columns, as views, to the target."""
        words = self._plane.words[queue]
        if self._depth > 1:
            more = offset - HEADER_WORDS + STAMP + 1
            time = (time, *words[more : more + self._depth - 1].tolist())
        self.take_in(words, rows, time, offset, stride, end)

    def take_in(self, words: np.ndarray, rows: int, time: Any, offset: int, stride: int, end: int) -> None:
        """Hand on the columns that begin at `offset` of a queue's words; `time` may be a burst."""
        if self._all_int64:
            columns = tuple([words[at : at + rows] for at in range(offset, offset + stride * self._width, stride)])
        else:
            columns = tuple(
                [
                    words[at : at + rows].view(dtype)
                    for at, dtype in zip(
                        range(offset, offset + stride * self._width, stride), self._schema.dtypes, strict=True
                    )
                ]
            )
        heaps: Heaps = ()
        if self._schema.has_text:
            heap = words[offset + stride * self._width : end].view(np.uint8)
            if not len(heap):
                heap = heap_of_words()
            heaps = tuple([heap if kind.is_text else None for kind in self._schema.kinds])
        batch = Batch.wrap(self._schema, columns, rows, heaps)
        batch.lend(self._plane.lent)
        inbox = self.inbox
        waiting = inbox.queue
        if waiting is NO_MESSAGES:
            inbox.first((time, batch, True))
        else:
            waiting.append((time, batch, True))
        inbox.schedule.make_due(inbox.operator)


class BurstEnd:
    """Where the bursts of a channel leave and arrive: they travel as one message of the queue, with their keys as one
    more column, under a number of their own."""

    def __init__(self, channel: RemoteChannel, plane: DataPlane, schema: Schema, key: int) -> None:
        self.channel = channel
        self._plane = plane
        self.number = plane.add_channel(self)
        self._width = len(schema)
        self._receivers, self._counts = plane.living, plane.counts
        width = len(schema) + 1
        self.rows_limit = (plane.message_limit_words - HEADER_WORDS) // width // PAD * PAD
        """Rows of a piece; 0 where bursts do not travel as such."""
        self._key = key
        if width > BURST_COLUMNS or key < 0:
            self.rows_limit = 0
        else:
            self._partition = partition_for(width)

    def send(self, columns: Rows, burst: Burst, start: int, stop: int) -> bool:
        """Write rows start..stop into the queues of those that get them and count their messages; False, and nothing
        done, if one lacks room."""
        plane = self._plane
        plane.uncommitted = True
        keys = burst.keys
        sent = self._partition(
            (*columns, keys), self._key, start, stop,
            self._receivers, plane.routes, self._counts, self.number, burst.time,
        )  # fmt: skip
        if sent < 0:
            return False
        channel = self.channel
        burst.slice(start, stop).log_routed(channel.log, channel.inbox.location, plane.routes, self._counts[0])
        return True

    def deliver(self, queue: int, rows: int, time: int, offset: int, stride: int, end: int) -> None:
        """A piece of a burst arrived."""
        channel = self.channel
        words = self._plane.words[queue]
        keys = offset + stride * self._width
        channel.take_in(words, rows, Burst(words[keys : keys + rows], time), offset, stride, end)
