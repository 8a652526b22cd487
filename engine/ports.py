"""Ports of a running operator: inputs to take messages from, outputs to send on with a token."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from engine.batch import Batch
from engine.burst import OWN_TIMES, Burst, is_ascending, messages_of
from engine.change_batch import CHANGE_BYTES, ChangeLog, pack_change
from engine.errors import (
    DroppedTokenError,
    ExpiredReferenceError,
    SchemaError,
    TimeRegressionError,
    TokenError,
    WrongOutputError,
)
from engine.schema import Schema
from engine.session import Session
from engine.timestamp import MAX_TIME, PathSummary, Time, as_time, less_equal, representable
from engine.tokens import Token, TokenRef
from engine.tracker import Tracker

if TYPE_CHECKING:
    from engine.channel import Channel, RelayChannel
    from engine.operator import RunningOperator
    from engine.stage_run import StageRun


class InputPort:
    """One input of a running operator. Iterate over it for (token reference, batch) pairs; ask it for its frontier."""

    __slots__ = (
        "_frontier_word",
        "_tracker",
        "_whole_bursts",
        "current",
        "depth",
        "index",
        "location",
        "log",
        "operator",
        "queue",
        "schema",
        "summaries",
    )

    def __init__(
        self,
        operator: "RunningOperator",
        index: int,
        location: int,
        schema: Schema,
        depth: int,
        tracker: Tracker,
        log: ChangeLog,
    ) -> None:
        self.operator = operator
        self.index = index
        self.location = location
        self.depth = depth
        self.schema = schema
        self.log = log
        # Time (or Burst), batch, whether it is a view into a queue.
        self.queue: deque[tuple[Any, Batch, bool]] = deque()
        self._whole_bursts = False
        self.summaries: list[PathSummary | None] = []
        self._tracker = tracker
        self._frontier_word = tracker.frontier_word(location)
        self.current: TokenRef | None = None  # the reference of the message at hand

    @property
    def frontier(self) -> Time:
        """The least time that may still arrive here, as an integer; COMPLETE if none. A time t is finished once t <
        frontier.
        """
        frontier = self._tracker.location_view[self._frontier_word]
        return frontier if frontier >= 0 else self._tracker.frontier(self.location)

    def finished(self, time: Any) -> bool:
        """Whether no message at `time`, or at one that could result in it, can arrive here any more."""
        return bool(time < self.frontier)

    def __iter__(self) -> Iterator[tuple[TokenRef, Batch]]:
        return self

    def __next__(self) -> tuple[TokenRef, Batch]:
        """Take the next message; the reference of the one before expires."""
        current = self.current
        if current is not None:
            current._live = False
            self.current = None
        elif not self.operator.is_running:
            raise ExpiredReferenceError(f"{self.describe()} can be read only while its operator runs")
        queue = self.queue
        if not queue:
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
        self.current = reference = TokenRef(self, time)
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
        for time, batch, _ in self.queue:
            for at, rows in messages_of(time, batch):
                waiting.setdefault(at, []).append(rows)
                messages += 1
        if len(waiting) < messages or messages > len(self.queue):
            self.queue.clear()
            self.queue.extend([(time, Batch.concatenate(batches), True) for time, batches in waiting.items()])
            for time, batches in waiting.items():
                self.log.add(self.location, time, 1 - len(batches))
        return self

    def end_call(self) -> None:
        """The operator's call is over: its last reference expires, and what it left waiting is copied, since queue
        bytes are reused.
        """
        if self.current is not None:
            self.current._live = False
            self.current = None
        for position, (time, batch, view) in enumerate(self.queue):
            if view:
                self.queue[position] = (time.copy() if time.__class__ is Burst else time, batch.copy(), False)

    def reach(self, output: int) -> tuple["OutputPort", PathSummary]:
        """The output port of that number and the summary of the way there; WrongOutputError if there is no path."""
        outputs = self.operator.outputs
        if not 0 <= output < len(outputs):
            raise WrongOutputError(
                f"{self.describe()} cannot retain a token for output {output}: the operator has {len(outputs)} "
                f"output(s)"
            )
        summary = self.summaries[output]
        if summary is None:
            raise WrongOutputError(
                f"{self.describe()} has no path to output {output}, so its messages give no token for it"
            )
        return outputs[output], summary

    def describe(self) -> str:
        """Operator, input and worker, for messages."""
        return f"operator {self.operator.name!r} input {self.index} on worker {self.operator.worker.index}"


class OutputPort:
    """One output of a running operator: send with `session(token)`, or `give(token, batch)` for a single batch."""

    __slots__ = ("channels", "depth", "held", "index", "location", "log", "operator", "same_time_inputs", "schema")

    def __init__(
        self, operator: "RunningOperator", index: int, location: int, schema: Schema, depth: int, log: ChangeLog
    ) -> None:
        self.operator = operator
        self.index = index
        self.location = location
        self.depth = depth
        self.schema = schema
        self.log = log
        self.held = 0
        self.channels: list[Channel | RelayChannel | StageRun] = []
        self.same_time_inputs: tuple[Any, ...] = ()
        """The inputs whose messages may be answered here at their own time."""

    def session(self, right: Token | TokenRef, time: Any = None) -> Session:
        """A context manager that sends with the right of a token, or of a message's token reference, at its time or
        later.
        """
        return Session(self, right, time)

    def give(self, right: Token | TokenRef, batch: Batch | Mapping[str, Any], time: Any = None) -> None:
        """Send one batch, or a mapping of column names to arrays: a session of one."""
        if not isinstance(batch, Batch):
            batch = Batch(self.schema, batch)
        kind = right.__class__
        if time is None and kind is Token and right._live and right._port is self:  # type: ignore[union-attr]
            time = right._time  # the two common cases, without a call
        elif time is None and kind is TokenRef and right._live and right._input in self.same_time_inputs:  # type: ignore[union-attr]
            time = right._time
        else:
            time = self.allowed(right, time)
        self.push(time, batch)

    def give_each(self, right: Token | TokenRef, batch: Batch, keys: np.ndarray, timed: bool = True) -> None:
        """Send a message for each distinct value of `keys`, int64 (rows,), ascending, in one call: at that value as
        time, or all at the right's own where not `timed`. To whom they come, and to progress, they are messages like
        any others. Raises TokenErrors as `give` does, and for keys that do not fit.
        """
        least = self.allowed(right, None)
        if batch.rows:
            if self.depth > 1 or len(keys) != batch.rows or keys.dtype != np.int64 or not is_ascending(keys):
                raise TokenError(
                    f"{self.describe()}: give_each needs a key for each row, int64 and ascending, and integer times: "
                    f"sort the rows by their times first; in a loop use give"
                )
            if timed:
                self.later(least, int(keys[0]), "token")
                self.later(least, int(keys[-1]), "token")
            self._require_schema(batch)
            burst = Burst(keys, OWN_TIMES if timed else least)
            for channel in self.channels:
                channel.push_each(burst, batch)

    def allowed(self, right: Token | TokenRef, time: Any) -> Any:
        """The time at which `right` lets this output send, at `time` if that is given and late enough; raises
        TokenErrors.
        """
        if right.__class__ is Token:
            if right._port is not self:
                raise WrongOutputError(f"{self.describe()} cannot send with a token of {right._port.describe()}")
            if not right._live:
                raise DroppedTokenError(
                    f"{self.describe()} cannot send with a token that was dropped (it was at time {right._time}); drop "
                    f"it after the last use, or retain() another"
                )
            least = right._time
        elif right.__class__ is TokenRef:
            if not right._live:
                right.refuse()
            source: Any = right._input
            if source.operator is not self.operator:
                raise WrongOutputError(f"{self.describe()} cannot send with a reference of {source.describe()}")
            least = source.reach(self.index)[1].results_in(right._time)
            if least is None:
                raise TimeRegressionError(
                    f"{self.describe()} cannot answer a message at {right._time}: the result would be beyond the last "
                    f"representable time {MAX_TIME}"
                )
        else:
            raise TokenError(
                f"{self.describe()} cannot send without a token: pass a Token, or the TokenRef of the message at "
                f"hand, not {right!r}"
            )
        return least if time is None else self.later(least, time, "token")

    def later(self, least: Any, time: Any, holder: str) -> Any:
        """`time` as a time of this scope, if a `holder` ("token", "session") at `least` may send at it; raises
        TokenErrors.
        """
        try:
            time = as_time(time, self.depth)
        except TypeError as error:
            raise TokenError(f"{self.describe()}: {error}") from None
        if not less_equal(least, time) or not representable(time):
            raise TimeRegressionError(
                f"{self.describe()}: a {holder} at {least} cannot send at {time}; "
                + (f"times go up to {MAX_TIME}" if less_equal(least, time) else "keep a token that is early enough")
            )
        return time

    def push(self, time: Any, batch: Batch) -> None:
        """Hand a batch to the channels (after the right to send was checked)."""
        if batch.schema is not self.schema:
            self._require_schema(batch)
        if batch.rows:
            for channel in self.channels:
                channel.push(time, batch)

    def _require_schema(self, batch: Batch) -> None:
        if batch.schema != self.schema:
            raise SchemaError(f"{self.describe()} carries {self.schema!r}, not {batch.schema!r}")

    def lost(self, token: Token) -> None:
        """Release a token that was garbage-collected while live, and report it."""
        token._live = False
        self.held -= 1
        self.operator.worker.lost.add(token, self.location, self.describe())

    def describe(self) -> str:
        """Operator, output and worker, for messages."""
        return f"operator {self.operator.name!r} output {self.index} on worker {self.operator.worker.index}"
