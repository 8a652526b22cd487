"""Manual inputs: handles that hold a token outside any operator, and act at once when moved (the paper's section 4.2).
"""

from collections.abc import Callable, Mapping
from threading import get_ident
from types import CodeType
from typing import Any, Protocol

from tokenring.engine.arguments import require_flags
from tokenring.engine.columns import Batch, Schema
from tokenring.engine.data import OutputPort
from tokenring.engine.errors import DroppedTokenError, GraphError, SchemaError, TimeRegressionError, TokenError
from tokenring.engine.running.room import Room
from tokenring.engine.running.stepper import Stepper, refuse_step
from tokenring.engine.times import MAX_TIME, AnyTime, Time, as_time, less_equal, representable
from tokenring.engine.tokens import Token, refuse_thread


class Group(Protocol):
    """What a handle needs of the group of inputs that it is in."""

    def time(self, slot: int) -> Time:
        """The time of the input at `slot`."""

    def moved(self, slot: int, time: Time) -> None:
        """The input at `slot` was moved by itself."""

    def remove(self, handle: "InputHandle") -> None:
        """Let an input go, at the time it has."""


class InputHandle:
    """Feeds one input of a dataflow: `send` at the current time, `advance_to` a later one, `close`."""

    __slots__ = (
        *("_port", "_room", "_stepper", "_token", "cut_at", "declared"),
        *("group", "keep", "name", "schema", "slot"),
    )

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        self.group: Group | None = None
        """While it is in one, the group knows the time; the token is told when it is needed."""
        self.slot = 0
        self.name = ""
        """Of the input that it feeds, once declared."""
        self.declared: tuple[CodeType | None, int] = None, 0
        """The code and the line that declared it, for explanations."""
        self.keep: Callable[[Token], object] | None = None
        """Who keeps its token when it is closed, so that the time it came to is not passed; None: nobody does."""
        self.cut_at: Any = None
        """The time it had when its dataflow was stopped: what is sent since then is dropped; None: it was not."""
        self._port: OutputPort | None = None
        self._token: Token | None = None

    def require_new(self, schema: Schema, name: str) -> None:
        """Raise GraphError if it feeds an input already (the first would lose its token), SchemaError if it is for
        other columns; `name` is the input that it is to feed.
        """
        if self.declared[0] is not None:
            raise GraphError(
                f"input {name!r}: the handle feeds input {self.name!r} already; a handle is for one input, so make "
                f"another InputHandle"
            )
        if self.schema != schema:
            raise SchemaError(f"input {name!r}: the handle is for {self.schema!r}, not {schema!r}")

    _stepper: Stepper
    _room: Room

    def attach(self, port: OutputPort, token: Token, stepper: Stepper, room: Room) -> None:
        """Bind to a running dataflow (done by the engine)."""
        self._port = port
        self._token = token
        self._stepper = stepper
        self._room = room

    def _open_token(self, verb: str) -> Token:
        if self._port is None:
            raise GraphError(
                f"cannot {verb} an input before its dataflow is built (after the `with worker.dataflow()` block)"
            )
        if self._token is None:
            raise DroppedTokenError(f"cannot {verb} {self._port.describe()}: it is closed; close it after the last use")
        if get_ident() != self._port.thread:
            refuse_thread(verb, self._port.describe())
        if self.group is not None:
            self._token.moved_to(self.group.time(self.slot))
        return self._token

    def enter(self, group: Group, slot: int) -> tuple[int, Time]:
        """Become a group's input at `slot`; returns the location and the time (done by the group)."""
        token = self._open_token("group")
        assert self._port is not None
        if not hasattr(group, "moved"):
            raise GraphError(f"{self.describe()} cannot be in {group!r}, which is no group: say InputGroup([handle])")
        if self._port.depth > 1:
            raise GraphError(f"{self.describe()} cannot be in a group: its times are tuples; advance it by itself")
        if self.group is not None:
            raise GraphError(f"{self.describe()} is in a group already; remove it there before adding it to another")
        self.group, self.slot = group, slot
        return self._port.location, token.time

    def leave(self, time: Time) -> None:
        """Be alone again, at this time (done by the group)."""
        if self.group is None:
            raise GraphError(f"{self.describe()} is in no group that lets it go: to move it, advance it")
        assert self._token is not None
        self.group = None
        self._token.moved_to(time)

    @property
    def port(self) -> OutputPort | None:
        """Its output, once built (for explanations)."""
        return self._port

    @property
    def token(self) -> Token | None:
        """Its token while it is built and open (for explanations)."""
        return self._token

    @property
    def stepper(self) -> Stepper:
        """Who publishes what it does, once built (for the group)."""
        return self._stepper

    def describe(self) -> str:
        """Operator, output and worker, for messages."""
        return "an input that is not built" if self._port is None else self._port.describe()

    @property
    def time(self) -> Any:
        """The time of what is sent now."""
        if self.cut_at is not None:
            return self.cut_at
        return self._open_token("ask the time of").time

    @property
    def closed(self) -> bool:
        """Whether `close` was called."""
        return self._port is not None and self._token is None

    def send(self, batch: Batch | Mapping[str, Any], time: Any = None, block: bool = False) -> None:
        """Send rows at the current time, or at a later `time`: a batch, or a mapping of column names to arrays, which
        are read-only from then on. Where much waits already, the worker steps until there is room.

        block: wait first, stepping the worker, until it has taken what it was sent before, and no worker has more rows
        waiting for room than `Config.backlog_bytes`. UsageError within a step, by an operator or a listener: who waits
        there waits for itself.
        """
        if self.cut_at is not None:
            return
        token = self._open_token("send on")
        assert self._port is not None
        if block:
            require_flags(f"cannot send on {self.describe()}", block=block)
            self._room.wait(self.describe())
        if not isinstance(batch, Batch):
            try:
                batch = Batch(self.schema, batch)
            except SchemaError as error:
                raise SchemaError(f"cannot send on {self._port.describe()}: {error}") from None
        worker = self._stepper
        if worker.failure is not None:
            refuse_step(worker)
        at = self._port.allowed(token, time)
        try:
            self._port._push(at, batch)
        except SchemaError:
            raise
        except BaseException as error:  # some of those who read the stream have the rows, some have not
            worker.fail(error)
            raise
        worker.flush()
        self._room.sent(8 * batch.rows * len(batch.columns), self.name)

    def advance_to(self, time: Any) -> None:
        """Promise to send nothing before `time` (a tuple where times have several coordinates); takes effect at once.
        Raises TimeRegressionError for an earlier time.
        """
        if self.cut_at is not None:
            return
        token = self._open_token("advance")
        if time.__class__ not in (int, tuple):
            time = self._as_time(time)
        try:
            is_beyond, is_back = time > MAX_TIME, time < token.time
        except TypeError:  # times are tuples
            time = self._as_time(time)
            is_beyond, is_back = not representable(time), not less_equal(token.time, time)
        if is_back:
            assert self._port is not None
            raise TimeRegressionError(
                f"cannot advance {self._port.describe()} from {token.time} back to {time}: an input only moves "
                f"to later times; send what belongs to {time} before"
            )
        if is_beyond:
            assert self._port is not None
            raise TimeRegressionError(
                f"cannot advance {self._port.describe()} to {time}: the last time is {MAX_TIME}; close() it to send "
                f"nothing more"
            )
        token.downgrade(time)
        if self.group is not None:
            self.group.moved(self.slot, token.time)
        self._stepper.flush()

    def _as_time(self, time: Any) -> AnyTime:
        """A time of its scope; TokenError for what is none."""
        assert self._port is not None, "it is open"
        try:
            return as_time(time, self._port.depth)
        except TypeError as error:
            raise TokenError(f"cannot advance {self.describe()}: {error}") from None

    def close(self) -> None:
        """Promise to send nothing more (idempotent)."""
        if self._token is not None:
            self._open_token("close")
            if self.keep is not None:
                self.keep(self.surrender())
                return
            self._end()
            self.surrender().drop()
            self._stepper.flush()

    def _end(self) -> None:
        """Say what is to be said before the token goes."""

    def cut(self) -> Token:
        """Take nothing more, and raise nothing for that; its token is the caller's."""
        self.cut_at = self.time
        return self.surrender()

    def surrender(self) -> Token:
        """Be closed, of an open one, with nothing said: its token is the caller's."""
        if self.group is not None:
            self.group.remove(self)
        token, self._token = self._token, None
        assert token is not None, "it is open"
        return token

    def __reduce__(self) -> str:
        raise TokenError(f"the handle of {self.describe()} cannot be copied, nor leave its worker: it holds a token")

    def __enter__(self) -> "InputHandle":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
