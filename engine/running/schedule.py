"""The part of a worker that knows which operators are to run: in this step, in the next, or after some time."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from time import monotonic_ns
from typing import TYPE_CHECKING

from tokenring.engine.running.dataflows import Dataflows
from tokenring.engine.running.operator import DUE, DUE_AND_KEPT, NOT_DUE, RunningOperator

if TYPE_CHECKING:
    from tokenring.engine.data import DataPlane

IN_TURN = 2**32
"""Operators of loops are due in turn, after all others: one that feeds itself lets others run."""


_UNTIL_ROOM_NS = 100_000


class Scheduling:
    """What is due. The worker's step takes it from here."""

    dataflows: Dataflows
    plane: "DataPlane"
    wake: Callable[[], None]

    def __init__(self) -> None:
        self._due: list[int] = []  # of numbers; those of loops' operators plus multiples of IN_TURN, ever larger
        self._turns = count(IN_TURN, IN_TURN)
        self._next: deque[RunningOperator] = deque()  # other threads may add to it
        self.is_parked = False
        """Whether the worker's own thread sleeps, or is about to: whoever gives it something to do is another."""
        self._is_behind = False  # whether the last step ended before some due operators
        self._due_since: list[RunningOperator] = []  # while it is: those that became due, or got more, since then
        self.timers: list[tuple[int, int, RunningOperator | None]] = []
        """A heap of (monotonic ns, ordinal, operator; None: `look_outside`)."""
        self._timer_ordinals = count()
        self.look_outside: Callable[[], None] = lambda: None
        """What `look_outside_after` calls."""

    def schedule(self, operator: RunningOperator) -> None:
        """Run `operator` in this step if it is still to come, else in the next."""
        if operator.due == DUE:
            return
        if operator.due == NOT_DUE:
            heappush(self._due, operator.number + next(self._turns) if operator.in_loop else operator.number)
        if self._is_behind:
            self._due_since.append(operator)
        operator.due = DUE

    def _keep_waiting_messages(self) -> None:
        """The budget ended before some due operators: what waits for them must not be views into bytes given back.

        Each is looked at once, and again when it got more: a step that leaves many due costs what is new in it.
        """
        operators = self.dataflows.operators
        new = self._due_since if self._is_behind else [operators[index % IN_TURN] for index in self._due]
        for operator in new:
            if operator.due:  # else it has run since
                for port in operator.inputs:
                    port.end_call()
                operator.due = DUE_AND_KEPT
        self._due_since = []
        self._is_behind = True

    def _catch_up(self) -> None:
        """Nobody is due any more."""
        self._is_behind = False
        self._due_since = []

    def activate(self, operator: RunningOperator) -> None:
        """Run `operator` in the next step. From whatever thread: a worker that sleeps wakes up."""
        if not operator.is_next:
            operator.is_next = True
            self._next.append(operator)
        if self.is_parked:
            self.wake()

    def activate_after(self, operator: RunningOperator, delay_ns: int) -> None:
        """Run `operator` once `delay_ns` have passed. From whatever thread."""
        heappush(self.timers, (monotonic_ns() + delay_ns, next(self._timer_ordinals), operator))
        if self.is_parked:
            self.wake()

    def look_outside_after(self, delay_ns: int) -> None:
        """Call `look_outside` at the beginning of a step, once `delay_ns` have passed; a signal handler may ask for it.
        """
        heappush(self.timers, (monotonic_ns() + delay_ns, next(self._timer_ordinals), None))

    def _run_next(self) -> None:
        """Those that asked for this step become due."""
        while self._next:
            operator = self._next.popleft()
            operator.is_next = False
            self._schedule_if_room(operator)

    def _schedule_if_room(self, operator: RunningOperator) -> None:
        """Run it in this step; a source only if not too many rows wait for room, else later. No source makes room:
        queues are drained by their receivers, whatever sources do.
        """
        if operator.inputs or not self.plane.stops_sources:
            self.schedule(operator)
        else:
            self.activate_after(operator, _UNTIL_ROOM_NS)

    def _fire_timers(self) -> None:
        now_ns = monotonic_ns()
        while self.timers and self.timers[0][0] <= now_ns:
            operator = heappop(self.timers)[2]
            if operator is None:
                self.look_outside()
            elif self.dataflows.operators.get(operator.number) is operator:  # its dataflow may be finished
                self._schedule_if_room(operator)
