"""Questions to running groups from outside: both sides of `tokenring why` and `tokenring hold`."""

from tokenring.engine.ask.answer import answer_questions
from tokenring.engine.ask.answer_hold import RequestedHolds
from tokenring.engine.ask.ask_hold import hold
from tokenring.engine.ask.asker import ask, running_groups

__all__ = [
    "RequestedHolds",
    "answer_questions",
    "ask",
    "hold",
    "running_groups",
]
