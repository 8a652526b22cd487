"""Signals that end a run, noted while it lasts and acted on where it is safe: never between a fork and its bookkeeping.

While a group runs, the handlers that were there are kept aside, and the launcher, which a descriptor wakes, calls them.
"""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from types import FrameType

from tokenring.shm.kernels import ENDING_SIGNALS, DeferredSignals

__all__ = ["DeferredSignals", "Interrupted", "Interrupts", "leave_to_launcher"]

_PYTHONS_OWN = (signal.default_int_handler, signal.SIG_DFL)


def leave_to_launcher() -> None:
    """In a process that a launcher forks: signals that end a run are the launcher's to act on, which ends it. Who sends
    them to all processes at once (a terminal, systemd, `timeout`, a container's stop) means the run, not each of them.
    """
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


class Interrupted(BaseException):
    """A signal whose default is to end the process: it does so once the group has been ended."""


class Interrupts(DeferredSignals):
    """A context in which ending signals are noted, and a descriptor says so; what nobody has acted on is raised at its
    end.
    """

    def __init__(self) -> None:
        super().__init__(defaults=(signal.SIGTERM,))
        self.wake = -1
        """A descriptor that can be read when something was noted."""
        self._waker = self._waker_before = -1
        self._is_main = threading.current_thread() is threading.main_thread()

    def __enter__(self) -> "Interrupts":
        self.wake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            if self._is_main:
                self._waker_before = signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
            super().__enter__()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            self.let_go()
        finally:
            self._close()
        super().__exit__()

    def _close(self) -> None:
        if self._is_main:
            signal.set_wakeup_fd(self._waker_before)
        os.close(self.wake)
        os.close(self._waker)

    @contextmanager
    def let_through(self, raises: bool = False) -> Iterator[None]:
        """Within the block, which is somebody else's code, signals do what they did before. raises: where SIGTERM would
        end the process it raises Interrupted, once."""
        if not self._is_main:
            yield
            return
        try:
            self.let_go()
            raised = raises and signal.getsignal(signal.SIGTERM) == signal.SIG_DFL
            if raised:
                signal.signal(signal.SIGTERM, self._raising())
            yield
        finally:
            if raised:
                signal.signal(signal.SIGTERM, signal.SIG_DFL)
            self.hold()

    def _raising(self) -> Callable[[int, FrameType | None], None]:
        def raise_once(number: int, _frame: FrameType | None) -> None:
            self.noted.append(number)
            if len(self.noted) == 1:
                raise Interrupted(signal.Signals(number).name)

        raise_once.may_stop_in_order = True  # type: ignore[attr-defined]  # see `is_pythons_own`
        return raise_once

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within the block, which is ours within somebody else's, signals are noted again."""
        if not self._is_main:
            yield
            return
        try:
            self.hold()
            yield
        finally:
            self.let_go()

    def is_pythons_own(self) -> bool:
        """Whether nobody has said what the signal that was noted is to do, or has said that a stop in order is right
        too (`may_stop_in_order`)."""
        handler = self.before.get(self.noted[0])
        return handler in _PYTHONS_OWN or getattr(handler, "may_stop_in_order", False)

    def woken(self) -> None:
        """Have `wake` wait for the next signal."""
        try:
            while os.read(self.wake, 64):
                pass
        except BlockingIOError:
            pass

    def act(self) -> None:
        """Do what the noted signal did before: its handler may raise; Interrupted where it would end the process."""
        handler = self.before.get(self.noted[0])
        if not callable(handler):
            raise Interrupted(signal.Signals(self.noted[0]).name)
        handler(self.noted.pop(0), None)

    def forked(self) -> None:
        """In a child."""
        signal.set_wakeup_fd(-1)
        leave_to_launcher()
        os.close(self.wake)
        os.close(self._waker)
