"""Python's part of the inner loop: what it is left for, done, until nothing is due or it is time."""

from collections.abc import Callable
from time import monotonic_ns
from typing import Any

from tokenring.engine.bridge import CompiledPart
from tokenring.engine.data import Runtime
from tokenring.engine.native import (
    ARRIVALS,
    HANDED_OVER,
    HAS_RUN,
    NOBODY,
    OPERATOR_STOPPED,
    PEERS_SLEEP,
    PYTHON_IS_DUE,
    QUIET,
    SIGNALLED,
    TIME_IS_UP,
    TO_EXCHANGE,
    TO_GIVE_BACK,
    TROUBLED,
    WAS_ACTIVE,
    WOKEN,
    turn,
)
from tokenring.engine.progress import APPLIED_ANY, FULL, INCOMING, PARKED, ProgressChannel
from tokenring.engine.running import Dataflows, Schedule
from tokenring.engine.worker.parking import Parking

_OPERATORS_A_STEP = 64  # runs of Python's operators within one step, so that sources get their turn

_ROUNDS_A_STEP = 64  # that ended in Python, where a step has no time of its own
_NO_LONGER = 1  # ns: long ago


class Turns:
    """One worker's turns of the inner loop."""

    def __init__(
        self,
        runtime: Runtime,
        schedule: Schedule,
        dataflows: Dataflows,
        compiled: CompiledPart,
        parking: Parking,
        progress: ProgressChannel,
        exchange_progress: Callable[[bool], int],
    ) -> None:
        """exchange_progress: that of `progress`, or of what checks it."""
        self._world = runtime.world
        self._lost = runtime.lost
        self._plane = runtime.plane
        self._tracker = runtime.tracker
        self._schedule = schedule
        self._dataflows = dataflows
        self._compiled = compiled
        self._parking = parking
        self._progress = progress
        self._exchange_progress = exchange_progress
        self._is_alone = runtime.peers == 1
        self.has_run: Callable[[int, int, int, int], None] = lambda *_: None
        """Told of runs of compiled operators where they are noted: row, ns, messages, rows."""
        self.going_round: list[tuple[Any, Any, Any]] = []
        """Sent around loops, not counted yet: push, time, batch."""

    def run(self, wait_ns: int, until_ns: int) -> bool:
        """Run the inner loop, and Python's part of it, until nothing is due, or it is time; whether there was
        something. wait_ns: how long to wait for something to do; until_ns: when to end (monotonic), 0: when nothing is
        due."""
        schedule, compiled, due = self._schedule, self._compiled, self._schedule.due
        graph, address = self._world.state, self._world.address
        budget = _OPERATORS_A_STEP
        rounds = 0
        active = False
        while budget:
            key, depends = NOBODY, 1
            if due:
                key = due[0]
                if self._is_alone and schedule.next_is_indifferent:
                    depends = 0
            compiled.before()
            if schedule.next:  # who asked for the next step is not to wait for it
                wait_ns, until_ns = 0, _NO_LONGER
            try:
                told = turn(address, key, depends, wait_ns, until_ns)
            except MemoryError:
                raise compiled.no_memory() from None
            compiled.after()
            if told & WAS_ACTIVE:
                active = True
            if told & HAS_RUN:
                self.has_run(graph.stopped_at, graph.run_ns, graph.run_messages, graph.run_rows)
            if told & PEERS_SLEEP:
                self._parking.wake_peers()
            if told & PYTHON_IS_DUE:
                while True:
                    budget -= 1
                    schedule.first_due().run()
                    if self.going_round:
                        self._send_round()
                    if not budget or not self._is_alone or not schedule.next_is_indifferent:
                        break
                graph.unpublished = active = True
            elif told & HANDED_OVER:
                compiled.edges.hand_on()
                if self.going_round:
                    self._send_round()
            elif told & SIGNALLED:
                for number in self._world.take_signalled():
                    schedule.make_due(self._dataflows.operators[number])
            elif told & OPERATOR_STOPPED:
                compiled.attend()
            elif told & ARRIVALS:
                self._plane.deliver(graph.arrived_for_python)
            elif told & TO_GIVE_BACK:
                schedule.keep_waiting_messages()
                self._plane.end_round()
            elif told & (TO_EXCHANGE | TROUBLED):
                flags = self._exchange_outside(told)
                active |= flags & ~INCOMING != 0
                if not flags & (APPLIED_ANY | INCOMING) and graph.position < 0 and not due and not graph.due_count:
                    break
            elif told & WOKEN:
                self._tell_woken()
            elif told & (QUIET | TIME_IS_UP) and not due:
                break
            # The loop looks at the time only in rounds that end without Python. Who was woken sees what woke it, before
            # a source sends more in the next step.
            if graph.position < 0 and not due:
                rounds += 1
                if monotonic_ns() >= until_ns if until_ns else rounds == _ROUNDS_A_STEP:
                    break
        return active

    def _exchange_outside(self, told: int) -> int:
        """Exchange progress where the inner loop left it to Python; the flags of that."""
        graph = self._world.state
        if told & TROUBLED:
            flags = self._progress.handle(graph.trouble)
            graph.trouble = 0
            return self.heed(flags)
        sent = graph.unpublished != 0
        if sent:
            self._plane.uncommitted = True  # compiled edges do not say what they wrote
        graph.unpublished = 0
        return self.exchange(sent)

    def _tell_woken(self) -> None:
        for number in self._tracker.woken():
            (self._dataflows.operators.get(number) or self._dataflows.by_number[number]).frontier_moved()

    def _send_round(self) -> None:
        """Hand on what was sent around loops; before progress is exchanged, since it is counted only now."""
        while self.going_round:
            round_trips, self.going_round[:] = iter(self.going_round[:]), []
            try:
                for push, at, batch in round_trips:
                    push(at, batch)
            finally:  # a stage that raises is no reason to lose what others sent
                self.going_round[:0] = round_trips
        self._plane.commit()

    def exchange(self, sent: bool) -> int:
        """Publish what is logged, apply what others published, tell who is woken; the flags of that. sent: whether data
        was sent since."""
        if self.going_round:  # by a manual input, which the program or a listener moves outside of operators' calls
            self._send_round()
        if self._lost.waiting:
            self._lost.release()
        if self._plane.uncommitted:
            self._plane.commit()
        return self.heed(self._exchange_progress(sent))

    def heed(self, flags: int) -> int:
        """Do what an exchange of progress asks for."""
        self._world.state.ring_is_full = flags & FULL
        if flags & APPLIED_ANY:
            self._tell_woken()
        if flags & PARKED:
            self._parking.wake_peers()
        return flags
