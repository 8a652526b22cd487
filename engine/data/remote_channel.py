"""Channels between workers: a push is exchanged and counted, or kept until a full queue drains."""

from collections import deque
from typing import Any

import numpy as np

from tokenring.engine.columns import Batch, Heaps, Schema
from tokenring.engine.data.burst import Burst
from tokenring.engine.data.channel import Channel
from tokenring.engine.data.inbox import NO_MESSAGES
from tokenring.engine.data.input_port import InputPort
from tokenring.engine.data.plane import DataPlane
from tokenring.engine.data.runtime import Runtime
from tokenring.engine.errors import ConfigError
from tokenring.engine.graph import Broadcast, Exchange, Pact
from tokenring.engine.progress import CHANGE_BYTES, pack_change
from tokenring.shm.queues import HEADER_WORDS, PAD, STAMP, partition_for, send_for

BURST_COLUMNS = 8  # of the exchange kernels that are compiled ahead (engine/group/warm_up.py); wider bursts are split
Rows = Any
"""What a kind of channel keeps of a batch to send pieces of it: here a tuple of columns of words, all int64."""


class RemoteChannel(Channel):
    """An edge between workers: rows go through the data queues, all of them or none; what does not fit waits in
    `pending`.

    A batch that waits holds a token at the source it comes from, as its sender did. Counting it as a message at the
    target would be unsafe: its pieces are sent before they are counted, and a receiver's consumption of the first,
    published before the sender's count, would cancel the wait while the other pieces are still to come (SAFETY.md, A7:
    support must be strictly earlier).
    """

    def __init__(self, runtime: Runtime, origin: int, carried: Schema, target: InputPort, pact: Pact) -> None:
        super().__init__(runtime.log, target.inbox)
        self._plane = plane = runtime.plane
        self.source_location = origin
        self.number = plane.add_channel(self)
        self._schema = schema = target.schema
        self._depth = target.depth
        self._select = tuple(carried.position(name) for name in schema.names)
        self._key = schema.position(pact.keys[0]) if isinstance(pact, Exchange) else -1
        self.is_broadcast = isinstance(pact, Broadcast)
        self._partition = partition_for(len(schema))
        self._copy = send_for(len(schema))
        self._all_int64 = schema.all_int64
        self._width = len(schema)
        share_words = plane.message_limit_words - HEADER_WORDS
        self._rows_limit = share_words // len(schema) // PAD * PAD
        if self._rows_limit < PAD:
            raise ConfigError(
                f"{target.describe()}: messages of {len(schema)} columns do not fit queues of "
                f"{8 * 4 * plane.message_limit_words} bytes; "
                f"use queues of at least {_power_of_two_from(8 * 4 * (HEADER_WORDS + PAD * len(schema)))} bytes "
                f"(Config.queue_bytes)"
            )
        self.pending: deque[tuple[Any, Rows, int, int]] = deque()
        self._bursts = BurstEnd(self, plane, schema)

    def push(self, time: Any, batch: Batch) -> None:
        """Exchange the rows of a batch; count the messages that were made."""
        source = batch.columns
        columns = tuple([source[position] for position in self._select])
        if not self._all_int64:
            columns = tuple([column.view(np.int64) for column in columns])
        rows = batch.rows
        if rows <= self._rows_limit and not self.pending:
            sent = self._send(columns, 0, rows, time)
            if sent >= 0:
                self._count(time, sent)
                return
        self._push_pieces(columns, rows, time)

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Exchange the rows of many messages in as few pieces as fit, and count each message. What does not fit goes
        one message after the other, as single ones do."""
        source = batch.columns
        columns = tuple([source[position] for position in self._select])
        if not self._all_int64:
            columns = tuple([column.view(np.int64) for column in columns])
        start, rows = 0, batch.rows
        while start < rows and not self.pending:
            stop = min(rows, start + self._bursts.rows_limit)
            if stop == start or not self._bursts.send(columns, self._key, burst, start, stop):
                break
            start = stop
        if start < rows:
            for time, left in burst.slice(start, rows).messages(batch.slice(start, rows)):
                self.push(time, left)

    def _push_pieces(self, columns: Rows, rows: int, time: Any) -> None:
        """Send rows in pieces that fit, and keep those from the first that does not."""
        start = 0
        while start < rows:
            stop = self._piece(columns, start, rows)
            sent = -1 if self.pending else self._send(columns, start, stop, time)
            if sent < 0:
                self._postpone(columns, start, rows, time)
                return
            self._count(time, sent)
            start = stop

    def _piece(self, columns: Rows, start: int, rows: int) -> int:
        """Where a piece of rows from `start` on ends that is one message."""
        return min(rows, start + self._rows_limit)

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
        """Write rows into the queues of those that get them; returns the number of messages, -1 if one lacks room."""
        plane = self._plane
        plane.uncommitted = True
        if time.__class__ is not int:
            plane.set_more_stamp(time[1:])
            sent = self._send(columns, start, stop, time[0])
            plane.set_more_stamp(())
            return sent
        return self._write(columns, start, stop, time)

    def _write(self, columns: Rows, start: int, stop: int, stamp: int) -> int:
        plane = self._plane
        if self.is_broadcast:
            return plane.broadcast(self._copy, columns, start, stop, self.number, stamp)
        sent = self._partition(
            columns, self._key, start, stop, plane.outgoing, plane.routes, plane.counts, self.number, stamp
        )
        return int(sent)

    def _postpone(self, columns: Rows, start: int, stop: int, time: Any) -> None:
        """Keep rows that did not fit, with a token of their own."""
        kept = self._copied(columns, start, stop)
        self.pending.append((time, kept, 0, stop - start))
        self.log.add(self.source_location, time, 1)
        self._plane.postponed(self, self._size_bytes(kept))

    def _copied(self, columns: Rows, start: int, stop: int) -> Rows:
        return tuple([column[start:stop].copy() for column in columns])

    def _size_bytes(self, columns: Rows) -> int:
        return sum([column.nbytes for column in columns])

    def retry(self) -> bool:
        """Send what is pending, in order, as far as it goes; True if nothing is left."""
        while self.pending:
            time, columns, start, rows = self.pending[0]
            while start < rows:
                stop = self._piece(columns, start, rows)
                sent = self._send(columns, start, stop, time)
                if sent < 0:
                    self.pending[0] = (time, columns, start, rows)
                    return False
                self._count(time, sent)
                self._plane.sent_postponed()
                start = stop
            self.pending.popleft()
            self.log.add(self.source_location, time, -1)
            self._plane.caught_up(self._size_bytes(columns))
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

    def __init__(self, channel: RemoteChannel, plane: DataPlane, schema: Schema) -> None:
        self._channel = channel
        self._plane = plane
        self._number = plane.add_channel(self)
        self._width = len(schema)
        width = len(schema) + 1
        self.rows_limit = (plane.message_limit_words - HEADER_WORDS) // width // PAD * PAD
        """Rows of a piece; 0 where bursts do not travel as such."""
        if width > BURST_COLUMNS or channel.is_broadcast or schema.has_text:
            self.rows_limit = 0
        else:
            self._partition = partition_for(width)

    def send(self, columns: Rows, key: int, burst: Burst, start: int, stop: int) -> bool:
        """Write rows start..stop into the queues of those that get them and count their messages; False, and nothing
        done, if one lacks room."""
        plane = self._plane
        plane.uncommitted = True
        keys = burst.keys
        sent = self._partition(
            (*columns, keys), key, start, stop,
            plane.outgoing, plane.routes, plane.counts, self._number, burst.time,
        )  # fmt: skip
        if sent < 0:
            return False
        channel = self._channel
        burst.slice(start, stop).log_routed(channel.log, channel.inbox.location, plane.routes, plane.counts[0])
        return True

    def deliver(self, queue: int, rows: int, time: int, offset: int, stride: int, end: int) -> None:
        """A piece of a burst arrived."""
        channel = self._channel
        words = self._plane.words[queue]
        keys = offset + stride * self._width
        channel.take_in(words, rows, Burst(words[keys : keys + rows], time), offset, stride, end)


def _power_of_two_from(value: int) -> int:
    return 1 << (value - 1).bit_length()
