"""Ports of a running operator: inputs to take messages from, outputs to send on with a token."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.batch import Batch
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
        self.queue: deque[tuple[Any, Batch, bool]] = deque()  # time, batch, whether it is a view into a queue
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
        time, batch, _ = queue.popleft()
        log = self.log
        if time.__class__ is int:
            offset = log.offset
            pack_change(log.buffer, offset, self.location, -1, time)
            log.offset = offset = offset + CHANGE_BYTES
            if offset >= log.limit:
                log.make_room()
        else:
            log.add(self.location, time, -1)
        self.current = reference = TokenRef(self, time)
        return reference, batch

    def by_time(self) -> Iterator[tuple[TokenRef, Batch]]:
        """Take all waiting messages, those of one time as one batch: (token reference, batch) pairs in order of first
        arrival. For operators that answer each message with one: around a loop, ever smaller pieces would add up.
        """
        waiting: dict[Any, list[Batch]] = {}
        for time, batch, _ in self.queue:
            waiting.setdefault(time, []).append(batch)
        if len(waiting) < len(self.queue):
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
                self.queue[position] = (time, batch.copy(), False)

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


class Session:
    """Sends batches at one time, or later ones, while its token is pinned. To be used once, in a `with` block."""

    __slots__ = ("_open", "_port", "_right", "_time")

    def __init__(self, port: "OutputPort", right: Token | TokenRef, time: Any) -> None:
        self._port = port
        self._right: Token | TokenRef | None = right
        self._time: Any = time
        self._open = False

    def __enter__(self) -> "Session":
        right = self._right
        if right is None or self._open:
            raise TokenError(f"{self._port.describe()}: a session is entered once; ask the output for another")
        self._time = self._port.allowed(right, self._time)
        if right.__class__ is Token:
            right._pins += 1
        self._open = True
        return self

    def give(self, batch: Batch | Mapping[str, Any], time: Any = None) -> None:
        """Send rows at the session's time, or at a later `time`. The arrays must not change afterwards."""
        port = self._port
        right = self._right
        if not self._open or right is None:
            raise TokenError(f"{port.describe()}: a session sends only inside its `with` block")
        if not right._live:
            right.refuse()  # type: ignore[union-attr]  # tokens are pinned; only a reference can have expired
        time = self._time if time is None else port.later(self._time, time, "session")
        port.push(time, batch if isinstance(batch, Batch) else Batch(port.schema, batch))

    def __exit__(self, *_: object) -> None:
        if self._right.__class__ is Token:
            self._right._pins -= 1
        self._right = None
        self._open = False

    def __reduce__(self) -> str:
        raise TokenError(f"a session of {self._port.describe()} cannot be copied; ask the output for another")


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
        if batch.schema is not self.schema and batch.schema != self.schema:
            raise SchemaError(f"{self.describe()} carries {self.schema!r}, not {batch.schema!r}")
        if batch.rows:
            for channel in self.channels:
                channel.push(time, batch)

    def lost(self, token: Token) -> None:
        """Release a token that was garbage-collected while live, and report it."""
        token._live = False
        self.held -= 1
        self.operator.worker.lost.add(token, self.location, self.describe())

    def describe(self) -> str:
        """Operator, output and worker, for messages."""
        return f"operator {self.operator.name!r} output {self.index} on worker {self.operator.worker.index}"
