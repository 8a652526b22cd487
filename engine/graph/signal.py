"""Signals: words that go from an operator to another in band with the data, past progress tracking.

Contract:
1. In order: a word sent after rows of the same output arrives after them, on every worker. It goes through the same
   queues, and waits while rows of its output wait for room. Rows sent after it may arrive before it.
2. Latest only: words that are sent or arrive faster than they can go, or be looked at, replace each other.
3. Uncounted: a word is no message. It holds no frontier, gives no right to send, and does not keep a run alive:
   whoever relies on its arrival holds a token until it has come.
"""

from typing import TYPE_CHECKING

import numpy as np

from tokenring.shm.queues import send_for

if TYPE_CHECKING:
    from tokenring.engine.data.plane import DataPlane
    from tokenring.engine.data.remote_channel import RemoteChannel
    from tokenring.engine.running.operator import RunningOperator
    from tokenring.engine.worker.worker import Worker


class Signal:
    """A word from each sender to an operator that runs when one comes. Made by `OperatorBuilder.listen`; usable once
    the dataflow is built."""

    __slots__ = (
        "_beside",
        "_copy",
        "_is_pending",
        "_number",
        "_plane",
        "_target",
        "_word",
        "_worker",
        "everywhere",
        "received",
    )

    _plane: "DataPlane"
    _target: "RunningOperator"
    _worker: "Worker"

    def __init__(self, everywhere: bool) -> None:
        self.everywhere = everywhere
        """Whether it goes to all workers, or stays on the sender's."""
        self.received: list[int] = [0]
        """The latest word of each sender; 0 before the first. By worker, or of one's own alone."""
        self._number = -1
        self._is_pending = False
        self._beside: tuple[RemoteChannel, ...] = ()

    def attach(self, worker: "Worker", beside: "tuple[RemoteChannel, ...]", target: "RunningOperator") -> None:
        """Bind to a running dataflow; `beside` are the queued channels of its output (done by the engine)."""
        self._worker, self._target = worker, target
        if not self.everywhere or worker.peers == 1:
            return
        self._plane = plane = worker.plane
        self._word = np.zeros(1, np.int64)
        self._copy = send_for(1)
        self._beside = beside
        self._number = plane.add_channel(self)
        self.received = [0] * worker.peers

    def send(self, word: int) -> None:
        """Send a word (int64) behind everything that the output has sent."""
        if self._number < 0:
            self.received[0] = word
            self._worker.schedule.make_due(self._target)
            return
        self._word[0] = word
        if not self._is_pending and not self._try():
            self._is_pending = True
            self._plane.postponed(self, 8)
        self._worker.flush()

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
        self._worker.schedule.make_due(self._target)
