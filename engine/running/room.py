"""What a program may send by hand before its worker steps: what waits in inboxes, or for room in queues, is bounded.

Contract: `sent` ends. While it waits its worker steps, so its own operators take what waits here; rows that wait for
room in a queue go as soon as the receiver steps, which needs nothing of the sender. Two workers that wait for each
other's room both step, and so take in what the other waits with.
"""

from tokenring.engine.running.stepper import Stepper


class Room:
    """One worker's account of what was sent since its last step."""

    __slots__ = ("_bytes", "_limit_bytes", "_step", "_stepper", "waits")

    def __init__(self, stepper: Stepper, limit_bytes: int) -> None:
        self._stepper = stepper
        self._limit_bytes = limit_bytes
        self._step = 0
        self._bytes = 0
        self.waits = True
        """Not where somebody else decides who steps (a simulated group)."""

    def sent(self, size_bytes: int) -> None:
        """So much was sent by hand, outside of a step: step if it is too much, until there is room."""
        stepper = self._stepper
        if self._step != stepper.steps:
            self._step, self._bytes = stepper.steps, 0
        self._bytes += size_bytes
        if self.waits and not stepper.is_stepping:
            if self._bytes > self._limit_bytes:
                stepper.step()
            while stepper.plane.is_overfull:
                stepper.step_or_park()
