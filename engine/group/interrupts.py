"""Signals that end a run, noted while it lasts and acted on where it is safe: never between a fork and its bookkeeping.

While a group runs, the handlers that were there are kept aside, and the launcher, which a descriptor wakes, calls them.
Where somebody else's code runs meanwhile, in whatever order blocks of several groups end, all is what it was before.
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import FrameType

from tokenring.shm.kernels import ENDING_SIGNALS, DeferredSignals

__all__ = ["DeferredSignals", "Interrupted", "Interrupts", "leave_to_launcher", "wait_for_own_children"]

_PYTHONS_OWN = (signal.default_int_handler, signal.SIG_DFL)


def leave_to_launcher() -> None:
    """In a process that a launcher forks: signals that end a run are the launcher's to act on, which ends it. Who sends
    them to all processes at once (a terminal, systemd, `timeout`, a container's stop) means the run, not each of them.
    """
    for number in ENDING_SIGNALS:
        signal.signal(number, signal.SIG_IGN)


def wait_for_own_children() -> None:
    """In a worker or the fork server: how its children end is its to hear, whatever the program does at SIGCHLD."""
    signal.signal(signal.SIGCHLD, signal.SIG_DFL)


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
        self._is_held = False

    def __enter__(self) -> "Interrupts":
        self.wake, self._waker = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        try:
            super().__enter__()
        except BaseException:
            self._close()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        try:
            if self.is_main:
                self.let_go()
        finally:
            self._close()
        super().__exit__()

    def _close(self) -> None:
        os.close(self.wake)
        os.close(self._waker)
        self.wake = self._waker = -1  # another thread may be about to look

    @property
    def is_due(self) -> bool:
        """Whether something was noted, and this thread is to act on it."""
        return bool(self.noted) and self.is_main

    def hold(self) -> None:
        """Note signals from now on, and have `wake` say so."""
        super().hold()
        self._waker_before = signal.set_wakeup_fd(self._waker, warn_on_full_buffer=False)
        self._is_held = True

    def let_go(self) -> None:
        """Have signals do what they did before."""
        if self._is_held:
            signal.set_wakeup_fd(self._waker_before)
            self._is_held = False
            self.woken()
        super().let_go()

    @contextmanager
    def let_through(self, raises: bool = False) -> Iterator[None]:
        """Within the block, which is somebody else's code, signals do what they did before. raises: where SIGTERM would
        end the process it raises Interrupted, once."""
        if not self.is_main:
            yield
            return
        was_held, raised = self._is_held, False
        try:
            self.let_go()
            raised = raises and signal.getsignal(signal.SIGTERM) in (signal.SIG_DFL, _raise_once)
            if raised:
                _blocks.append(self)
                signal.signal(signal.SIGTERM, _raise_once)
            yield
        finally:
            if raised and self.is_main:
                _blocks.remove(self)
                if not _blocks and signal.getsignal(signal.SIGTERM) is _raise_once:
                    signal.signal(signal.SIGTERM, signal.SIG_DFL)
            if was_held and self.is_main:
                self.hold()

    @contextmanager
    def held(self) -> Iterator[None]:
        """Within the block, which is ours within somebody else's, signals are noted again."""
        if self._is_held or not self.is_main:
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
        """Have `wake` wait for the next signal. Who was woken by signals before hears of those that are not held."""
        with suppress(OSError):  # no more has come
            while come := os.read(self.wake, 64):
                self._hand_on(bytes([number for number in come if number not in self.before]))

    def _hand_on(self, numbers: bytes) -> None:
        if self._waker_before >= 0 and numbers:
            with suppress(OSError):  # it is full, as it may be for a signal itself
                os.write(self._waker_before, numbers)

    def act(self) -> None:
        """Do what the noted signal did before: its handler may raise; Interrupted where it would end the process."""
        handler = self.before.get(self.noted[0])
        if not callable(handler):
            raise Interrupted(signal.Signals(self.noted[0]).name)
        number = self.noted.pop(0)
        self._hand_on(bytes([number]))
        handler(number, None)

    def forked(self) -> None:
        """In a child."""
        signal.set_wakeup_fd(-1)
        leave_to_launcher()
        os.close(self.wake)
        os.close(self._waker)


_blocks: list[Interrupts] = []  # those that are open, of all groups, where SIGTERM would end the process


def _raise_once(number: int, _frame: FrameType | None) -> None:
    newest = _blocks[-1]
    newest.noted.append(number)
    if len(newest.noted) == 1:
        raise Interrupted(signal.Signals(number).name)


_raise_once.may_stop_in_order = True  # type: ignore[attr-defined]  # see `is_pythons_own`
