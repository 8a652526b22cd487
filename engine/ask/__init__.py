"""Questions to running groups from outside: both sides of `tokenring why` and `tokenring hold`; looks at workers."""

from tokenring.engine.ask.answer import answer_questions
from tokenring.engine.ask.answer_hold import RequestedHolds
from tokenring.engine.ask.ask_hold import hold
from tokenring.engine.ask.asker import ask, running_groups
from tokenring.engine.ask.running_now import EXCHANGE, LOOP, WAIT, Doing, RunningNow

__all__ = [
    "Doing",
    "EXCHANGE",
    "LOOP",
    "RequestedHolds",
    "RunningNow",
    "WAIT",
    "answer_questions",
    "ask",
    "hold",
    "running_groups",
]
