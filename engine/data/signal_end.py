"""The ends of signals at run time: a word goes through the queues as one row that nobody counts.

What is compiled sends by kernels (engine/native/signals.py), and is run by them; Python sends here. Either knows an end
by its row of the world's tables.
"""

from collections.abc import Callable, Sequence

import numpy as np

from tokenring.engine.data.remote_channel import RemoteChannel
from tokenring.engine.data.runtime import Operator, Runtime
from tokenring.engine.raw import address_of
from tokenring.shm.queues import send_for


class NearSignal:
    """A signal that stays on its worker: it goes nowhere."""

    __slots__ = ("_runtime", "_target", "_words", "received", "row")

    def __init__(self, runtime: Runtime, target: Operator, senders: int = 1) -> None:
        self._runtime = runtime
        self._target = target
        self._words = np.zeros(senders, np.int64)
        self.received = self._words.data
        self.row = runtime.world.rows("signals", 1)
        words = runtime.world.signals[self.row]
        words["received"], words["senders"] = address_of(self._words), senders
        words["target"], words["number"] = target.compiled, target.number

    @property
    def is_compiled(self) -> bool:
        """Whether it runs what is compiled."""
        return self._target.compiled >= 0

    def send(self, word: int) -> None:
        """Note the word, and run the operator."""
        self.received[0] = word
        self._runtime.schedule.make_due(self._target)

    def forget(self) -> None:
        """The dataflow is finished."""
        self._runtime.world.give_back("signals", self.row, 1)


class FarSignal(NearSignal):
    """A signal to all workers: this one's sending end, and where the words of all arrive."""

    __slots__ = ("_beside", "_copy", "_flush", "_is_pending", "_number", "_plane", "_word")

    def __init__(
        self,
        runtime: Runtime,
        beside: Sequence[RemoteChannel],
        behind: int,
        target: Operator,
        flush: Callable[[], None],
    ) -> None:
        """beside: the queued channels of its output; behind: the row of that, of a compiled operator, else -1; flush:
        publishes at once what is sent outside of a step."""
        super().__init__(runtime, target, runtime.peers)
        self._plane = plane = runtime.plane
        self._flush = flush
        self._beside = tuple(beside)
        self._word = np.zeros(1, np.int64)
        self._copy = send_for(1)
        self._is_pending = False
        self._number = plane.add_channel(self)
        words = runtime.world.signals[self.row]
        words["is_far"], words["channel"], words["behind"] = 1, self._number, behind

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
        """A word arrived for what is Python's: note it, and run the operator."""
        self.received[queue] = int(self._plane.words[queue][offset])
        self._runtime.schedule.make_due(self._target)

    def forget(self) -> None:
        """The dataflow is finished; a word may come late."""
        self._runtime.world.deliver(self._number, -1)
        super().forget()
