"""The ends of signals at run time: a word goes through the queues as one row that nobody counts."""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine.data.remote_channel import RemoteChannel
from tokenring.engine.data.runtime import Operator, Runtime, Schedule
from tokenring.shm.queues import send_for


class NearSignal:
    """A signal that stays on its worker: it goes nowhere."""

    __slots__ = ("_schedule", "_target", "received")

    def __init__(self, schedule: Schedule, target: Operator) -> None:
        self._schedule = schedule
        self._target = target
        self.received = [0]

    def send(self, word: int) -> None:
        """Note the word, and run the operator."""
        self.received[0] = word
        self._schedule.make_due(self._target)


class FarSignal:
    """A signal to all workers: this one's sending end, and where the words of all arrive."""

    __slots__ = ("_beside", "_copy", "_flush", "_is_pending", "_number", "_plane", "_schedule", "_target", "_word",
                 "received")  # fmt: skip

    def __init__(
        self, runtime: Runtime, beside: Sequence[RemoteChannel], target: Operator, flush: Callable[[], None]
    ) -> None:
        """beside: the queued channels of its output; flush: publishes at once what is sent outside of a step."""
        self._plane = plane = runtime.plane
        self._schedule = runtime.schedule
        self._target = target
        self._flush = flush
        self._beside = tuple(beside)
        self._word = np.zeros(1, np.int64)
        self._copy = send_for(1)
        self._is_pending = False
        self._number = plane.add_channel(self)
        self.received = [0] * runtime.peers

    def send(self, word: int) -> None:
        """Send a word behind everything that the output has sent; with a full queue, as soon as there is room."""
        self._word[0] = word
        if not self._is_pending and not self._try():
            self._is_pending = True
            self._plane.postponed(self, 8)
        self._flush()

    def _try(self) -> bool:
        for channel in self._beside:
            if channel.pending:
                return False
        self._plane.uncommitted = True
        return self._plane.broadcast(self._copy, (self._word,), 0, 1, self._number, 0) > 0

    def retry(self) -> bool:
        """Send the word that is pending; True if nothing is left."""
        if not self._try():
            return False
        self._is_pending = False
        self._plane.sent_postponed()
        self._plane.caught_up(8)
        return True

    def deliver(self, queue: int, rows: int, time: int, offset: int, stride: int, end: int) -> None:
        """A word arrived: note it, and run the operator."""
        self.received[queue] = int(self._plane.words[queue][offset])
        self._schedule.make_due(self._target)
