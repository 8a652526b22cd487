"""A worker: one process's share of every dataflow of its group, and the loop that runs it.

A step: fire timers, take in messages, run due operators (what they send to themselves included), exchange progress.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from heapq import heappop
from threading import get_ident
from time import monotonic_ns
from typing import Any

from tokenring.engine.data import DataPlane
from tokenring.engine.declare import Scope
from tokenring.engine.errors import GroupStopped
from tokenring.engine.explain import Inspectable, StallWatch
from tokenring.engine.progress import APPLIED_ANY, INCOMING, PARKED, ChangeLog, ProgressChannel, Tracker
from tokenring.engine.running import (
    IN_TURN,
    NOT_DUE,
    Dataflows,
    Garbage,
    InputHandle,
    Publication,
    Room,
    Scheduling,
    put_in_place,
    refuse_step,
)
from tokenring.engine.tokens import LostTokens
from tokenring.engine.worker.agreement import Agreement
from tokenring.engine.worker.build import build_dataflow
from tokenring.engine.worker.checked_progress import CheckedProgressChannel
from tokenring.engine.worker.config import EXHAUSTIVE, Config
from tokenring.engine.worker.stopping import Stopping
from tokenring.shm.memory import Segment, peek
from tokenring.shm.queues import ParkingLot, anything_waiting, begin_parking, end_parking, parked_address

_LONGEST_SLEEP_S = 0.2  # a wake-up cannot be lost; should one be all the same, it costs this much
_OPERATORS_A_STEP = 64  # runs of operators within one step, so that sources get their turn
_EXCHANGE_EVERY_NS = 5_000
_STOP_CHECK_STEPS = 256


class Worker(Inspectable, Scheduling, Stopping):
    """The engine's face inside a worker process: build dataflows, feed inputs, step, wait."""

    def __init__(self, segment: Segment, lot: ParkingLot, index: int, config: Config) -> None:
        Scheduling.__init__(self)
        Stopping.__init__(self, segment)
        self.index = index
        self.peers = config.workers
        self.config = config
        self.tracker = Tracker()
        self.log = ChangeLog()
        self.plane = DataPlane(segment, index, config.backlog_bytes, config.checks == EXHAUSTIVE)
        channel = CheckedProgressChannel if config.checks == EXHAUSTIVE else ProgressChannel
        self.progress = channel(segment, index, self.tracker, self.log, self.plane.incoming)
        self.dataflows = Dataflows()
        self.inputs: list[InputHandle] = self.dataflows.inputs
        self.steps = 0
        self.agreement = Agreement(segment, index, config.oversubscribed, self._while_waiting)
        self.events: Any = None  # engine/running/events.py, while somebody reads it
        self.publish: Callable[[Publication], None] = lambda one: put_in_place([one])  # a launcher does it
        self.report: Callable[[Any], None] = lambda _: None  # to the launcher's `on_note`, if one listens
        self._segment = segment
        self._lot = lot
        self.wake = partial(lot.post, index)
        self._stop_address = segment.address(segment.layout.stop)
        self.going_round: list[tuple[Any, Any, Any]] = []  # sent around loops, not counted yet: push, time, batch
        self.thread = get_ident()
        self.is_stepping = False  # stays True after a failure
        self.failure: BaseException | None = None
        """What ended a step in the middle: this worker publishes nothing more."""
        self._is_alone = self.peers == 1
        self._incoming = 0
        self.lost = LostTokens(self.log)
        self._garbage = Garbage()
        self.room = Room(self, config.backlog_bytes)
        self._stall = StallWatch(self)
        self._spin_ns = 0 if config.oversubscribed else config.spin_us * 1000

    # Building

    @contextmanager
    def dataflow(self, name: str = "dataflow") -> Iterator[Scope]:
        """Declare a dataflow inside the block; it runs from the block's end on. All workers must declare the same ones
        in one order.
        """
        if self.is_stepping or get_ident() != self.thread:
            refuse_step(self)
        scope = Scope(name)
        yield scope
        scope.close()
        scope.graph.validate()
        everywhere = self.agreement.declare(scope.graph, self.dataflows.forgotten(self.tracker))
        try:
            scope.running = build_dataflow(self, scope, everywhere)
        except BaseException as error:
            self.fail(error)
            raise
        self.agreement.built(name)  # nobody sends before all can receive

    def barrier(self) -> int:
        """Wait, stepping, until every worker of the group is here; when the last came, alike on all (monotonic_ns)."""
        if self.is_stepping or get_ident() != self.thread:
            refuse_step(self)
        return self.agreement.barrier()

    # Running

    def step(self) -> bool:
        """Do what there is to do now; False if there was nothing.

        Due operators run in topological order, then those of loops in turn. Whenever one took a while, progress is
        exchanged and new messages are taken in before the next, so that peers wait for a part of a step only.
        """
        if self.is_stepping or get_ident() != self.thread:
            refuse_step(self)
        self.is_stepping = True
        try:
            self.steps += 1
            if self.steps % _STOP_CHECK_STEPS == 0:
                self._check_stop()
                self._stall.look()
            if self._next:
                self._run_next()
            if self.timers:
                self._fire_timers()
            plane, due, operators = self.plane, self._due, self.dataflows.operators
            budget = _OPERATORS_A_STEP
            active = unpublished = False
            exchanged_ns = 0
            if self._incoming:
                active = plane.look() > 0
            while due and budget:
                budget -= 1
                operator = operators[heappop(due) % IN_TURN]
                operator.due = NOT_DUE
                operator.run()
                if self.going_round:
                    self._send_round()
                if plane.uncommitted:
                    plane.commit()
                active = unpublished = True
                if self._is_alone and due and operators[due[0] % IN_TURN].is_indifferent:
                    continue  # nobody waits for what was done, and the next does not ask what time it is
                now_ns = monotonic_ns()
                if now_ns - exchanged_ns > _EXCHANGE_EVERY_NS:
                    exchanged_ns = now_ns
                    unpublished = False
                    self._exchange(True)
                    if self._incoming:
                        plane.look()
                if not due and plane.channels:
                    plane.give_back()
                    plane.look()
            if due:
                self._keep_waiting_messages()
            elif self._is_behind:
                self._catch_up()
            plane.give_back()
            if plane.waiting and plane.retry():
                active = unpublished = True
            if unpublished or not self._is_alone or self.log.offset or self.lost.waiting or self.going_round:
                active |= self._exchange(unpublished) != 0
            if self.dataflows.finished:
                self.dataflows.forget_finished(self.tracker, self.plane, self.progress)
        except BaseException as error:
            self.fail(error)
            raise
        self.is_stepping = False
        return active or bool(due) or bool(self._next)

    def _send_round(self) -> None:
        """Hand on what was sent around loops; before progress is exchanged, since it is counted only now."""
        while self.going_round:
            round_trips, self.going_round[:] = self.going_round[:], []
            for push, at, batch in round_trips:
                push(at, batch)
        self.plane.commit()

    def _exchange(self, sent: bool) -> int:
        if self.going_round:  # by a manual input, which the program or a listener moves outside of operators' calls
            self._send_round()
        if self.lost.waiting:
            self.lost.release()
        if self.plane.uncommitted:
            self.plane.commit()
        flags = self.progress.exchange(sent)
        if flags:
            self._incoming = flags & INCOMING
            if flags & APPLIED_ANY:
                for number in self.tracker.woken():
                    (self.dataflows.operators.get(number) or self.dataflows.by_number[number]).frontier_moved()
            if flags & PARKED:
                self._wake_parked()
        else:
            self._incoming = 0
        return flags

    def _wake_parked(self) -> None:
        peer = self.progress.next_parked(0)
        while peer >= 0:
            self._lot.post(peer)
            peer = self.progress.next_parked(peer + 1)

    def flush(self) -> None:
        """Publish logged changes at once, unless a step is under way and will."""
        if self.is_stepping:
            return
        self.is_stepping = True  # nor may a listener that is called in it
        try:
            self._exchange(True)
        except BaseException as error:
            self.fail(error)
            raise
        self.is_stepping = False

    def fail(self, error: BaseException) -> None:
        """Go on no more: what was in hand is lost, and to publish that it was consumed would pass its time."""
        if self.failure is None:
            self.failure = error
        self.is_stepping = True

    def step_or_park(self, limit_s: float = _LONGEST_SLEEP_S) -> bool:
        """Step; with nothing to do, spin a little, then sleep until there is something, a timer fires or time is up."""
        if self.step():
            return True
        if self._spin(time.monotonic_ns() + min(self._spin_ns, int(limit_s * 1e9))):
            return True
        self._park(limit_s)
        return False

    def _spin(self, deadline_ns: int) -> bool:
        """Step again and again until there is something to do, True, or it is time."""
        while not (found := self.step()) and time.monotonic_ns() < deadline_ns:
            pass
        return found

    def step_while(self, condition: Callable[[], bool]) -> None:
        """Step, and sleep when there is nothing to do, while `condition()`: typically `lambda: probe.less_than(t)`."""
        while condition():
            self.step_or_park()

    def run(self) -> None:
        """Close the manual inputs and run until nothing can happen any more: all tokens dropped, all messages taken."""
        if self.is_stepping or get_ident() != self.thread:
            refuse_step(self)
        for handle in self.inputs:
            handle.close()
        # Whoever is due still learns that its frontiers are complete.
        while not self.complete or self._due or self.dataflows.finished:
            self.step_or_park()

    @property
    def complete(self) -> bool:
        """Whether every count is zero, here and so everywhere."""
        return self.tracker.complete and self.log.offset == 0 and not self.lost.waiting

    def _while_waiting(self, stepping: bool) -> None:
        """What is done while peers are waited for: steps, so that they are not held up."""
        if stepping and self.dataflows.operators:
            self.step()
        self._check_stop()

    # Sleeping and stopping

    def _park(self, limit_s: float) -> None:
        """Sleep until woken; the protocol is in tokenring.shm.queues.parking."""
        self._check_stop()
        self._garbage.when_quiet()
        self.is_parked = True  # before the last look: what another thread brings from now on wakes us
        try:
            self._sleep(limit_s)
        finally:
            self.is_parked = False
        self._stall.look()

    def _sleep(self, limit_s: float) -> None:
        if self._due or self._next or self.plane.waiting or self.log.offset:
            return
        sleep_s = min(limit_s, _LONGEST_SLEEP_S)
        if self.timers:
            sleep_s = min(sleep_s, (self.timers[0][0] - time.monotonic_ns()) / 1e9 - 100e-6)
        if sleep_s <= 0:
            return
        begin_parking(parked_address(self._segment, self.index))
        if self.progress.nothing_new and not anything_waiting(self.plane.incoming) and peek(self._stop_address) == 0:
            self._lot.wait(self.index, sleep_s)
        end_parking(self._segment, self.index)

    def _check_stop(self) -> None:
        self.run_closing()
        if peek(self._stop_address):  # SYNC stop: acquire, pairs with the launcher
            raise GroupStopped(f"worker {self.index} was asked to stop")
        self._garbage.when_busy()
