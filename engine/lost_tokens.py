"""Tokens lost to the garbage collector: reported at once, released with the next exchange of progress."""

import sys
from typing import Any

from engine.change_batch import ChangeLog
from engine.tokens import Token


class LostTokens:
    """A worker's lost tokens that are not released yet. The collector may come in the middle of a change to the log, so
    releasing waits until nobody writes to it.
    """

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self.waiting: list[tuple[int, Any]] = []

    def add(self, token: Token, location: int, where: str) -> None:
        """A token of the output `where` was garbage-collected while live."""
        self.waiting.append((location, token.time))
        self.report(token, where)

    def report(self, token: Token, where: str) -> None:
        """Say who lost a token."""
        sys.stderr.write(
            f"tokenring: a token of {where} at time {token.time} was lost without drop(); it was made at "
            f"{token.origin}. "
            "It is released now; drop tokens explicitly.\n"
        )

    def release(self) -> None:
        """Log that they are gone."""
        while self.waiting:
            self._log.add(*self.waiting.pop(), -1)
