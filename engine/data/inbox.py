"""Inboxes: where channels leave the messages of an input, until its operator takes them."""

from collections import deque
from typing import Any

from tokenring.engine.columns import Batch
from tokenring.engine.data.runtime import Operator, Schedule

NO_MESSAGES: Any = ()
"""The queue of an input that none has come to, or none for long: there may be a million, and a deque is 600 bytes."""


class Inbox:
    """The messages that wait at one input. A channel counts a message at `location`, puts it into `queue` and makes
    `operator` due; it writes these three lines itself, since a call for each message would cost more than they do.
    """

    __slots__ = ("location", "operator", "queue", "schedule")

    def __init__(self, location: int, operator: Operator, schedule: Schedule) -> None:
        self.location = location
        self.operator = operator
        self.schedule = schedule
        # Time (or Burst), batch, whether it is a view into a data queue, whose bytes are reused.
        # Of a compiled operator's input it is a CompiledInbox.
        self.queue: Any = NO_MESSAGES

    def first(self, message: tuple[Any, Batch, bool]) -> None:
        """Let a message wait that `queue` could not take, being NO_MESSAGES."""
        self.queue = deque((message,))
