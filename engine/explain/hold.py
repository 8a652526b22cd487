"""Breakpoints: a token in the hands of somebody outside, so that no frontier passes a time at a place until it is
released (the paper's closing idea).

Its right is derived from a token that this worker holds, at the same output or before it, and that could result in the
time there: all workers count that one, so none has passed the time, and every one learns of the hold before it can hear
that the other was dropped. Why that is safe: docs/concurrency.md.
"""

from collections.abc import Callable
from typing import Any

from tokenring.engine.tokens import Token


class HeldToken(Token):
    """A token that sends nothing (ports take tokens of the plain kind only)."""

    __slots__ = ()


class Hold:
    """Keeps the frontier of a place from passing `time` until `release`; a context manager that releases at its end."""

    __slots__ = ("_flush", "_token", "place")

    def __init__(self, token: HeldToken, place: str, flush: Callable[[], None]) -> None:
        self._flush = flush
        self._token = token
        self.place = place
        """Where it holds, in words."""

    @property
    def time(self) -> Any:
        """The time that cannot be passed."""
        return self._token.time

    @property
    def released(self) -> bool:
        """Whether `release` was called."""
        return not self._token.live

    def advance_to(self, time: Any) -> None:
        """Hold a later time instead. Raises TimeRegressionError for an earlier one, DroppedTokenError once released."""
        self._token.downgrade(time)
        self._flush()

    def release(self) -> None:
        """Let the frontier go on (idempotent)."""
        if self._token.live:
            self._token.drop()
            self._flush()

    def __enter__(self) -> "Hold":
        return self

    def __exit__(self, *_: object) -> None:
        self.release()

    def __repr__(self) -> str:
        state = "released" if self.released else f"time {self.time}"
        return f"Hold({self.place}, {state})"
