"""A worker: one process's share of every dataflow of its group, and the loop that runs it.

A step: fire timers, take in messages, run due operators (what they send to themselves included), exchange progress.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import partial
from os import getpid
from threading import get_ident
from time import monotonic_ns
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tokenring.engine import budget
from tokenring.engine.arguments import is_number, require_flags, whole_number
from tokenring.engine.bridge import CompiledPart
from tokenring.engine.data import DataPlane, Runtime
from tokenring.engine.declare import Scope, one_of
from tokenring.engine.errors import DataflowFailedError, GroupStopped, OperatorError, UsageError
from tokenring.engine.explain import Inspection, StallWatch, stop
from tokenring.engine.native import NOTED, World
from tokenring.engine.progress import ChangeLog, ProgressChannel, Tracker
from tokenring.engine.running import Dataflows, Garbage, Publication, Room, Schedule, put_in_place, refuse_step
from tokenring.engine.times import MAX_TIME
from tokenring.engine.worker.agreement import IS_IN_RUN, Agreement
from tokenring.engine.worker.assent import Assent
from tokenring.engine.worker.build import begin
from tokenring.engine.worker.config import EXHAUSTIVE, Config
from tokenring.engine.worker.dozing import Dozing
from tokenring.engine.worker.ending import Ending
from tokenring.engine.worker.parking import Parking
from tokenring.engine.worker.parting import Parting
from tokenring.engine.worker.turns import Turns
from tokenring.shm.memory import WORKER_LOOKS, Segment, poke, untouched_zeros
from tokenring.shm.queues import ParkingLot, anything_waiting

if TYPE_CHECKING:
    from tokenring.engine.running import EventLog

T = TypeVar("T")

_LONGEST_SLEEP_S = 0.2  # a wake-up cannot be lost; should one be all the same, it costs this much
_CHECK_NS = 1_000_000  # between two looks at what is seldom, in steps of a program's own
_LOOK_STEPS = 16  # between those of our own loop
_CHANGES = 1 << 17  # that the log has room for, in memory that is there once it is used
_LONGEST_TURN_NS = 1_000_000


def _trim_allocators() -> None:
    budget.trim_allocators()  # loaded here: most runs never sleep


class Worker:
    """The engine's face inside a worker process: build dataflows, feed inputs, step, wait."""

    scope_class = Scope
    answering: ClassVar[Mapping[str, Any]] = {}
    """What begins the answer to a request from outside, by its kind: of the worker, a folder and the question."""

    def __init__(self, segment: Segment, lot: ParkingLot, index: int, config: Config) -> None:
        self.index = index
        self.launcher = 0
        """The process that launched the group, by the number that it has for itself."""
        self.peers = config.workers
        self.sharing = config.workers - config.idle
        self.config = config
        exhaustive = config.checks == EXHAUSTIVE
        self.tracker = Tracker()
        self.log = ChangeLog(_CHANGES, untouched_zeros)
        self.world = World()
        self.plane = DataPlane(segment, index, config.backlog_bytes, self.world, exhaustive)
        self.progress = ProgressChannel(segment, index, self.tracker, self.log, self.plane.incoming)
        self.dataflows = Dataflows()
        self.inputs = self.dataflows.inputs
        self.parking = Parking(segment, lot, index, self.plane, self.progress)
        self.schedule = Schedule(self.dataflows, self.plane, self.world, self.parking.wake)
        self.runtime = Runtime(index, self.peers, self.log, self.tracker, self.plane, self.schedule, self.world)
        self.compiled = CompiledPart(self.world, self.log, self.plane, self.tracker)
        self.compiled.attach(segment, index, self.progress, exhaustive)
        self.dataflows.forget_compiled = self.compiled.forget
        self.lost, self.thread = self.runtime.lost, self.runtime.thread
        checked = None
        if exhaustive:
            from tokenring.engine.worker.checked_progress import CheckedProgress

            checked = CheckedProgress(self.progress, self.runtime, self.dataflows)
        self.turns = Turns(
            self.runtime, self.schedule, self.dataflows, self.compiled, self.parking, self.progress,
            (checked or self.progress).exchange,
        )  # fmt: skip
        self.ending = Ending(segment, self.schedule, self.parking.wake_peers, self)
        self.inspection = Inspection(self.runtime, self.dataflows, self.flush)
        self._kept: dict[Any, Any] = {}
        self.steps = 0
        self.agreement = Agreement(segment, index, config.spin_us, self._while_waiting, self._keep_promise)
        self.assent = Assent(segment, index, self)
        self.parting = Parting(segment, self)
        self.events: EventLog | None = None  # what the engine does, while somebody reads it
        self.publish: Callable[[Publication], None] = lambda one: put_in_place([one])  # a launcher does it
        self.tell_dropped: Callable[[list[Any]], None] = lambda _: None  # what a stop leaves open here, as plain values
        self.report: Callable[[Any], None] = lambda _: None  # to the launcher's `on_note`, if one listens
        self.is_stepping = False  # stays True after a failure
        self._settles = self._keeps_program = False
        self.steps_while_waiting = True
        """Whether peers that are waited for may need its steps: not before all is declared that is to begin at once."""
        self.waits = 0
        """In how many calls of `step_while` the program is."""
        self._looks, self._looks_address = 0, segment.address(segment.layout.worker(index) + WORKER_LOOKS)
        self.failure: BaseException | None = None
        """What ended a step in the middle: this worker publishes nothing more."""
        self._garbage = Garbage(partial(budget.anonymous_bytes, getpid()), _trim_allocators)
        self.room = Room(self, config.backlog_bytes, config.memory_bytes > 0)
        self._relief = budget.Relief(segment, self.inspection, config.memory_bytes) if config.memory_bytes else None
        self._check_at_ns = 0
        self._stall = StallWatch(self.inspection, self.schedule, self.progress, self.lost)
        self._spin_ns = config.spin_us * 1000
        self.dozing = Dozing(self, segment, lot, self.step_or_park)
        self.dozing.may_doze(index >= self.sharing)

    # Building

    @contextmanager
    def dataflow(self, name: str = "dataflow", *, coordinates: Sequence[str] = ()) -> Iterator[Scope]:
        """Declare a dataflow inside the block; it runs from the block's end on. All workers must declare the same ones
        in one order. coordinates: see Scope.
        """
        if self.is_stepping or get_ident() != self.thread:
            refuse_step(self)
        scope = self.new_scope(name, coordinates)
        yield scope
        self.build(scope)

    def new_scope(self, name: str, coordinates: Sequence[str] = ()) -> Scope:
        """A dataflow to be declared."""
        scope = self.scope_class(name, coordinates)
        scope.worker_kept = self._kept
        return scope

    def declare(self, scope: Scope, function: Callable[[Any], Any]) -> None:
        """Let a function that came from outside declare a dataflow."""
        function(scope)

    def require_removable(self, dataflow: str) -> None:
        """Raise UsageError if others need what this dataflow makes."""

    def importers_of(self, dataflow: str) -> list[str]:
        """The dataflows that import what this one exports."""
        return []

    def set_failure(self, dataflow: str, failure: str) -> None:
        """Let nobody read what a dataflow exports, since that has failed; "": it was removed, and others may export
        what it did."""

    def build(self, scope: Scope) -> None:
        """Let what was declared run, once all workers have declared the same."""
        begin(self, scope)
        self._garbage.when_built()

    def kept(self, kind: type[T]) -> T:
        """The one object of that class that belongs to this worker: see `Scope.kept_by_worker`."""
        return one_of(self._kept, kind)

    def barrier(self) -> int:
        """Wait, stepping, until every worker of the group is here; when the last came, alike on all (monotonic_ns)."""
        if self.is_stepping or get_ident() != self.thread:
            refuse_step(self)
        return self.agreement.barrier()

    # Running

    def step(self, wait_ns: int = 0, until_ns: int = 0) -> bool:
        """Do what there is to do now; False if there was nothing.

        What is due runs in rounds, each operator once a round, in topological order. Whenever a round has taken a
        while, progress is exchanged within it, so that peers wait for a part of it only. wait_ns: how long to wait for
        something to do; until_ns: go on until then (monotonic) while there is something; 0: for some rounds. UsageError
        for what is no whole number.
        """
        if self.is_stepping or get_ident() != self.thread:
            refuse_step(self)
        if wait_ns.__class__ is not int or until_ns.__class__ is not int or not 0 <= wait_ns | until_ns <= MAX_TIME:
            wait_ns = whole_number(f"worker {self.index}, step", "wait_ns", wait_ns, 0)
            until_ns = whole_number(f"worker {self.index}, step", "until_ns", until_ns, 0)
        self.is_stepping = True
        try:
            self.steps += 1
            now_ns = until_ns or monotonic_ns()
            if until_ns or now_ns >= self._check_at_ns:
                self._check_at_ns = now_ns + _CHECK_NS
                self._check_stop()
                if not until_ns or self.steps % _LOOK_STEPS == 0:
                    self._look_around()
                self._stall.look()
            schedule = self.schedule
            if schedule.next:
                schedule.run_next()
            if schedule.timers:
                schedule.fire_timers()
            active = self.turns.run(wait_ns, until_ns)
            if self.plane.retry():
                active = True
                self.turns.exchange(True)
            elif self.lost.waiting or self.turns.going_round:
                active |= self.turns.exchange(True) != 0
            self.compiled.kept.let_go()
            if self.dataflows.finished:
                self.dataflows.forget_finished(self.tracker, self.plane)
        except BaseException as error:
            if not self._fails_alone(error):
                self.fail(error)
                raise
            active = True
        self.is_stepping = False
        return active or bool(schedule.due) or bool(schedule.next)

    def flush(self) -> None:
        """Publish logged changes at once, unless a step is under way and will."""
        if self.is_stepping:
            return
        self.is_stepping = True  # nor may a listener that is called in it
        try:
            self.turns.exchange(True)
        except BaseException as error:
            if not self._fails_alone(error):
                self.fail(error)
                raise
        self.is_stepping = False

    def _fails_alone(self, error: BaseException) -> bool:
        """Whether what was raised ends the dataflow of its operator alone; then that has stopped here."""
        dataflow = self.dataflows.owner(error.number) if isinstance(error, OperatorError) else None
        if dataflow is None or dataflow.when_failed is None:
            return False
        stop(dataflow, self.runtime, self.schedule)
        self.world.state.unpublished = True  # what was sent before, and the rows of others
        try:
            dataflow.when_failed(str(error))
        except (OSError, DataflowFailedError) as why:  # the others cannot be told, or the program's own depends on it
            error.args = (f"{error}; that ends the run: {why}",)
            return False
        return True

    def fail(self, error: BaseException) -> None:
        """Go on no more: what was in hand is lost, and to publish that it was consumed would pass its time."""
        if self.failure is None:
            self.failure = error
        self.is_stepping = True

    def step_or_park(self, limit_s: float = _LONGEST_SLEEP_S) -> bool:
        """Step; with nothing to do, spin a little, then sleep until there is something, a timer fires or time is up."""
        if limit_s is not _LONGEST_SLEEP_S and not is_number(limit_s):
            raise UsageError(f"worker {self.index}, step_or_park: limit_s is a number of seconds, not {limit_s!r}")
        now_ns, timers = monotonic_ns(), self.schedule.timers
        until_ns = now_ns + _LONGEST_TURN_NS
        if timers and timers[0][0] < until_ns:
            until_ns = max(timers[0][0], 1)
        if self.step(max(int(min(self._spin_ns, limit_s * 1e9, until_ns - now_ns)), 0), until_ns):
            return True
        self._park(limit_s)
        return False

    def step_while(self, condition: Callable[[], bool]) -> None:
        """Step, and sleep when there is nothing to do, while `condition()`: typically `lambda: probe.less_than(t)`."""
        if not callable(condition):
            raise UsageError(f"step_while takes a function, as in `lambda: probe.less_than(3)`, not {condition!r}")
        self.waits += 1
        try:
            while condition():
                self.step_or_park()
        finally:
            self.waits -= 1

    def run(self) -> None:
        """Close the manual inputs and run until nothing can happen any more: all tokens dropped, all messages taken."""
        if self.is_stepping or get_ident() != self.thread:
            refuse_step(self)
        for handle in self.inputs:
            handle.close()
        self.parting.may_end = True
        finished = self.assent.finished
        self.assent.finish(max(finished, IS_IN_RUN))
        # Whoever is due still learns that its frontiers are complete.
        while not self.complete or self.schedule.due or self.dataflows.finished or self.assent.promised:
            self.step_or_park()
        self.parting.may_end = False
        self.assent.finish(finished)

    @property
    def stopping(self) -> bool:
        """Whether the run is to end in order: a loop that feeds inputs then closes them and goes on to its end.

        There are two such ends. Of a *finish* (Ctrl-C) what was sent is finished as if it were all. Of a *stop*
        (SIGTERM) nothing is: inputs, closed or not, keep the times that they have, what finishes by them comes out, and
        then whatever is still open is dropped, and told. Either way dataflows are complete afterwards.

        To ask is to promise that. Where some worker has asked, the launcher answers the first Ctrl-C or SIGTERM by such
        a request, and only the second ends the run at once; where none has, the first does.
        """
        return self.ending.heed()

    @property
    def leader(self) -> int:
        """The process of the group's worker 0, by the number that it has for itself."""
        return self.agreement.processes[0]

    @property
    def rests_at(self) -> int:
        """The position of the ring up to which this worker has read, where it has published all that it did, nothing is
        due, and nothing waits on its way from or to it; -1 where something is."""
        if self.log.offset or self.lost.waiting or self.plane.waiting or self.schedule.due or self.schedule.next:
            return -1
        if self.world.state.due_count:  # compiled operators, such as those of a program's rows, which it has published
            return -1
        if self.room.is_sending:  # what its program has sent it does not know of yet
            return -1
        if not self.progress.nothing_new or anything_waiting(self.plane.incoming):
            return -1
        return self.progress.position

    @property
    def complete(self) -> bool:
        """Whether every count is zero, here and so everywhere."""
        return self.tracker.complete and self.log.offset == 0 and not self.lost.waiting

    def watch_events(self) -> "EventLog":
        """The log of what the engine does; turned on, it stands before this worker's ways to exchange and to sleep."""
        if self.events is None:
            from tokenring.engine.running import EventLog

            self.events = events = EventLog(self.log, self.dataflows, self.turns.exchange, self._park)
            vars(self.turns).update(exchange=events.exchange)
            self.turns.has_run = events.ran
            self.world.state.observed |= NOTED
            vars(self).update(_park=events.park)
        return self.events

    def _while_waiting(self, stepping: bool) -> None:
        """What is done while peers are waited for: steps, so that they are not held up."""
        if stepping and self.steps_while_waiting and self.dataflows.operators:
            self.step()
        self._check_stop()
        if stepping:  # else others may not have built what was declared here
            self._look_around()

    # What is asked for from outside

    def settle_after_steps(self, is_wanted: bool) -> None:
        """Have `assent` settled after each step, from now on or no more: while nothing is asked for, no step pays."""
        self._settles = is_wanted
        self._see_to_steps()

    def keep_program(self, is_wanted: bool) -> None:
        """Let no step of the program's own return, from now on or no more: it sends nothing while it is in one."""
        require_flags(f"worker {self.index}, keep_program", is_wanted=is_wanted)
        self._keeps_program = is_wanted
        self._see_to_steps()

    def _see_to_steps(self) -> None:
        if self._settles or self._keeps_program:
            vars(self).update(step=self._step_and_more)
        else:
            vars(self).pop("step", None)

    def _step_and_more(self, wait_ns: int = 0, until_ns: int = 0) -> bool:
        active = self._step_and_settle(wait_ns, until_ns)
        # What was promised is done in here, too: its own steps return, as it may wait for others.
        while self._keeps_program and not self.assent.is_acting and self.room.waits and not self.room.is_sending:
            if not self._step_and_settle(0, monotonic_ns() + _LONGEST_TURN_NS):
                self._park(_LONGEST_SLEEP_S)
        return active

    def _step_and_settle(self, wait_ns: int, until_ns: int) -> bool:
        active = type(self).step(self, wait_ns, until_ns)
        if self._settles:
            self.assent.settle()
        return active

    def _keep_promise(self) -> None:
        while self.assent.promised:
            self.step_or_park()

    # Sleeping and stopping

    def _park(self, limit_s: float) -> None:
        """Collect garbage, then sleep until woken."""
        self._check_stop()
        self._look_around()
        self._garbage.when_quiet()
        schedule = self.schedule
        schedule.is_parked = True  # before the last look: what another thread brings from now on wakes us
        try:
            if not self.plane.waiting and not self.log.offset:
                sleep_s = schedule.idle_for(min(limit_s, _LONGEST_SLEEP_S))
                if self.parking.sleep(sleep_s) and sleep_s == _LONGEST_SLEEP_S:
                    self._garbage.when_asleep()
        finally:
            schedule.is_parked = False
        self._stall.look()

    @property
    def feeds(self) -> bool:
        """Whether the program has an input that it may feed."""
        return any([not handle.closed for handle in self.inputs])

    def _look_around(self) -> None:
        """Show that this worker comes round, and see whether the run is to end in order."""
        if self._relief is None:  # which shows it, too
            self._looks += 1
            poke(self._looks_address, self._looks)
        self.ending.look()

    def _check_stop(self) -> None:
        if self.parking.stop_asked:
            raise GroupStopped(f"worker {self.index} was asked to stop")
        if self._relief is not None:
            self._relief.look()
        self._garbage.when_busy()
