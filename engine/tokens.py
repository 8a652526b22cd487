"""Timestamp tokens: the right to send at a time or later, at one output (the literature's capability).

Life-cycle (the paper's sections 3 and 4): every operator gets a token at time 0 for each output; a message's token
reference can be retained as a token; tokens are cloned, downgraded, dropped, and exercised through sessions. Each of
these writes net changes to the worker's log and nothing else; the engine publishes them after the operator's call, as
one atomic batch with what it consumed and sent. There is no borrow checker, so misuse raises. A token lost to the
garbage collector is released and reported with its origin.
"""

import sys
from types import CodeType
from typing import Any, Protocol

from engine.change_batch import CHANGE_BYTES, ChangeLog, pack_change, pack_two_changes
from engine.errors import (
    DroppedTokenError,
    ExpiredReferenceError,
    PinnedTokenError,
    TimeRegressionError,
    TokenError,
    WrongOutputError,
)
from engine.timestamp import MAX_TIME, AnyTime, PathSummary, as_time, less_equal, representable

_TWO_CHANGES_BYTES = 2 * CHANGE_BYTES


class TokenPort(Protocol):
    """What a token needs of the output it is for."""

    location: int
    depth: int
    log: ChangeLog
    held: int

    def describe(self) -> str:
        """Operator, output and worker, for messages."""

    def lost(self, token: "Token") -> None:
        """A token was garbage-collected while live."""


class Token:
    """The right to send at `time` or later at one output. Made by the engine alone."""

    __slots__ = ("_code", "_line", "_live", "_pins", "_port", "_time")

    def __init__(self, port: TokenPort, time: AnyTime, callers: int = 1) -> None:
        frame = sys._getframe(callers)
        self._code: CodeType = frame.f_code
        self._line: int = frame.f_lineno
        self._port = port
        self._time = time
        self._live = True
        self._pins = 0

    @property
    def time(self) -> Any:
        """The earliest time at which the token lets its holder send: an integer, or a tuple in a nested scope."""
        return self._time

    @property
    def live(self) -> bool:
        """Whether the token has not been dropped."""
        return self._live

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
        if not self._live or self._pins or time < before or time > MAX_TIME:
            self._refuse("downgrade", time)
        if time == before:
            return
        port = self._port
        log = port.log
        offset = log.offset
        location = port.location
        pack_two_changes(log.buffer, offset, location, -1, before, location, 1, time)
        self._time = time
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
        if not self._live or self._pins or not less_equal(before, time) or not representable(time):
            self._refuse("downgrade", time)
        if time != before:
            port.log.add(port.location, time, 1)
            port.log.add(port.location, before, -1)
            self._time = time

    def clone(self) -> "Token":
        """A second token at the same time and output."""
        if not self._live:
            self._refuse("clone", self._time)
        port = self._port
        port.log.add(port.location, self._time, 1)
        port.held += 1
        return Token(port, self._time, 2)

    def drop(self) -> None:
        """Give up the right for good. Raises DroppedTokenError the second time, PinnedTokenError within a session."""
        if not self._live or self._pins:
            self._refuse("drop", self._time)
        self._live = False
        port = self._port
        port.held -= 1
        log = port.log
        time = self._time
        if time.__class__ is not int:
            log.add(port.location, time, -1)
            return
        offset = log.offset
        pack_change(log.buffer, offset, port.location, -1, time)
        log.offset = offset = offset + CHANGE_BYTES
        if offset >= log.limit:
            log.make_room()

    def _refuse(self, verb: str, time: AnyTime) -> None:
        where = self._port.describe()
        if not self._live:
            raise DroppedTokenError(
                f"cannot {verb} a token of {where}: it was dropped (it was at time {self._time}); clone it before "
                f"dropping"
            )
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
        if getattr(self, "_live", False):
            self._port.lost(self)

    def __repr__(self) -> str:
        state = "" if self._live else ", dropped"
        return f"Token({self._port.describe()}, time={self._time}{state})"


class TokenRef:
    """A message's right to send at its time, valid until the next message is taken or the operator's call ends."""

    __slots__ = ("_input", "_live", "_time")

    def __init__(self, source: "RefInput", time: Any) -> None:
        self._input = source
        self._time = time
        self._live = True

    @property
    def time(self) -> Any:
        """The message's time: an integer, or a tuple in a nested scope."""
        return self._time

    def retain(self, output: int = 0) -> Token:
        """A token for the operator's output number `output`, at the message's time (plus the operator's summary for
        that pair).

        Raises ExpiredReferenceError after the call that gave the reference, WrongOutputError if the input cannot reach
        the output.
        """
        if not self._live:
            self.refuse()
        source = self._input
        port, summary = source.reach(output)
        time = self._time
        if time.__class__ is int:
            time += summary.delays[0]
            if time > MAX_TIME:
                self._refuse_overflow(time)
            log = port.log
            offset = log.offset
            pack_change(log.buffer, offset, port.location, 1, time)
            log.offset = offset = offset + CHANGE_BYTES
            if offset >= log.limit:
                log.make_room()
        else:
            time = summary.results_in(time)
            if time is None:
                self._refuse_overflow(f"{self._time} and what the summary {summary} adds to it")
            port.log.add(port.location, time, 1)
        port.held += 1
        return Token(port, time, 2)

    def _refuse_overflow(self, time: object) -> None:
        raise TimeRegressionError(
            f"{self._input.describe()}: a token at {time} would be beyond the last representable time {MAX_TIME}"
        )

    def refuse(self) -> None:
        """Raise the error for a reference that is used too late."""
        raise ExpiredReferenceError(
            f"a token reference of {self._input.describe()} at time {self._time} was used after the message it came "
            f"with; call retain() on it in time"
        )

    def __reduce__(self) -> str:
        raise TokenError(f"a token reference of {self._input.describe()} cannot be copied; retain() a token")

    def __repr__(self) -> str:
        return f"TokenRef({self._input.describe()}, time={self._time})"


class RefInput(Protocol):
    """What a token reference needs of the input it came from."""

    def reach(self, output: int) -> tuple[TokenPort, PathSummary]:
        """The output port and the summary of the way there; WrongOutputError if there is no path."""

    def describe(self) -> str:
        """Operator, input and worker, for messages."""


__all__ = ["RefInput", "Token", "TokenPort", "TokenRef", "WrongOutputError"]
