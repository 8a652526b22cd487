"""Signals: words that go from an operator to another in band with the data, past progress tracking.

Contract:
1. In order: a word sent after rows of the same output arrives after them, on every worker. It goes through the same
   queues, and waits while rows of its output wait for room. Rows sent after it may arrive before it.
2. Latest only: words that are sent or arrive faster than they can go, or be looked at, replace each other.
3. Uncounted: a word is no message. It holds no frontier, gives no right to send, and does not keep a run alive:
   whoever relies on its arrival holds a token until it has come.
"""

from collections.abc import Callable, Sequence

from tokenring.engine.errors import GraphError


class Signal:
    """A word from each sender to an operator that runs when one comes. Made by `OperatorBuilder.listen`; usable once
    the dataflow is built."""

    __slots__ = ("everywhere", "received", "row", "send")

    def __init__(self, everywhere: bool) -> None:
        self.everywhere = everywhere
        """Whether it goes to all workers, or stays on the sender's."""
        self.received: Sequence[int] = memoryview(bytes(8)).cast("q")
        """The latest word of each sender; 0 before the first. By worker, or of one's own alone."""
        self.row = -1
        """What compiled operators know it by (`send_word`, `least_word`)."""
        self.send: Callable[[int], None] = _refuse
        """Send a word (int64) behind everything that the output has sent."""

    def attach(self, send: Callable[[int], None], received: Sequence[int], row: int) -> None:
        """Bind to a running dataflow: what sends a word, where the words that arrive are noted, and its row (done by
        the engine)."""
        self.send, self.received, self.row = send, received, row


def _refuse(word: int) -> None:
    raise GraphError(
        f"cannot send {word} on a signal before its dataflow is built (after the `with worker.dataflow()` block)"
    )
