"""Edges: what an output hands its batches to, whatever lies behind."""

from typing import Any, Protocol

from tokenring.engine.columns import Batch
from tokenring.engine.data.burst import Burst


class Edge(Protocol):
    """A way from an output: a channel, the stages before one, or the border of a scope."""

    def push(self, time: Any, batch: Batch) -> None:
        """Take a message on."""

    def push_each(self, burst: Burst, batch: Batch) -> None:
        """Take all messages of a burst on."""
