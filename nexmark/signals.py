"""Lets `finally` blocks run when somebody ends the command with SIGTERM or SIGHUP, as they do for Ctrl-C."""

from __future__ import annotations

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

_ENDING = (signal.SIGTERM, signal.SIGHUP)


class Ended(BaseException):
    """Raised in the main thread for a signal that ends the command; not an Exception, so that nobody swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number
        self.exit_status = 128 + number


@contextmanager
def ending_signals_raise() -> Iterator[None]:
    """Within the block, SIGTERM and SIGHUP raise `Ended`; outside, they do what they did before."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def end(number: int, _frame: FrameType | None) -> None:
        raise Ended(number)

    # A hang-up that the shell told us to ignore (nohup) stays ignored.
    caught = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    before = {number: signal.signal(number, end) for number in caught}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
