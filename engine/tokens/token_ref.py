"""The reference that comes with a message: the right to answer it, and to retain a token, while it is at hand."""

from threading import get_ident
from typing import Any, NoReturn

from tokenring.engine.errors import ExpiredReferenceError, TimeRegressionError, TokenError
from tokenring.engine.progress import CHANGE_BYTES, pack_change
from tokenring.engine.times import MAX_TIME
from tokenring.engine.tokens.token import GRANTED, Token, named, refuse_thread


class TokenRef(tuple[Any, Any]):
    """A message's right to send at its time, valid until the next message is taken or the operator's call ends: the
    pair of its input and its time, so that nobody can change it. It is good while its input says that it is at hand.
    """

    __slots__ = ()

    def __new__(cls, source: object = None, *_: object) -> "TokenRef":
        """Raises TokenError: it comes with a message."""
        raise TokenError(
            f"a token reference of {named(source)} cannot be made by hand; it comes with the message that is read"
        )

    @property
    def time(self) -> Any:
        """The message's time: an integer, or a tuple in a nested scope."""
        return self[1]

    def retain(self, output: int = 0) -> Token:
        """A token for the operator's output number `output`, at the message's time (plus the operator's summary for
        that pair).

        Raises ExpiredReferenceError after the call that gave the reference, WrongOutputError if the input cannot reach
        the output.
        """
        source, time = self
        if source.current is not self:
            self.refuse()
        port, summary = source.reach(output)
        if get_ident() != port.thread:
            refuse_thread("retain", f"a reference of {source.describe()}")
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
                self._refuse_overflow(f"{self[1]} and what the summary {summary} adds to it")
            port.log.add(port.location, time, 1)
        port.held += 1
        return Token(port, time, 2, GRANTED)

    def _refuse_overflow(self, time: object) -> NoReturn:
        raise TimeRegressionError(
            f"{self[0].describe()}: a token at {time} would be beyond the last representable time {MAX_TIME}; what is "
            f"sent once its input has ended, as by emit='final', is at the end of all time and cannot be later: delay "
            f"what comes before that"
        )

    def refuse(self) -> NoReturn:
        """Raise the error for a reference that is used too late."""
        raise ExpiredReferenceError(
            f"a token reference of {self[0].describe()} at time {self[1]} was used after the message it came "
            f"with; call retain() on it in time"
        )

    def __setattr__(self, name: str, value: object) -> None:
        raise TokenError(f"a token reference of {self[0].describe()} cannot be changed; retain() a token, downgrade it")

    def __reduce__(self) -> str:
        raise TokenError(f"a token reference of {self[0].describe()} cannot be copied; retain() a token")

    def __repr__(self) -> str:
        return f"TokenRef({self[0].describe()}, time={self[1]})"
