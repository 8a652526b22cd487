"""Outputs of a running operator: where it sends, with the right of a token or of the message at hand."""

from collections.abc import Collection, Mapping
from threading import get_ident
from typing import Any

import numpy as np

from tokenring.engine.columns import Batch, Schema
from tokenring.engine.data.burst import Burst, is_ascending
from tokenring.engine.data.channel import Edge
from tokenring.engine.data.runtime import Operator
from tokenring.engine.data.session import SendSession
from tokenring.engine.errors import SchemaError, TimeRegressionError, TokenError, WrongOutputError
from tokenring.engine.native import OWN_TIMES
from tokenring.engine.times import MAX_TIME, as_time, less_equal, representable
from tokenring.engine.tokens import Token, TokenRef, refuse_thread


class OutputPort:
    """One output of a running operator: send with `session(token)`, or `give(token, batch)` for a single batch."""

    __slots__ = (
        "channels",
        "depth",
        "held",
        "index",
        "location",
        "log",
        "operator",
        "same_time_inputs",
        "schema",
        "thread",
    )

    def __init__(self, operator: Operator, index: int, location: int, schema: Schema, depth: int) -> None:
        self.operator = operator
        self.index = index
        self.location = location
        self.depth = depth
        self.schema = schema
        runtime = operator.runtime
        self.log = runtime.log
        self.thread = runtime.thread
        self.held = 0
        self.channels: list[Edge] = []
        self.same_time_inputs: Collection[Any] = ()
        """The inputs whose messages may be answered here at their own time."""

    def session(self, right: Token | TokenRef, time: Any = None) -> SendSession:
        """A context manager that sends with the right of a token, or of a message's token reference, at its time or
        later.
        """
        return SendSession(self, right, time)

    def give(self, right: Token | TokenRef, batch: Batch | Mapping[str, Any], time: Any = None) -> None:
        """Send one batch, or a mapping of column names to arrays: a session of one."""
        if not isinstance(batch, Batch):
            batch = Batch(self.schema, batch)
        kind = right.__class__
        given: Any = right
        if time is None and kind is Token and given._granted is given._time and given._port is self:
            time = given._time  # the two common cases, without a call
        elif time is None and kind is TokenRef and given[0].current is given and given[0] in self.same_time_inputs:
            time = given[1]
        else:
            time = self.allowed(right, time)
        self._push(time, batch)

    def give_each(
        self, right: Token | TokenRef, batch: Batch | Mapping[str, Any], keys: np.ndarray, timed: bool = True
    ) -> None:
        """Send a message for each distinct value of `keys`, int64 (rows,), ascending, in one call: at that value as
        time, or all at the right's own where not `timed`. To whom they come, and to progress, they are messages like
        any others. Raises TokenErrors as `give` does, and for keys that do not fit.
        """
        least = self.allowed(right, None)
        if batch.__class__ is not Batch:
            batch = Batch(self.schema, batch)
        if batch.rows:
            is_one_each = isinstance(keys, np.ndarray) and keys.shape == (batch.rows,) and keys.dtype == np.int64
            if self.depth > 1 or not is_one_each or not is_ascending(keys):
                raise TokenError(
                    f"{self.describe()}: give_each needs a key for each row, int64 and ascending, and integer times: "
                    f"sort the rows by their times first; in a loop use give"
                )
            if timed:
                self.later(least, int(keys[0]), "token")
                self.later(least, int(keys[-1]), "token")
            if get_ident() != self.thread:
                refuse_thread("send on", self.describe())
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
            least = right.time_to_send()
        elif right.__class__ is TokenRef:
            source: Any = right[0]
            if source.current is not right:
                right.refuse()
            if source.operator is not self.operator:
                raise WrongOutputError(f"{self.describe()} cannot send with a reference of {source.describe()}")
            least = source.reach(self.index)[1].results_in(right[1])
            if least is None:
                raise TimeRegressionError(
                    f"{self.describe()} cannot answer a message at {right[1]}: the result would be beyond the last "
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

    def _push(self, time: Any, batch: Batch) -> None:
        """Hand a batch to the channels (after the right to send was checked)."""
        if batch.schema is not self.schema:
            self._require_schema(batch)
        if get_ident() != self.thread:
            refuse_thread("send on", self.describe())
        if batch.rows:
            for channel in self.channels:
                channel.push(time, batch)

    def _require_schema(self, batch: Batch) -> None:
        if batch.schema != self.schema:
            raise SchemaError(f"{self.describe()} carries {self.schema!r}, not {batch.schema!r}")

    def lost(self, token: Token) -> None:
        """Release a token that was garbage-collected while live, and report it."""
        self.operator.runtime.lost.add(token, self)

    def describe(self) -> str:
        """Operator, output and worker, for messages."""
        return f"operator {self.operator.name!r} output {self.index} on worker {self.operator.runtime.index}"
