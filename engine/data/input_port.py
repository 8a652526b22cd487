"""Inputs of a running operator: messages to take, and the frontier of what may still come; in nested scopes, too."""

from collections.abc import Iterator
from threading import get_ident
from typing import Any

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.data.burst import Burst, messages_of
from tokenring.engine.data.inbox import Inbox
from tokenring.engine.data.output_port import OutputPort
from tokenring.engine.errors import ExpiredReferenceError, WrongOutputError
from tokenring.engine.progress import CHANGE_BYTES, GONE, pack_change
from tokenring.engine.times import Antichain, PathSummary, Time, as_time, less_equal
from tokenring.engine.tokens import TokenRef, refuse_thread

_new_tuple = tuple.__new__


class InputPort:
    """One input of a running operator. Iterate over it for (token reference, batch) pairs; ask it for its frontier."""

    __slots__ = (
        "_frontier_word",
        "_tables",
        "_tracker",
        "_whole_bursts",
        "current",
        "depth",
        "inbox",
        "index",
        "location",
        "log",
        "operator",
        "schema",
        "thread",
    )

    def __init__(self, index: int, inbox: Inbox, schema: Schema, depth: int) -> None:
        self.operator = inbox.operator
        self.index = index
        self.inbox = inbox
        self.location = inbox.location
        self.depth = depth
        self.schema = schema
        runtime = inbox.operator.runtime
        self.log = runtime.log
        self._whole_bursts = False
        self.thread = runtime.thread
        self._tracker, self._tables = runtime.tracker, runtime.tracker.tables
        self._frontier_word = runtime.tracker.frontier_word(inbox.location)
        self.current: TokenRef | None = None  # the reference of the message at hand: the only one that is good

    def finish(self) -> None:
        """Its dataflow is finished, and the location may become another's (done by the engine)."""
        self.location = GONE
        self._frontier_word = self._tracker.frontier_word(GONE)

    @property
    def frontier(self) -> Time:
        """The least time that may still arrive here, as an integer; COMPLETE if none. A time t is finished once t <
        frontier.
        """
        frontier = self._tables.location_view[self._frontier_word]
        return frontier if frontier >= 0 else self._tracker.frontier(self.location)

    def finished(self, time: Any) -> bool:
        """Whether no message at `time`, or at one that could result in it, can arrive here any more."""
        return bool(time < self.frontier)

    def __iter__(self) -> Iterator[tuple[TokenRef, Batch]]:
        return self

    def __next__(self) -> tuple[TokenRef, Batch]:
        """Take the next message; the reference of the one before expires."""
        if self.current is None and not self.operator.is_running:
            raise ExpiredReferenceError(f"{self.describe()} can be read only while its operator runs")
        if get_ident() != self.thread:
            refuse_thread("read", self.describe())
        queue = self.inbox.queue
        if not queue:
            self.current = None
            raise StopIteration
        time, batch, view = queue.popleft()
        log = self.log
        if time.__class__ is int:
            offset = log.offset
            pack_change(log.buffer, offset, self.location, -1, time)
            log.offset = offset = offset + CHANGE_BYTES
            if offset >= log.limit:
                log.make_room()
        elif time.__class__ is Burst:
            if not self._whole_bursts:
                queue.extendleft(reversed([(at, rows, view) for at, rows in time.messages(batch)]))
                return self.__next__()
            time.log_each(log, self.location, -1)
            time = time.least
        else:
            log.add(self.location, time, -1)
        self.current = reference = _new_tuple(TokenRef, (self, time))
        return reference, batch

    def in_bursts(self) -> "InputPort":
        """From now on take what was sent in one call (`OutputPort.give_each`) in one turn, as one batch: all its
        messages are consumed, and the reference is that of the earliest. For operators that know rows' times from a
        column; others get each message by itself.
        """
        self._whole_bursts = True
        return self

    def by_time(self) -> Iterator[tuple[TokenRef, Batch]]:
        """Take all waiting messages, those of one time as one batch: (token reference, batch) pairs in order of first
        arrival. For operators that answer each message with one: around a loop, ever smaller pieces would add up.
        """
        waiting: dict[Any, list[Batch]] = {}
        messages = 0
        queue = self.inbox.queue
        for time, batch, _ in queue:
            for at, rows in messages_of(time, batch):
                waiting.setdefault(at, []).append(rows)
                messages += 1
        if len(waiting) < messages or messages > len(queue):
            queue.clear()
            queue.extend([(time, Batch.concatenate(batches), True) for time, batches in waiting.items()])
            for time, batches in waiting.items():
                self.log.add(self.location, time, 1 - len(batches))
        return self

    def end_call(self) -> None:
        """The operator's call is over: its last reference expires, and what it left waiting is copied, since queue
        bytes are reused.
        """
        self.current = None
        queue = self.inbox.queue
        for position, (time, batch, view) in enumerate(queue):
            if view:
                queue[position] = (time.copy() if time.__class__ is Burst else time, batch.copy(), False)

    def reach(self, output: int) -> tuple[OutputPort, PathSummary]:
        """The output port of that number and the summary of the way there; WrongOutputError if there is no path."""
        outputs = self.operator.outputs
        try:
            port = outputs[output] if output >= 0 else None
        except (IndexError, TypeError):
            port = None
        if port is None:
            raise WrongOutputError(
                f"{self.describe()} cannot retain a token for output {output!r}: the operator has {len(outputs)} "
                f"output(s), by their numbers from 0"
            )
        paths = self.operator.paths
        summary = paths.usual if paths.is_plain else paths.summary(self.index, output)
        if summary is None:
            raise WrongOutputError(
                f"{self.describe()} has no path to output {output}, so its messages give no token for it"
            )
        return port, summary

    def describe(self) -> str:
        """Operator, input and worker, for messages."""
        return f"operator {self.operator.name!r} input {self.index} on worker {self.operator.runtime.index}"


class NestedInputPort(InputPort):
    """An input in a nested scope: its times are tuples, its frontier is an antichain of them."""

    __slots__ = ()

    @property
    def frontier(self) -> Antichain[Any]:  # type: ignore[override]
        """The least times that may still arrive here; empty if none. A time t is finished once no element is less or
        equal.
        """
        return Antichain.of_incomparable(self._tracker.nested_frontier(self.location), less_equal)

    def finished(self, time: Any) -> bool:
        """Whether no message at `time`, or at one that could result in it, can arrive here any more.
        TypeError for what is no time of this scope.
        """
        if time.__class__ is not tuple or len(time) != self.depth:
            as_time(time, self.depth)
        return not any(less_equal(element, time) for element in self._tracker.nested_frontier(self.location))
