"""Timestamp tokens: the right to send at a time or later, at one output (the literature's capability).

Life-cycle (the paper's sections 3 and 4): every operator gets a token at time 0 for each output; a message's token
reference can be retained as a token; tokens are cloned, downgraded, dropped, and exercised through sessions. Each of
these writes net changes to the worker's log and nothing else; the engine publishes them after the operator's call, as
one atomic batch with what it consumed and sent. There is no borrow checker, so misuse raises. A token lost to the
garbage collector is released and reported with its origin.
"""

import sys
from threading import current_thread, get_ident
from types import CodeType
from typing import Any, NoReturn, Protocol

from tokenring.engine.errors import DroppedTokenError, PinnedTokenError, TimeRegressionError, TokenError
from tokenring.engine.progress import CHANGE_BYTES, ChangeLog, pack_change, pack_two_changes
from tokenring.engine.times import MAX_TIME, AnyTime, as_time, less_equal, representable

GRANTED = object()
"""What the engine makes tokens with: a token made without a count in the log would break what all workers believe."""

_TWO_CHANGES_BYTES = 2 * CHANGE_BYTES


class TokenPort(Protocol):
    """What a token needs of the output it is for."""

    location: int
    depth: int
    log: ChangeLog
    held: int
    thread: int

    def describe(self) -> str:
        """Operator, output and worker, for messages."""

    def lost(self, token: "Token") -> None:
        """A token was garbage-collected while live."""


