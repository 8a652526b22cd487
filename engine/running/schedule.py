"""Which operators of a worker are to run: in this step, in the next, or after some time."""

from collections import deque
from collections.abc import Callable
from heapq import heappop, heappush
from itertools import count
from time import monotonic_ns

from tokenring.engine.data import DataPlane, Operator
from tokenring.engine.native import NUMBER_BITS, World
from tokenring.engine.running.dataflows import Dataflows
from tokenring.engine.running.operator import DUE, DUE_AND_KEPT, NOT_DUE, RunningOperator

_NUMBER = (1 << NUMBER_BITS) - 1

_UNTIL_ROOM_NS = 100_000


class Schedule:
    """What is due on one worker, whose step takes it from here."""

    __slots__ = (
        "_operators",
        "_plane",
        "_timer_ordinals",
        "_wake",
        "_world",
        "due",
        "is_parked",
        "look_outside",
        "next",
        "timers",
    )

    def __init__(self, dataflows: Dataflows, plane: DataPlane, world: World, wake: Callable[[], None]) -> None:
        """wake: ends the sleep of the worker's own thread."""
        self._world = world
        self._operators = dataflows.operators
        self._plane = plane
        self._wake = wake
        self.due: list[int] = []
        """A heap of the keys of those that are due and Python's: see engine/native/due.py."""
        self.next: deque[Operator] = deque()
        """Who runs in the next step; other threads may add to it."""
        self.is_parked = False
        """Whether the worker's own thread sleeps, or is about to: whoever gives it something to do is another."""
        self.timers: list[tuple[int, int, Operator | None]] = []
        """A heap of (monotonic ns, ordinal, operator; None: `look_outside`)."""
        self._timer_ordinals = count()
        self.look_outside: Callable[[], None] = lambda: None
        """What `look_outside_after` calls."""

    def make_due(self, operator: Operator) -> None:
        """Run `operator` in this round if it is still to come, else in the next."""
        if operator.due == DUE:
            return
        if operator.due == NOT_DUE:
            if operator.compiled >= 0:
                self._world.make_due(operator.compiled)
                return
            graph, number = self._world.state, operator.number
            heappush(self.due, (graph.round + (number <= graph.position)) << NUMBER_BITS | number)
        operator.due = DUE

    def first_due(self) -> RunningOperator:
        """Take the first of Python's operators that are due off the heap: it is to run now."""
        number = heappop(self.due) & _NUMBER
        self._world.state.position = number
        operator = self._operators[number]
        operator.due = NOT_DUE
        return operator

    @property
    def next_is_indifferent(self) -> bool:
        """Whether the next that is due is Python's, of this round, and does not ask what time it is."""
        graph = self._world.state
        if not self.due or graph.due_count or self.due[0] >> NUMBER_BITS != graph.round:
            return False
        return self._operators[self.due[0] & _NUMBER].is_indifferent

    def keep_waiting_messages(self) -> None:
        """The round ends: what waits for those that are due must not be views into bytes given back."""
        for key in self.due:
            operator = self._operators[key & _NUMBER]
            if operator.due == DUE:
                for port in operator.inputs:
                    port.end_call()
                operator.due = DUE_AND_KEPT

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
        if self.due or self.next or self._world.state.due_count:
            return 0
        wake_ns = self._world.state.wake_ns
        if self.timers:
            wake_ns = min(wake_ns or self.timers[0][0], self.timers[0][0])
        return min(limit_s, (wake_ns - monotonic_ns()) / 1e9 - 100e-6) if wake_ns else limit_s

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
