"""Channels: the runtime of an edge. A push is counted, handed on by reference or exchanged, or kept until a full queue
drains.
"""

from collections import deque
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.batch import Batch
from engine.change_batch import CHANGE_BYTES, ChangeLog, pack_change
from engine.errors import ConfigError
from engine.pact import Broadcast, Exchange, Pact
from engine.ports import InputPort, OutputPort
from engine.schema import Schema
from engine.timestamp import PathSummary
from shm.data_queue import HEADER_WORDS, PAD, STAMP, partition_for, send_for

if TYPE_CHECKING:
    from engine.data_plane import DataPlane
    from engine.worker import Worker


class Channel:
    """An edge within a worker: batches pass by reference."""

    def __init__(self, worker: "Worker", target: InputPort) -> None:
        self.worker = worker
        self.target = target
        self.log: ChangeLog = worker.log

    def push(self, time: Any, batch: Batch) -> None:
        """Count a message in flight and hand it over."""
        target = self.target
        log = self.log
        if time.__class__ is int:
            offset = log.offset
            pack_change(log.buffer, offset, target.location, 1, time)
            log.offset = offset = offset + CHANGE_BYTES
            if offset >= log.limit:
                log.make_room()
        else:
            log.add(target.location, time, 1)
        target.queue.append((time, batch, True))  # it may be a view that came in through another channel
        self.worker.schedule(target.operator)


class SelectChannel(Channel):
    """An edge within a worker that passes only some columns (an exchange on a group of one)."""

    def __init__(self, worker: "Worker", target: InputPort) -> None:
        super().__init__(worker, target)
        self._schema = target.schema

    def push(self, time: Any, batch: Batch) -> None:
        """Hand over the selected columns."""
        super().push(time, batch.select(self._schema))


class RelayChannel:
    """An edge across a scope's border: it changes the time and hands on at once to all who listen."""

    def __init__(self, summary: PathSummary, output: OutputPort) -> None:
        self._summary = summary
        self._channels = output.channels

    def push(self, time: Any, batch: Batch) -> None:
        """Hand over at the resulting time; where there is none (a counter would overflow), nothing results."""
        time = self._summary.results_in(time)
        if time is not None:
            for channel in self._channels:
                channel.push(time, batch)


class FeedbackChannel(RelayChannel):
    """An edge around a loop. What it carries is handed on when the operator's call is over: an operator that feeds
    itself would else never end its call.
    """

    def __init__(self, summary: PathSummary, output: OutputPort, going_round: list[tuple[Any, Any, Batch]]) -> None:
        super().__init__(summary, output)
        self._going_round = going_round

    def push(self, time: Any, batch: Batch) -> None:
        """Keep it until the call is over; it is counted before progress is next exchanged."""
        self._going_round.append((super().push, time, batch))


class RemoteChannel(Channel):
    """An edge between workers: rows go through the data queues, all of them or none; what does not fit waits in
    `pending`.

    A batch that waits holds a token at the source it comes from, as its sender did. Counting it as a message at the
    target would be unsafe: its pieces are sent before they are counted, and a receiver's consumption of the first,
    published before the sender's count, would cancel the wait while the other pieces are still to come (SAFETY.md, A7:
    support must be strictly earlier).
    """

    def __init__(
        self,
        worker: "Worker",
        origin: OutputPort,
        carried: Schema,
        target: InputPort,
        plane: "DataPlane",
        pact: Pact,
    ) -> None:
        super().__init__(worker, target)
        self._plane = plane
        self.source_location = origin.location
        self.number = plane.add_channel(self)
        schema = target.schema
        self._schema = schema
        self._select = tuple(carried.position(name) for name in schema.names)
        self._key = schema.position(pact.key) if isinstance(pact, Exchange) else -1
        self._broadcast = isinstance(pact, Broadcast)
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
        self.pending: deque[tuple[Any, tuple[np.ndarray, ...], int, int]] = deque()

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
        start = 0
        while start < rows:
            stop = min(rows, start + self._rows_limit)
            sent = -1 if self.pending else self._send(columns, start, stop, time)
            if sent < 0:
                self._postpone(columns, start, rows, time)
                return
            self._count(time, sent)
            start = stop

    def _count(self, time: Any, messages: int) -> None:
        log = self.log
        if time.__class__ is not int:
            log.add(self.target.location, time, messages)
            return
        offset = log.offset
        pack_change(log.buffer, offset, self.target.location, messages, time)
        log.offset = offset = offset + CHANGE_BYTES
        if offset >= log.limit:
            log.make_room()

    def _send(self, columns: tuple[np.ndarray, ...], start: int, stop: int, time: Any) -> int:
        plane = self._plane
        plane.uncommitted = True
        if time.__class__ is not int:
            plane.set_more_stamp(time[1:])
            sent = self._send(columns, start, stop, time[0])
            plane.set_more_stamp(())
            return sent
        if self._broadcast:
            return plane.broadcast(self._copy, columns, start, stop, self.number, time)
        sent = self._partition(
            columns, self._key, start, stop, plane.outgoing, plane.routes, plane.counts, self.number, time
        )
        return int(sent)

    def _postpone(self, columns: tuple[np.ndarray, ...], start: int, stop: int, time: Any) -> None:
        """Keep rows that did not fit, with a token of their own."""
        kept = tuple([column[start:stop].copy() for column in columns])
        self.pending.append((time, kept, 0, stop - start))
        self.log.add(self.source_location, time, 1)
        self._plane.postponed(self, (stop - start) * len(columns) * 8)

    def retry(self) -> bool:
        """Send what is pending, in order, as far as it goes; True if nothing is left."""
        while self.pending:
            time, columns, start, rows = self.pending[0]
            while start < rows:
                stop = min(rows, start + self._rows_limit)
                sent = self._send(columns, start, stop, time)
                if sent < 0:
                    self.pending[0] = (time, columns, start, rows)
                    return False
                self._count(time, sent)
                self._plane.sent_postponed()
                start = stop
            self.pending.popleft()
            self.log.add(self.source_location, time, -1)
            self._plane.caught_up(rows * len(columns) * 8)
        return True

    def deliver(self, queue: int, rows: int, time: Any, offset: int, stride: int) -> None:
        """A message arrived: hand its columns, as views, to the target."""
        target = self.target
        words = self._plane.words[queue]
        if target.depth > 1:
            more = offset - HEADER_WORDS + STAMP + 1
            time = (time, *words[more : more + target.depth - 1].tolist())
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
        target.queue.append((time, Batch.wrap(self._schema, columns, rows), True))
        self.worker.schedule(target.operator)


def _power_of_two_from(value: int) -> int:
    return 1 << (value - 1).bit_length()


def needs_queues(pact: Pact, workers: int) -> bool:
    """Whether an edge with this pact crosses workers."""
    return workers > 1 and isinstance(pact, Exchange | Broadcast)
