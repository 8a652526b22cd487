"""Signals that end a process, held back where their handlers must not run: while a kernel is compiled, say.

A handler that raises does so between any two bytecodes of the main thread: in a finaliser of the compiler's, where the
exception is lost, or between a release and its note, so that memory is released twice.
"""

import signal
import threading
from types import FrameType
from typing import Any

ENDING_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class DeferredSignals:
    """A context in which ending signals are noted; the first is raised again at its end. Nothing outside the main
    thread, whose handlers they are. Signals that are ignored stay so, and those that end the process do, unless they
    are among `defaults`.
    """

    def __init__(self, defaults: tuple[int, ...] = ()) -> None:
        self.noted: list[int] = []
        self.before: dict[int, Any] = {}
        """What each held signal did before."""
        self._defaults = defaults

    def __enter__(self) -> "DeferredSignals":
        if self.is_main:
            try:
                self.hold()
            except BaseException:
                self.let_go()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        if self.is_main:
            self.let_go()
        if self.noted:
            signal.raise_signal(self.noted[0])

    @property
    def is_main(self) -> bool:
        """Whether this thread is the one whose handlers they are."""
        return threading.current_thread() is threading.main_thread()

    def hold(self) -> None:
        """Note signals from now on."""
        for number in ENDING_SIGNALS:
            handler = signal.getsignal(number)
            if callable(handler) or (handler == signal.SIG_DFL and number in self._defaults):
                self.before[number] = handler
                signal.signal(number, self._note)

    def _note(self, number: int, _: FrameType | None) -> None:
        self.noted.append(number)

    def let_go(self) -> None:
        """Have signals do what they did before."""
        try:
            while self.before:
                number = next(reversed(self.before))
                signal.signal(number, self.before[number])
                del self.before[number]
        finally:
            if self.before:  # a handler that is there again has raised
                self.let_go()
