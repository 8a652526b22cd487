"""When sources of a group pause because memory is short, when they go on, and when the run cannot be saved: decided
from what the group takes, look by look.

Contract: no answer but OVER is given for ever while nothing moves. Sources that pause let what is under way be taken,
and memory fall. Where nothing is under way any more and it has not fallen, what is left is state, which may be waiting
for time to pass: sources go on until it has grown by a part of what is left, and pause again. Where nothing is left to
grow into, it is over; and where memory grows beyond the budget although sources pause.
"""

from enum import Enum

_PAUSE = 0.8  # of the room for state and rows: from there on sources pause
_RESUME = 0.7  # and below this they go on
_LEAST = 0.03  # with less than this left, and nothing under way, it is over
_STEP = 0.5  # of what is left: how far memory may grow before sources pause again
_GROWS = 0.05  # of the room: more than that while sources pause is growth without them
_TOO_FAST = 0.25  # beyond the budget, of the room: there is no time to wait for what workers give back


class Verdict(Enum):
    """What is to be done."""

    GO_ON = "sources send"
    PAUSE = "sources pause"
    OVER = "the run ends"


class Pressure:
    """A group's budget, and how far it is used."""

    def __init__(self, budget_bytes: int, fixed_bytes: int, noise_bytes: int = 0) -> None:
        """fixed_bytes: what is taken before any row is: segment, interpreters; noise_bytes: by how much two looks at
        the same may differ."""
        self.budget_bytes = budget_bytes
        self._room = max(1, budget_bytes - fixed_bytes)
        self._usual = fixed_bytes + int(_PAUSE * self._room)
        self._low = fixed_bytes + int(_RESUME * self._room)
        self._pause_at, self._resume_at = self._usual, self._low
        self._noise = noise_bytes
        self._least_seen = 0  # while sources pause
        self.paused = False

    def is_near(self, used: int) -> bool:
        """Whether it is worth knowing exactly what is taken."""
        return self.paused or used > (self._low + self.budget_bytes - self._room) // 2

    def left_until_pause(self, used: int) -> int:
        """How many bytes more are taken before sources pause, or, while they do, before the budget is reached."""
        return (self.budget_bytes if self.paused else self._pause_at) - used

    def look(self, used: int, is_relieved: bool, is_still: bool) -> Verdict:
        """What to do while the group takes `used` bytes. is_relieved: all workers have given back what they do not use
        since sources paused; is_still: besides, nothing has moved on any since."""
        left = self.budget_bytes - used
        if left < -_TOO_FAST * self._room:
            return Verdict.OVER
        if not self.paused:
            if used <= self._low:
                self._pause_at, self._resume_at = self._usual, self._low
            self.paused = used >= self._pause_at
            self._least_seen = used
        elif used <= self._resume_at:
            self.paused = False
        elif is_relieved and left <= 0 and used > self._least_seen + _GROWS * self._room + self._noise:
            return Verdict.OVER  # it grows without sources
        elif is_relieved and is_still:
            if left < _LEAST * self._room:
                return Verdict.OVER
            self._pause_at = used + int(max(_LEAST * self._room, _STEP * left))
            self._resume_at = (used + self._pause_at) // 2
            self.paused = False
        self._least_seen = min(self._least_seen, used)
        return Verdict.PAUSE if self.paused else Verdict.GO_ON
