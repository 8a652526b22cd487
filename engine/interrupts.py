"""Signals that end a run, noted while it lasts and acted on where it is safe: never between a fork and its bookkeeping.

A handler that raises does so between any two bytecodes of the main thread, in a finaliser too, where it is lost. So
while a group runs the handlers that were there are kept aside, and the launcher, which a descriptor wakes, calls them.
"""

import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_PYTHONS_OWN = (signal.default_int_handler, signal.SIG_DFL)


class Interrupted(BaseException):
    """A signal whose default is to end the process: it does so once the group has been ended."""


class Interrupts:
    """A context in which ending signals are noted; what is noted and not acted on is raised again at its end.

    Outside the main thread it does nothing: signals are the main thread's.
    """

    def __init__(self) -> None:
        self.noted: list[int] = []
        self.wake = -1
        """A descriptor that can be read when something was noted."""
        self._waker = self._waker_before = -1
        self._before: dict[int, Any] = {}
        self._is_main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "Interrupts":
        self.wake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        if self._is_main:
            try:
                self._waker_before = signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
                self._note()
            except BaseException:
                self._restore()
                self._close()
                raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self._restore()
        finally:
            self._close()
        if self.noted:
            signal.raise_signal(self.noted[0])

    def _close(self) -> None:
        if self._is_main:
            signal.set_wakeup_fd(self._waker_before)
        os.close(self.wake)
        os.close(self._waker)

    def _note(self) -> None:
        for number in _ENDING:
            handler = signal.getsignal(number)
            if callable(handler) or (handler == signal.SIG_DFL and number != signal.SIGHUP):
                self._before[number] = handler
                signal.signal(number, self._noting)

    def _noting(self, number: int, _: FrameType | None) -> None:
        self.noted.append(number)

    def _restore(self) -> None:
        try:
            while self._before:
                number = next(reversed(self._before))
                signal.signal(number, self._before[number])
                del self._before[number]
        finally:
            if self._before:  # a handler that is there again has raised
                self._restore()

    @contextmanager
    def let_through(self) -> Iterator[None]:
        """Within the block, which is somebody else's code, signals do what they did before."""
        if not self._is_main:
            yield
            return
        try:
            self._restore()
            yield
        finally:
            self._note()

    def is_pythons_own(self) -> bool:
        """Whether nobody has said what the signal that was noted is to do."""
        return self._before.get(self.noted[0]) in _PYTHONS_OWN

    def forget(self) -> None:
        """What was noted has been acted on."""
        self.noted.clear()

    def woken(self) -> None:
        """Have `wake` wait for the next signal."""
        try:
            while os.read(self.wake, 64):
                pass
        except BlockingIOError:
            pass

    def act(self) -> None:
        """Do what the noted signal did before: its handler may raise; Interrupted where it would end the process."""
        number = self.noted[0]
        handler = self._before.get(number)
        if not callable(handler):
            raise Interrupted(signal.Signals(number).name)
        self.forget()
        handler(number, None)

    def forked(self) -> None:
        """In a child: Ctrl-C reaches the whole group, and the launcher acts on it; other signals end the child."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        if signal.SIGHUP in self._before:
            signal.signal(signal.SIGHUP, signal.SIG_DFL)
        os.close(self.wake)
        os.close(self._waker)
