"""Which operators of a worker are to run: in this step, in the next, or after some time."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from time import monotonic_ns

from tokenring.engine.data import DataPlane, Operator
from tokenring.engine.running.dataflows import Dataflows
from tokenring.engine.running.operator import DUE, DUE_AND_KEPT, NOT_DUE

IN_TURN = 2**32
"""Operators of loops are due in turn, after all others: one that feeds itself lets others run."""

_UNTIL_ROOM_NS = 100_000


class Schedule:
    """What is due on one worker, whose step takes it from here."""

    __slots__ = (
        "_due_since",
        "_operators",
        "_plane",
        "_timer_ordinals",
        "_turns",
        "_wake",
        "due",
        "is_behind",
        "is_parked",
        "look_outside",
        "next",
        "timers",
    )

    def __init__(self, dataflows: Dataflows, plane: DataPlane, wake: Callable[[], None]) -> None:
        """wake: ends the sleep of the worker's own thread."""
        self._operators = dataflows.operators
        self._plane = plane
        self._wake = wake
        self.due: list[int] = []
        """A heap of the numbers of those that are due; those of loops' operators plus multiples of IN_TURN, ever
        larger.
        """
        self._turns = count(IN_TURN, IN_TURN)
        self.next: deque[Operator] = deque()
        """Who runs in the next step; other threads may add to it."""
        self.is_parked = False
        """Whether the worker's own thread sleeps, or is about to: whoever gives it something to do is another."""
        self.is_behind = False
        """Whether the last step ended before some due operators."""
        self._due_since: list[Operator] = []  # while it is: those that became due, or got more, since then
        self.timers: list[tuple[int, int, Operator | None]] = []
        """A heap of (monotonic ns, ordinal, operator; None: `look_outside`)."""
        self._timer_ordinals = count()
        self.look_outside: Callable[[], None] = lambda: None
        """What `look_outside_after` calls."""

    def make_due(self, operator: Operator) -> None:
        """Run `operator` in this step if it is still to come, else in the next."""
        if operator.due == DUE:
            return
        if operator.due == NOT_DUE:
            heappush(self.due, operator.number + next(self._turns) if operator.in_loop else operator.number)
        if self.is_behind:
            self._due_since.append(operator)
        operator.due = DUE

    def keep_waiting_messages(self) -> None:
        """The budget ended before some due operators: what waits for them must not be views into bytes given back.

        Each is looked at once, and again when it got more: a step that leaves many due costs what is new in it.
        """
        operators = self._operators
        new = self._due_since if self.is_behind else [operators[index % IN_TURN] for index in self.due]
        for operator in new:
            if operator.due:  # else it has run since
                for port in operator.inputs:
                    port.end_call()
                operator.due = DUE_AND_KEPT
        self._due_since = []
        self.is_behind = True

    def catch_up(self) -> None:
        """Nobody is due any more."""
        self.is_behind = False
        self._due_since = []

    def activate(self, operator: Operator) -> None:
        """Run `operator` in the next step. From whatever thread: a worker that sleeps wakes up."""
        if not operator.is_next:
            operator.is_next = True
            self.next.append(operator)
        if self.is_parked:
            self._wake()

    def activate_after(self, operator: Operator, delay_ns: int) -> None:
        """Run `operator` once `delay_ns` have passed. From whatever thread."""
        heappush(self.timers, (monotonic_ns() + delay_ns, next(self._timer_ordinals), operator))
        if self.is_parked:
            self._wake()

    def look_outside_after(self, delay_ns: int) -> None:
        """Call `look_outside` at the beginning of a step, once `delay_ns` have passed; a signal handler may ask for it.
        """
        heappush(self.timers, (monotonic_ns() + delay_ns, next(self._timer_ordinals), None))

    def idle_for(self, limit_s: float) -> float:
        """How long nothing here asks for a step, in seconds and at most `limit_s`; not positive if something does."""
        if self.due or self.next:
            return 0
        if self.timers:
            return min(limit_s, (self.timers[0][0] - monotonic_ns()) / 1e9 - 100e-6)
        return limit_s

    def run_next(self) -> None:
        """Those that asked for this step become due."""
        while self.next:
            operator = self.next.popleft()
            operator.is_next = False
            self._schedule_if_room(operator)

    def _schedule_if_room(self, operator: Operator) -> None:
        """Run it in this step; a source only if not too many rows wait for room, else later. No source makes room:
        queues are drained by their receivers, whatever sources do.
        """
        if operator.inputs or not self._plane.stops_sources:
            self.make_due(operator)
        else:
            self.activate_after(operator, _UNTIL_ROOM_NS)

    def fire_timers(self) -> None:
        """Those whose time has come become due."""
        now_ns = monotonic_ns()
        while self.timers and self.timers[0][0] <= now_ns:
            operator = heappop(self.timers)[2]
            if operator is None:
                self.look_outside()
                continue
            running = self._operators.get(operator.number)
            if running is not None and running is operator:  # else its dataflow is finished
                self._schedule_if_room(running)
