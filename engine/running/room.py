"""What a program may send by hand before its worker steps: what waits in inboxes, or for room in queues, is bounded.

Contract: `sent` ends. While it waits its worker steps, so its own operators take what waits here; rows that wait for
room in a queue go as soon as the receiver steps, which needs nothing of the sender; and sources that pause for want of
memory go on once nothing moves any more (engine/budget/pressure.py). Two workers that wait for each
other's room both step, and so take in what the other waits with.
"""

import warnings

from tokenring.engine.errors import UsageError
from tokenring.engine.running.stepper import Stepper

_SAID_AFTER = 8  # times that a worker had to step in a program's stead


class SendingWarning(UserWarning):
    """A program sends on and on and never steps its worker, which has to step for it to bound what waits.

    Silence it with `warnings.filterwarnings("ignore", category=SendingWarning)`.
    """


class Room:
    """One worker's account of what was sent since its last step."""

    __slots__ = ("_bytes", "_heeds_memory", "_limit_bytes", "_step", "_stepped", "_stepper", "is_sending",
                 "waits")  # fmt: skip

    def __init__(self, stepper: Stepper, limit_bytes: int, heeds_memory: bool = False) -> None:
        """heeds_memory: whether the group has a budget of memory, near which what is sent by hand pauses too."""
        self._stepper = stepper
        self._limit_bytes = limit_bytes
        self._heeds_memory = heeds_memory
        self._step = 0
        self._bytes = 0
        self._stepped = 0  # times in the program's stead
        self.is_sending = False
        """Whether a program is in a call that sent rows, and steps."""
        self.waits = True
        """Not where somebody else decides who steps (a simulated group)."""

    def sent(self, size_bytes: int, name: str) -> None:
        """So much was sent by hand at the input of that name, outside of a step: step if it is too much, until there is
        room."""
        stepper = self._stepper
        if self._step != stepper.steps:
            self._step, self._bytes = stepper.steps, 0
        self._bytes += size_bytes
        if not self.waits or stepper.is_stepping:
            return
        self.is_sending = True
        try:
            if self._bytes > self._limit_bytes:
                self._stepped += 1
                if self._stepped == _SAID_AFTER:
                    self._say(name)
                stepper.step()
            while stepper.plane.is_overfull or (self._heeds_memory and stepper.plane.memory_is_short):
                stepper.step_or_park()
        finally:
            self.is_sending = False

    def wait(self, who: str) -> None:
        """Step until what was sent is on its way, and no worker has too much. UsageError, about `who`, in a step."""
        stepper = self._stepper
        if stepper.is_stepping:
            raise UsageError(
                f"{who} cannot wait for room within a step, which its own operators' runs are part of; send without "
                f"block=True there, or from the program"
            )
        if self.waits:
            stepper.step()
            while stepper.plane.stops_sources:
                stepper.step_or_park()

    def _say(self, name: str) -> None:
        warnings.warn(
            f"input {name!r} on worker {self._stepper.index}: the program sends without looking, and its worker had to "
            f"step {_SAID_AFTER} times in its stead, each time after {self._limit_bytes} bytes; between sends, wait "
            f"until a probe has passed earlier times (worker.step_while(lambda: probe.less_than(time))), or let a "
            f"source of the library send, which waits by itself. To silence this: "
            f'warnings.filterwarnings("ignore", category=tokenring.engine.SendingWarning)',
            SendingWarning,
            stacklevel=4,
        )
