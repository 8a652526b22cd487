"""Edges: what an output hands its batches to. Within a worker a push is counted and handed on by reference."""

from typing import Any, Protocol

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.data.burst import Burst
from tokenring.engine.data.inbox import NO_MESSAGES, Inbox
from tokenring.engine.graph import Broadcast, Exchange, Pact, Route
from tokenring.engine.native import BEYOND_LOOP, what_is_wrong
from tokenring.engine.progress import CHANGE_BYTES, ChangeLog, pack_change
from tokenring.engine.times import PathSummary


class Edge(Protocol):
    """A way from an output: a channel, the stages before one, or the border of a scope."""

    def push(self, time: Any, batch: Batch) -> None:
        """Take a message on."""

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Take all messages of a burst on."""


class Channel:
    """An edge within a worker: batches pass by reference."""

    __slots__ = ("inbox", "log")

    def __init__(self, log: ChangeLog, inbox: Inbox) -> None:
        self.log = log
        self.inbox = inbox

    def push(self, time: Any, batch: Batch) -> None:
        """Count a message in flight and hand it over."""
        inbox = self.inbox
        log = self.log
        if time.__class__ is int:
            offset = log.offset
            pack_change(log.buffer, offset, inbox.location, 1, time)
            log.offset = offset = offset + CHANGE_BYTES
            if offset >= log.limit:
                log.make_room()
        else:
            log.add(inbox.location, time, 1)
        queue = inbox.queue
        if queue is NO_MESSAGES:
            inbox.first((time, batch, True))
        else:
            queue.append((time, batch, True))  # it may be a view that came in through another channel
        inbox.schedule.make_due(inbox.operator)

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Count all messages of a burst and hand them over as one entry."""
        inbox = self.inbox
        burst.log_each(self.log, inbox.location, 1)
        queue = inbox.queue
        if queue is NO_MESSAGES:
            inbox.first((burst, batch, True))
        else:
            queue.append((burst, batch, True))
        inbox.schedule.make_due(inbox.operator)


class SelectChannel:
    """An edge within a worker that passes only some columns (an exchange on a group of one)."""

    __slots__ = ("onward", "schema")

    def __init__(self, onward: Edge, schema: Schema) -> None:
        self.onward = onward
        self.schema = schema

    def push(self, time: Any, batch: Batch) -> None:
        """Hand over the selected columns."""
        self.onward.push(time, batch.select(self.schema))

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Hand over the selected columns."""
        self.onward.push_each(burst, batch.select(self.schema))


class RelayChannel:
    """An edge across a scope's border: it changes the time and hands on at once to all who listen."""

    __slots__ = ("channels", "location", "summary")

    def __init__(self, summary: PathSummary, channels: list[Edge], location: int) -> None:
        """location: that of its output, whose channels these are."""
        self.summary = summary
        self.channels = channels
        self.location = location

    def push(self, time: Any, batch: Batch) -> None:
        """Hand over at the resulting time."""
        self.hand_on(self.crossed(time), batch)

    def crossed(self, time: Any) -> Any:
        """The resulting time; TimeRegressionError where there is none, since a counter would overflow."""
        result = self.summary.results_in(time)
        if result is None:
            raise what_is_wrong(BEYOND_LOOP, (time, 0, 0))
        return result

    def hand_on(self, time: Any, batch: Batch) -> None:
        """Hand over at a time that has resulted."""
        for channel in self.channels:
            channel.push(time, batch)

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Hand over one message after the other: across the border their times are other ones."""
        for time, rows in burst.messages(batch):
            self.push(time, rows)


class FeedbackChannel:
    """An edge around a loop. What it carries is handed on when the operator's call is over: an operator that feeds
    itself would else never end its call.
    """

    __slots__ = ("_going_round", "onward")

    def __init__(self, onward: RelayChannel, going_round: list[tuple[Any, Any, Batch]]) -> None:
        self.onward = onward
        self._going_round = going_round

    def push(self, time: Any, batch: Batch) -> None:
        """Keep it until the call is over; it is counted before progress is next exchanged."""
        self._going_round.append((self.onward.hand_on, self.onward.crossed(time), batch))

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Keep one message after the other."""
        for time, rows in burst.messages(batch):
            self.push(time, rows)


def needs_queues(pact: Pact, workers: int) -> bool:
    """Whether an edge with this pact crosses workers."""
    return workers > 1 and isinstance(pact, Exchange | Broadcast | Route)
