"""Channels: the runtime of an edge. Within a worker a push is counted and handed on by reference."""

from typing import TYPE_CHECKING, Any

from tokenring.engine.columns import Batch
from tokenring.engine.data.burst import Burst
from tokenring.engine.data.input_port import NO_MESSAGES, InputPort
from tokenring.engine.data.output_port import OutputPort
from tokenring.engine.graph import Broadcast, Exchange, Pact, Route
from tokenring.engine.progress import CHANGE_BYTES, ChangeLog, pack_change
from tokenring.engine.times import PathSummary

if TYPE_CHECKING:
    from tokenring.engine.worker.worker import Worker


class Channel:
    """An edge within a worker: batches pass by reference."""

    __slots__ = ("log", "schedule", "target")

    def __init__(self, worker: "Worker", target: InputPort) -> None:
        self.schedule = worker.schedule
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
        if target.queue is NO_MESSAGES:
            target.first((time, batch, True))
        else:
            target.queue.append((time, batch, True))  # it may be a view that came in through another channel
        self.schedule.make_due(target.operator)

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Count all messages of a burst and hand them over as one entry."""
        target = self.target
        burst.log_each(self.log, target.location, 1)
        if target.queue is NO_MESSAGES:
            target.first((burst, batch, True))
        else:
            target.queue.append((burst, batch, True))
        self.schedule.make_due(target.operator)


class SelectChannel(Channel):
    """An edge within a worker that passes only some columns (an exchange on a group of one)."""

    def __init__(self, worker: "Worker", target: InputPort) -> None:
        super().__init__(worker, target)
        self._schema = target.schema

    def push(self, time: Any, batch: Batch) -> None:
        """Hand over the selected columns."""
        super().push(time, batch.select(self._schema))

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Hand over the selected columns."""
        super().push_each(burst, batch.select(self._schema))


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

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Hand over one message after the other: across the border their times are other ones."""
        for time, rows in burst.messages(batch):
            self.push(time, rows)


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


def needs_queues(pact: Pact, workers: int) -> bool:
    """Whether an edge with this pact crosses workers."""
    return workers > 1 and isinstance(pact, Exchange | Broadcast | Route)
