"""Tokens lost to the garbage collector: reported at once, released with the next exchange of progress."""

import sys
from typing import Any

from tokenring.engine.progress import ChangeLog
from tokenring.engine.tokens.token import Token, TokenPort


class LostTokens:
    """A worker's lost tokens that are not released yet. The collector may come in the middle of a change to the log, so
    releasing waits until nobody writes to it.
    """

    def __init__(self, log: ChangeLog) -> None:
        self._log = log
        self.waiting: list[tuple[TokenPort, Any]] = []

    def add(self, token: Token, port: TokenPort) -> None:
        """A token of this output was garbage-collected while live, in whatever thread."""
        self.waiting.append((port, token._granted))
        self.report(token, port.describe())

    def report(self, token: Token, where: str) -> None:
        """Say who lost a token."""
        sys.stderr.write(
            f"tokenring: a token of {where} at time {token._granted} was lost without drop(); it was made at "
            f"{token.origin}. "
            "It is released now; drop tokens explicitly.\n"
        )

    def release(self) -> None:
        """Log that they are gone."""
        while self.waiting:
            port, time = self.waiting.pop()
            port.held -= 1
            self._log.add(port.location, time, -1)
