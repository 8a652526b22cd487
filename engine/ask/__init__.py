"""Questions to running groups from outside: both sides of `tokenring why`, `tokenring hold` and other requests."""

from tokenring.faces import later

with later(__name__):
    from tokenring.engine.ask.answer import answer_questions
    from tokenring.engine.ask.answer_hold import KeptHold
    from tokenring.engine.ask.ask_hold import hold
    from tokenring.engine.ask.asker import Answers, Group, Weights, ask, group_of, running_groups
    from tokenring.engine.ask.board import Board
    from tokenring.engine.ask.calling import call_workers
    from tokenring.engine.ask.health import STANDS, WITHIN_S, Health, WorkerHealth, health, health_of
    from tokenring.engine.ask.places import is_stopped, private_folder, starting_again, state_of
    from tokenring.engine.ask.questions import asking_in, made_in, write_whole
    from tokenring.engine.ask.requested import Request, requested, said, sound
    from tokenring.engine.ask.requests import Requests, Session, tell_asker, tell_error
    from tokenring.engine.ask.running_now import EXCHANGE, LOOP, WAIT, Doing, RunningNow
