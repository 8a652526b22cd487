"""How signals end the command: with one line and status 128 + n, whatever it is doing.

Before and after its work there is nothing to clean up, and it exits on the spot. While it works they raise `Ended`, so
that `finally` blocks run.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from types import FrameType
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_AGAIN_S = 0.001


class Ended(BaseException):
    """Raised in the main thread for a signal that ends the command; not an Exception, so that nobody swallows it."""

    def __init__(self, number: int) -> None:
        super().__init__("interrupted" if number == signal.SIGINT else f"ended by {signal.Signals(number).name}")
        self.number = number
        self.exit_status = 128 + number


def _handled(handler: Callable[[int, FrameType | None], None]) -> dict[int, Any]:
    """Have ending signals call the handler; returns what they did before. One that the shell told us to ignore (nohup)
    stays ignored."""
    if threading.current_thread() is not threading.main_thread():
        return {}
    caught = [number for number in _ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    return {number: signal.signal(number, handler) for number in caught}


def ending_signals_exit(command: str) -> dict[int, Any]:
    """From now on, ending signals exit at once, after a line of this command's; returns what they did before."""

    def end(number: int, _frame: FrameType | None) -> None:
        ended = Ended(number)
        with suppress(BaseException):
            sys.stdout.flush()
        with suppress(BaseException):
            os.write(2, f"{command}: error: {ended}\n".encode())  # stderr may be in the middle of a line of its own
        os._exit(ended.exit_status)

    end.exits = True  # type: ignore[attr-defined]  # nothing to wait for: shm/kernels/deferred_signals.py
    return _handled(end)


def ending_signals_come_late() -> None:
    """The command has said what it had to: from now on ending signals change nothing, neither its status nor what it
    said. Python would die of them while it takes itself down."""
    for number in _ENDING:
        signal.signal(number, signal.SIG_IGN)


def put_back(before: dict[int, Any]) -> None:
    """Have signals do what they did before."""
    for number, handler in before.items():
        signal.signal(number, handler)


@contextmanager
def ending_signals_raise() -> Iterator[None]:
    """Within the block, SIGINT, SIGTERM and SIGHUP raise `Ended`, save the first during a run whose sources close when
    they are asked to; outside, they do what they did before."""
    import orjson  # noqa: F401 - before: an exception that comes while it initialises itself is a segmentation fault

    def end(number: int, _frame: FrameType | None) -> None:
        raise Ended(number)

    end.may_stop_in_order = True  # type: ignore[attr-defined]  # engine/group/interrupts.py
    before = _handled(end)
    try:
        with _raised_again():
            yield
    except RuntimeError as error:
        if isinstance(error.__cause__, Ended):  # Python 3.11 wraps what comes while a `__set_name__` runs
            raise error.__cause__ from None
        raise
    finally:
        put_back(before)


@contextmanager
def _raised_again() -> Iterator[None]:
    """Within the block, an `Ended` that came while a finaliser ran, where Python drops it, is raised a little later."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    lost: list[Ended] = []

    def unraisable(told: Any) -> None:
        if isinstance(told.exc_value, Ended):
            lost.append(told.exc_value)
            signal.setitimer(signal.ITIMER_REAL, _AGAIN_S)
        else:
            hook(told)

    def again(_number: int, _frame: FrameType | None) -> None:
        raise Ended(lost[-1].number)

    hook, sys.unraisablehook = sys.unraisablehook, unraisable
    alarm = signal.signal(signal.SIGALRM, again)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, alarm)
        sys.unraisablehook = hook