class Token:
    """The right to send at `time` or later at one output. Made by the engine alone: TokenError for whoever else tries.

    It is good while `_granted`, None after a drop, is the very `_time` that it has: a time set from outside is not.
    """

    __slots__ = ("_code", "_granted", "_line", "_pins", "_port", "_time")

    def __init__(self, port: TokenPort, time: AnyTime, callers: int = 1, grant: object = None) -> None:
        if grant is not GRANTED:
            raise TokenError(f"a token of {named(port)} cannot be made by hand; retain() a reference, clone() a token")
        frame = sys._getframe(callers)
        self._code: CodeType = frame.f_code
        self._line: int = frame.f_lineno
        self._port = port
        self._time = time
        self._granted: AnyTime | None = time
        self._pins = 0

    @property
    def time(self) -> Any:
        """The earliest time at which the token lets its holder send: an integer, or a tuple in a nested scope."""
        return self._time

    @time.setter
    def time(self, time: object) -> None:
        raise TokenError(f"the time of a token of {self._port.describe()} is not set: call downgrade({time})")

    @property
    def live(self) -> bool:
        """Whether the token has not been dropped."""
        return self._granted is not None

    def made_at(self, code: CodeType | None, line: int | None = None) -> None:
        """Say that the token came into being for the sake of this code (initial tokens: their constructor, or where a
        manual input was declared).
        """
        if code is not None:
            self._code, self._line = code, code.co_firstlineno if line is None else line

    @property
    def origin(self) -> str:
        """Where in the program the token was made: file:line (function)."""
        return f"{self._code.co_filename}:{self._line} ({self._code.co_name})"

    def downgrade(self, time: Any) -> None:
        """Give up the right to send before `time`.

        Raises TimeRegressionError for a time that is not later or equal, DroppedTokenError after a drop,
        PinnedTokenError within a session.
        """
        before: Any = self._time
        if time.__class__ is not int or before.__class__ is not int:
            self._downgrade(time)
            return
        port = self._port
        if (
            before is not self._granted
            or self._pins
            or time < before
            or time > MAX_TIME
            or get_ident() != port.thread
        ):
            self._refuse("downgrade", time)
        if time == before:
            return
        log = port.log
        offset = log.offset
        location = port.location
        pack_two_changes(log.buffer, offset, location, -1, before, location, 1, time)
        self._time = self._granted = time
        log.offset = offset = offset + _TWO_CHANGES_BYTES
        if offset >= log.limit:
            log.make_room()

    def _downgrade(self, time: Any) -> None:
        """The same for times that are not plain integers."""
        port = self._port
        try:
            time = as_time(time, port.depth)
        except TypeError as error:
            raise TokenError(f"cannot downgrade a token of {port.describe()}: {error}") from None
        before = self._time
        if not less_equal(before, time) or not representable(time) or self._pins or not self._usable:
            self._refuse("downgrade", time)
        if time != before:
            port.log.add(port.location, time, 1)
            port.log.add(port.location, before, -1)
            self._time = self._granted = time

    @property
    def _usable(self) -> bool:
        return self._granted is self._time and get_ident() == self._port.thread

    def moved_to(self, time: AnyTime) -> None:
        """Be at a time to which the log says it was moved already (done by groups of inputs)."""
        self._time = self._granted = time

    def time_to_send(self) -> Any:
        """Its time, for whoever sends with it; raises TokenErrors if it is not good."""
        if self._granted is None:
            raise DroppedTokenError(
                f"{self._port.describe()} cannot send with a token that was dropped (it was at time {self._time}); "
                f"drop it after the last use, or retain() another"
            )
        if self._granted is not self._time:
            self._refuse("send with", self._time)
        return self._time

    def clone(self) -> "Token":
        """A second token at the same time and output."""
        if not self._usable:
            self._refuse("clone", self._time)
        port = self._port
        port.log.add(port.location, self._time, 1)
        port.held += 1
        return Token(port, self._time, 2, GRANTED)

    def drop(self) -> None:
        """Give up the right for good. Raises DroppedTokenError the second time, PinnedTokenError within a session."""
        port = self._port
        time = self._time
        if time is not self._granted or self._pins or get_ident() != port.thread:
            self._refuse("drop", time)
        self._granted = None
        port.held -= 1
        log = port.log
        if time.__class__ is not int:
            log.add(port.location, time, -1)
            return
        offset = log.offset
        pack_change(log.buffer, offset, port.location, -1, time)
        log.offset = offset = offset + CHANGE_BYTES
        if offset >= log.limit:
            log.make_room()

    def surrender(self) -> None:
        """Be no token any more, though its count stays: the right is somebody else's now (done by the engine)."""
        self._granted = None
        self._port.held -= 1

    def _refuse(self, verb: str, time: AnyTime) -> NoReturn:
        where = self._port.describe()
        if self._granted is None:
            raise DroppedTokenError(
                f"cannot {verb} a token of {where}: it was dropped (it was at time {self._time}); clone it before "
                f"dropping"
            )
        if self._granted is not self._time:
            raise TokenError(
                f"cannot {verb} a token of {where}: its time was set to {self._time} past the engine, which knows it "
                f"at {self._granted}; call downgrade(time), or retain() a token at the time that is needed"
            )
        if get_ident() != self._port.thread:
            refuse_thread(verb, f"a token of {where}")
        if self._pins:
            raise PinnedTokenError(
                f"cannot {verb} a token of {where} at time {self._time} inside a session that uses it; leave the "
                f"session first"
            )
        if not representable(time) and less_equal(self._time, time):
            raise TimeRegressionError(
                f"cannot {verb} a token of {where} to {time}: the last representable time is {MAX_TIME}"
            )
        raise TimeRegressionError(
            f"cannot {verb} a token of {where} from {self._time} back to {time}: tokens only move to later times; "
            f"retain one that is early enough"
        )

    def __copy__(self) -> "Token":
        raise TokenError(f"a token of {self._port.describe()} cannot be copied behind the engine's back; use clone()")

    def __deepcopy__(self, _: object) -> "Token":
        return self.__copy__()

    def __reduce__(self) -> str:
        raise TokenError(f"a token of {self._port.describe()} cannot leave its worker")

    def __del__(self) -> None:
        if getattr(self, "_granted", None) is not None:
            self._port.lost(self)

    def __repr__(self) -> str:
        state = "" if self.live else ", dropped"
        return f"Token({self._port.describe()}, time={self._time}{state})"


def named(port: object) -> str:
    """What a user gave for a port, in words."""
    describe = getattr(port, "describe", None)
    return str(describe()) if callable(describe) else repr(port)


def refuse_thread(verb: str, what: str) -> NoReturn:
    """Raise TokenError for what another thread than its worker's does."""
    raise TokenError(
        f"cannot {verb} {what} in thread {current_thread().name!r}: a worker's tokens, inputs and outputs are for the "
        f"thread that built its dataflow; leave the work where that thread finds it, and call context.activate()"
    )
