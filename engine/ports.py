"""Ports of a running operator: inputs to take messages from, outputs to send on with a token."""

from collections import deque
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from engine.batch import Batch, Schema
from engine.change_batch import CHANGE_BYTES, ChangeLog, pack_change
from engine.errors import DroppedTokenError, SchemaError, TimeRegressionError, TokenError, WrongOutputError
from engine.timestamp import PathSummary, Time
from engine.tokens import Token, TokenRef
from engine.tracker import Tracker

if TYPE_CHECKING:
    from engine.channel import Channel
    from engine.operator import RunningOperator


class InputPort:
    """One input of a running operator. Iterate over it for (token reference, batch) pairs; ask it for its frontier."""

    __slots__ = ("_outputs", "_tracker", "index", "location", "log", "operator", "queue", "schema", "summaries")

    def __init__(self, operator: "RunningOperator", index: int, location: int, schema: Schema, tracker: Tracker, log: ChangeLog) -> None:
        self.operator = operator
        self.index = index
        self.location = location
        self.schema = schema
        self.log = log
        self.queue: deque[tuple[Time, Batch, bool]] = deque()  # time, batch, whether it is a view into a queue
        self.summaries: list[PathSummary | None] = []
        self._tracker = tracker

    @property
    def frontier(self) -> Time:
        """The least time that may still arrive here, as an integer; COMPLETE if none. A time t is finished once t < frontier."""
        return self._tracker.frontier(self.location)

    def __iter__(self) -> Iterator[tuple[TokenRef, Batch]]:
        queue = self.queue
        log = self.log
        location = self.location
        while queue:
            time, batch, _ = queue.popleft()
            offset = log.offset
            pack_change(log.buffer, offset, location, -1, time)
            log.offset = offset = offset + CHANGE_BYTES
            if offset >= log.limit:
                log.make_room()
            reference = TokenRef(self, time)
            try:
                yield reference, batch
            finally:
                reference._live = False

    def keep(self) -> None:
        """Copy what the operator left waiting, since the queue's bytes are about to be reused."""
        self.queue = deque((time, batch.copy() if view else batch, False) for time, batch, view in self.queue)

    def reach(self, output: int) -> tuple["OutputPort", int]:
        """The output port of that number and the delay on the way there; WrongOutputError if there is no path."""
        outputs = self.operator.outputs
        if not 0 <= output < len(outputs):
            raise WrongOutputError(f"{self.describe()} cannot retain a token for output {output}: the operator has {len(outputs)} output(s)")
        summary = self.summaries[output]
        if summary is None:
            raise WrongOutputError(f"{self.describe()} has no path to output {output}, so its messages give no token for it")
        return outputs[output], summary.delay

    def describe(self) -> str:
        """Operator, input and worker, for messages."""
        return f"operator {self.operator.name!r} input {self.index} on worker {self.operator.worker.index}"


class Session:
    """Sends batches at one time, or later ones, while its token is pinned."""

    __slots__ = ("_port", "_right", "_time")

    def __init__(self, port: "OutputPort", right: Token | TokenRef, time: Time) -> None:
        self._port = port
        self._right = right
        self._time = time

    def __enter__(self) -> "Session":
        if self._right.__class__ is Token:
            self._right._pins += 1
        return self

    def give(self, batch: Batch | Mapping[str, Any], time: Time | None = None) -> None:
        """Send rows at the session's time, or at a later `time`. The arrays must not change afterwards."""
        port = self._port
        if time is None:
            time = self._time
        elif time < self._time:
            raise TimeRegressionError(f"{port.describe()}: a session at {self._time} cannot send at the earlier time {time}")
        if not self._right._live:
            raise TokenError(f"{port.describe()}: the session at {self._time} is over")
        port.push(time, batch if batch.__class__ is Batch else Batch(port.schema, batch))

    def __exit__(self, *_: object) -> None:
        if self._right.__class__ is Token:
            self._right._pins -= 1
        self._right = _OVER


class _Over:
    _live = False


_OVER: Any = _Over()


class OutputPort:
    """One output of a running operator: send with `session(token)`, or `give(token, batch)` for a single batch."""

    __slots__ = ("channels", "held", "index", "location", "log", "operator", "schema")

    def __init__(self, operator: "RunningOperator", index: int, location: int, schema: Schema, log: ChangeLog) -> None:
        self.operator = operator
        self.index = index
        self.location = location
        self.schema = schema
        self.log = log
        self.held = 0
        self.channels: list[Channel] = []

    def session(self, right: Token | TokenRef, time: Time | None = None) -> Session:
        """A context manager that sends with the right of a token, or of a message's token reference, at its time or later."""
        return Session(self, right, self._allowed(right, time))

    def give(self, right: Token | TokenRef, batch: Batch, time: Time | None = None) -> None:
        """Send one batch: a session of one."""
        self.push(self._allowed(right, time), batch)

    def _allowed(self, right: Token | TokenRef, time: Time | None) -> Time:
        if right.__class__ is Token:
            if right._port is not self:  # type: ignore[union-attr]
                raise WrongOutputError(f"{self.describe()} cannot send with a token of {right._port.describe()}")  # type: ignore[union-attr]
            if not right._live:
                raise DroppedTokenError(f"{self.describe()} cannot send with a token that was dropped (it was at time {right._time})")
            least = right._time
        elif right.__class__ is TokenRef:
            if not right._live:
                right.refuse()  # type: ignore[union-attr]
            source: Any = right._input  # type: ignore[union-attr]
            if source.operator is not self.operator:
                raise WrongOutputError(f"{self.describe()} cannot send with a reference of {source.describe()}")
            least = right._time + source.reach(self.index)[1]
        else:
            raise TokenError(f"{self.describe()} cannot send without a token: pass a Token, or the TokenRef of the message at hand, not {right!r}")
        if time is None:
            return least
        if time < least:
            raise TimeRegressionError(f"{self.describe()}: a token at {least} cannot send at the earlier time {time}")
        return time

    def push(self, time: Time, batch: Batch) -> None:
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
        self.log.add(self.location, token.time, -1)
        self.operator.worker.report_lost_token(token, self.describe())

    def describe(self) -> str:
        """Operator, output and worker, for messages."""
        return f"operator {self.operator.name!r} output {self.index} on worker {self.operator.worker.index}"
