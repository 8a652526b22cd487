"""The control stream's source, on worker 0: which bins change their worker from which time on, ahead of the rows.

Its token stands a little later than the rows are: so far, all is decided, and a change that somebody asks for comes
into force at that time. How far ahead that is follows the pace of the rows, so that it is moved some hundred times a
second at most, and a change waits for some hundredths of a second at least.
"""

from collections import deque
from collections.abc import Callable, Sequence
from time import monotonic_ns
from typing import Any, NamedTuple

import numpy as np

from tokenring.engine import COMPLETE, MAX_TIME, Batch, OperatorContext, OutputPort, Time, Token, WhenStopped
from tokenring.operators.migrate.bins import MOST_BINS
from tokenring.operators.migrate.following import beside_those_that_follow, mark_following
from tokenring.operators.migrate.mover import CHANGES, Mover
from tokenring.operators.migrate.plans import Step
from tokenring.operators.migrate.steer import NEVER
from tokenring.operators.migrate.steering import Steering, come_to

_SOON_NS, _LATE_NS = 5_000_000, 40_000_000  # between two moves of the token: then the lead is too short, or too long
_MOST_GROWTH = 64  # of the lead, at once


class Done(NamedTuple):
    """A step that is in force, all its state having arrived."""

    time: Time
    bins: int
    began_ns: int
    """When its time was decided (monotonic)."""
    done_ns: int


class Control:
    """One worker's part of the control stream; worker 0 alone has its source."""

    def __init__(
        self, movers: list[Mover], workers: np.ndarray, operators: Callable[[], Sequence[Any]] = list
    ) -> None:
        """workers: int64 (bins,), where each bin is at first; kept up with what is decided. operators: gives those of
        the graph, once it is whole."""
        self._movers, self.workers, self._operators = movers, workers, operators
        self.scheduled: deque[tuple[Time, list[tuple[int, int]]]] = deque()
        """What comes into force at times that are given, in their order."""
        self.steps: deque[Step] = deque()
        """What comes into force one after another, as soon as it can."""
        self.under_way: deque[tuple[Time, int, int]] = deque()
        """What was decided and has not arrived: the time, how many bins, and when that was decided (monotonic)."""
        self.begun: Step | None = None
        """The step that is under way, if one is."""
        self.left: list[Step] = []
        """Steps that had not begun when it was over."""
        self.done: deque[Done] = deque(maxlen=MOST_BINS)
        self.stands = False
        """Whether no further step is to begin for now."""
        self.is_over = False
        """Whether nothing moves any more: no rows come, or no operator has a key."""
        self._source: OperatorContext | None = None
        self._lead = 1
        self._moved_ns = self._reached = self._passed = 0  # of the last move of the token: when, where rows were, since

    def activate(self) -> None:
        """Let the source look."""
        if self._source is not None:
            self._source.activate()

    def asked(self) -> None:
        """One of F's came to a threshold: it asks no more, the source looks."""
        for steering in self._steerings():
            state = steering.state
            if state.ask_reached != NEVER and (steering.is_over or come_to(state) >= state.ask_reached):
                state.ask_reached = NEVER
            if state.ask_known != NEVER and state.known > state.ask_known:
                state.ask_known = NEVER
        self.activate()

    def construct(self, context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        """The constructor of the source."""
        mark_following(self._operators(), {one.number: one for mover in self._movers for one in mover.steerings})
        if context.worker_index != 0 or not self._movers:
            token.drop()
            self._end()
            return lambda output: None
        self._source = context
        context.when_stopped(WhenStopped.FOLLOWS)
        unheard = beside_those_that_follow(self._movers)
        for steering in unheard:
            steering.is_beside = True
            steering.origin.on_advance(self.activate)

        def logic(output: OutputPort) -> None:
            while unheard:  # a probe listens once the dataflow is built
                unheard.pop().origin.listen(True)
            if token.live:
                self._look(token, output)

        return logic

    def _steerings(self) -> list[Steering]:
        return [steering for mover in self._movers for steering in mover.steerings]

    def _end(self) -> None:
        self.is_over = True
        self.left.extend(self.steps)
        self.begun = None
        self.steps.clear()
        self.scheduled.clear()
        self.under_way.clear()

    def _look(self, token: Token, output: OutputPort) -> None:
        steerings = self._steerings()
        states = [steering.state for steering in steerings]
        while self.under_way and all([one.known > self.under_way[0][0] for one in states]):
            self.done.append(Done(*self.under_way.popleft(), monotonic_ns()))
            self.begun = self.begun if self.under_way else None
        if all([steering.is_over for steering in steerings]):
            token.drop()
            self._end()
            return
        reached = max([come_to(one) for one in states])
        if reached + self._lead // 2 >= token.time:
            self._advance(token, output, reached)
        if self.steps and not self.under_way and not self.stands and token.time < MAX_TIME:
            time = token.time
            self.begun = self.steps.popleft()
            self._give(token, output, time, list(self.begun.items()))
            token.downgrade(time + 1)
        for one in states:
            one.ask_reached = NEVER if one.reached == COMPLETE else token.time - self._lead // 2
            one.ask_known = self.under_way[0][0] if self.under_way else NEVER

    def _advance(self, token: Token, output: OutputPort, reached: Time) -> None:
        now_ns = monotonic_ns()
        since_ns, passed = now_ns - self._moved_ns, reached - self._reached
        if since_ns < _SOON_NS:  # by so much that the next time is not so soon, as far as this one tells
            least = min(passed, self._passed)  # so far rows come at once; twice, as one jump says nothing of their pace
            growth = min(2 * _SOON_NS // max(since_ns, 1), _MOST_GROWTH)
            self._lead = min(max(self._lead, least) * growth, MAX_TIME // _MOST_GROWTH)
        elif since_ns > _LATE_NS:
            self._lead = max(1, self._lead // 2)
        self._moved_ns, self._reached, self._passed = now_ns, reached, passed
        target = max(token.time, min(reached + 1 + self._lead, MAX_TIME))
        while self.scheduled and self.scheduled[0][0] <= target:
            time, moved = self.scheduled.popleft()
            self._give(token, output, max(time, token.time), moved)
            target = max(target, min(time + 1, MAX_TIME))
        token.downgrade(target)

    def _give(self, token: Token, output: OutputPort, time: Time, moved: list[tuple[int, int]]) -> None:
        numbers, workers = zip(*moved, strict=True)
        self.workers[list(numbers)] = workers
        output.give(token, Batch(CHANGES, {"bin": numbers, "worker": workers}), time)
        if self.under_way and self.under_way[-1][0] == time:
            _, bins, began_ns = self.under_way.pop()
            self.under_way.append((time, bins + len(moved), began_ns))
        else:
            self.under_way.append((time, len(moved), monotonic_ns()))
