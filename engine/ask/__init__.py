"""Questions to running groups from outside: both sides of `tokenring why`, `tokenring hold` and other requests."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.ask.answer import SIGNAL, answer_questions
    from tokenring.engine.ask.answer_hold import KeptHold
    from tokenring.engine.ask.ask_hold import hold
    from tokenring.engine.ask.asker import Answers, Group, Weights, ask, group_of, running_groups
    from tokenring.engine.ask.questions import asking_in, require_private, write_whole
    from tokenring.engine.ask.requested import Request, requested, said, sound
    from tokenring.engine.ask.requests import Requests, Session, tell_asker, tell_error
    from tokenring.engine.ask.running_now import EXCHANGE, LOOP, WAIT, Doing, RunningNow

__all__ = [
    "Answers",
    "Doing",
    "EXCHANGE",
    "KeptHold",
    "LOOP",
    "Group",
    "Request",
    "Requests",
    "RunningNow",
    "SIGNAL",
    "Session",
    "WAIT",
    "Weights",
    "answer_questions",
    "ask",
    "asking_in",
    "group_of",
    "hold",
    "requested",
    "require_private",
    "running_groups",
    "said",
    "sound",
    "tell_asker",
    "tell_error",
    "write_whole",
]
