"""Where each bin of a dataflow is, and how somebody lets that change: `scope.placement`."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from tokenring.engine import MAX_TIME, Stream, Time, UsageError
from tokenring.engine.arguments import is_whole
from tokenring.engine.graph import OperatorSpec
from tokenring.operators.migrate.bins import Bins
from tokenring.operators.migrate.control import Control
from tokenring.operators.migrate.mover import CHANGES, Mover
from tokenring.operators.migrate.plans import FLUID, Step, drained, evened, require_plan, steps_between

Change = tuple[Time, int, int]
"""A time, a bin, and the worker that has it from then on."""
Target = Mapping[int, int] | np.ndarray
"""Where bins are to be: bin -> worker, of some; or the worker of each, int64 (bins,)."""


class Finished(NamedTuple):
    """A step that is over, as one worker saw it."""

    time: Time
    """From which the bins are with their new workers."""
    bins: int
    """How many of them changed their worker; on workers other than 0: left this one."""
    began_ns: int
    """When its time was decided, on worker 0; on others, when this worker heard of it (monotonic)."""
    done_ns: int
    """When all its state had arrived, on worker 0; on others, when this worker had sent its part (monotonic)."""
    rows: int
    """Of state that this worker sent."""
    bytes: int
    """Of these rows' columns."""


class Waiting(NamedTuple):
    """What a step that is under way waits for."""

    time: Time
    """That rows have to come to."""
    operator: str
    frontier: Time
    """Of its rows: earlier ones have all come."""


class Placement:
    """Where each bin of a dataflow is: `scope.placement`, of dataflows that were declared with `bins=`."""

    def __init__(self) -> None:
        self.bins = Bins(1)
        self.peers = 1
        self.movers: list[Mover] = []
        """Of each operator with an exchange by a key, in the order of their declaration."""
        self.staying: list[str] = []
        """The operators that keep state by key which does not move, in the order of their declaration."""
        self.until_ends: list[OperatorSpec] = []
        """The operators that hold frontiers back until an input ends, and behind which nothing keyed was declared."""
        self.changes: Stream
        """The control stream, rows of CHANGES."""
        self.scope: Any = None
        self.balancing: Any = None
        """What keeps the load in balance, if something does; on worker 0 alone it knows of it."""
        self._first = np.zeros(1, np.int64)
        self.counter = -1
        """The number, in the graph, of what counts rows for that."""
        self.counts = True
        """Whether it is to say what it counts, on this worker."""
        self.woken: Callable[[], None] = lambda: None  # runs it in the next step
        self.index = 0
        """This worker's."""
        self._control = Control(self.movers, self._first)
        self._all = Placements()

    def begin(
        self, scope: Any, index: int, peers: int, bins: int, changes: Iterable[Change] = (), sharing: int = 0
    ) -> None:
        """Declare the control stream. changes: known beforehand; sharing: how many workers, the first ones, have bins
        at first (0: all). UsageError for a bin, or worker, that is not there."""
        self.bins, self.index, self.peers, self.scope = Bins(bins), index, peers, scope
        self._first = np.arange(bins, dtype=np.int64) * (sharing or peers) // bins
        self._control = control = Control(self.movers, self._first.copy(), lambda: scope.graph.operators)
        for time, number, worker in sorted(changes, key=lambda change: change[0]):
            self._require({number: worker})
            if not 0 <= time <= MAX_TIME:
                raise UsageError(f"bin {number} is to change its worker at {time}; times go from 0 to {MAX_TIME}")
            if not control.scheduled or control.scheduled[-1][0] != time:
                control.scheduled.append((time, []))
            control.scheduled[-1][1].append((number, worker))
        (self.changes,) = scope.source("placement", CHANGES, control.construct)
        self._all = scope.kept_by_worker(Placements)
        self._all.add(self)

    def mover(self, name: str) -> Mover:
        """The state of one more operator (asked by its builder)."""
        made = Mover(name, self.bins, self._first, self.peers)
        if not self.movers:
            made.moved = lambda: self._all.moved(self.index)
        self.movers.append(made)
        return made

    # Letting bins move

    def move(self, target: Target | Sequence[Step], plan: str = "") -> int:
        """Let bins go to other workers, on worker 0 alone. Returns in how many steps: each begins when the state of the
        one before has arrived; what was asked for earlier goes first. None, and nothing moves, once all rows have come.

        target: where bins are to be (those that are there stay), by a plan: "fluid", a bin a step, which is what an
        empty text means; "batched:16", so many; "optimized", as many as there can be such that no worker sends, or
        takes, more than one; "all_at_once". Or the steps themselves. UsageError for a bin, a worker or a plan that is
        not there, and on another worker.
        """
        if self.index != 0:
            raise UsageError(f"bins are moved from worker 0, and this is worker {self.index}: ask there")
        if not isinstance(target, Mapping | np.ndarray):
            if plan:
                raise UsageError(f"plan={plan!r} makes steps of a target, and these are steps; leave it out")
            steps = list(target) if isinstance(target, Iterable) else [target]
        else:
            steps = self.steps_to(target, plan)
        for step in steps:
            self._require(step)
        if self._control.is_over:
            return 0
        steps = [step for step in steps if step]
        self._control.steps.extend(steps)
        self._control.activate()
        return len(steps)

    def steps_to(self, target: Target, plan: str = "") -> list[Step]:
        """The steps of a plan to a target, from where bins will be when all is done that was asked for; as `move`."""
        require_plan(plan or FLUID)
        planned = self.planned
        return [*steps_between(planned, self._to(target, planned), plan or FLUID)]

    def drain(self, worker: int, plan: str = "") -> int:
        """Let all bins of a worker go to the others, evenly; otherwise as `move`. UsageError for a group of one."""
        return self.move(self.steps_to_drain(worker, plan))

    def steps_to_drain(self, worker: int, plan: str = "") -> list[Step]:
        """The steps of `drain`."""
        self.require_drainable(worker)
        return self.steps_to(drained(self.planned, self.peers, worker), plan)

    def even(self, plan: str = "") -> int:
        """Let workers have equally many bins, but for one, with as few moves as that takes; otherwise as `move`."""
        return self.move(evened(self.planned, self.peers), plan)

    def forget(self, steps: Sequence[Step] | None = None) -> int:
        """Let those of the steps (of all, if none are said) that have not begun stay undone; how many that are. Moves
        at times that were given beforehand remain."""
        asked = self._control.steps
        before, some = len(asked), None if steps is None else {id(step) for step in steps}
        kept = [step for step in asked if some is not None and id(step) not in some]
        asked.clear()
        asked.extend(kept)
        return before - len(kept)

    def stand(self, is_so: bool) -> None:
        """Let no further step begin for now, or again."""
        if self._control.stands != is_so:
            self._control.stands = is_so
            self._control.activate()

    def open(self, is_so: bool) -> None:
        """See `Mover.open`."""
        for mover in self.movers:
            mover.open(is_so)

    @property
    def is_still(self) -> bool:
        """Whether all state has arrived that was to move, as far as worker 0 knows, which is asked."""
        return not self._control.under_way

    def left_of(self, steps: Sequence[Step]) -> int:
        """How many of these steps have not arrived, begun or not; or were not begun before all rows had come."""
        control, some = self._control, {id(step) for step in steps}
        return sum([id(step) in some for step in (*control.steps, *control.left, control.begun)])

    def require_drainable(self, worker: int) -> None:
        """Raise UsageError unless there is that worker, and another who could take its bins."""
        if worker not in range(self.peers):
            raise UsageError(f"there is no worker {worker!r}: workers are 0 to {self.peers - 1}")
        if self.peers == 1:
            raise UsageError("worker 0 is alone in its group: nobody can take its bins")

    def _to(self, target: Target, planned: np.ndarray) -> np.ndarray:
        if isinstance(target, np.ndarray):
            if target.shape != planned.shape or target.dtype.kind != "i":
                raise UsageError(
                    f"the worker of each bin is an array of integers, {planned.shape}, not {target.dtype} "
                    f"{target.shape}; or give a mapping {{bin: worker}}"
                )
            self._require(dict(enumerate(target.tolist())))
            return target
        self._require(target)
        to = planned.copy()
        to[list(target.keys())] = list(target.values())
        return to

    def _require(self, step: Step) -> None:
        if not isinstance(step, Mapping):
            raise UsageError(
                f"where bins are to be is a mapping {{bin: worker}}, or an array of the worker of each bin; or steps, "
                f"a list of such mappings: {step!r} is none"
            )
        for number, worker in step.items():
            if not (is_whole(number) and is_whole(worker)):
                raise UsageError(f"where bins are to be is told in integers, bin -> worker, not {number!r}: {worker!r}")
            if not 0 <= number < self.bins.count:
                raise UsageError(f"there is no bin {number}: bins are 0 to {self.bins.count - 1}")
            if not 0 <= worker < self.peers:
                raise UsageError(f"bin {number} cannot be with worker {worker}: workers are 0 to {self.peers - 1}")

    # What there is, and how far it is

    @property
    def workers(self) -> np.ndarray:
        """The worker of each bin, int64 (bins,), as they were last decided, on worker 0; elsewhere as they are."""
        if self.index == 0 or not self.movers:
            return self._control.workers.copy()
        return self.movers[0].versions.now.copy()

    @property
    def planned(self) -> np.ndarray:
        """The worker of each bin once all is done that was asked for, int64 (bins,), on worker 0."""
        planned = self._control.workers.copy()
        for moved in [moved for _, moved in self._control.scheduled] + [list(s.items()) for s in self._control.steps]:
            for number, worker in moved:
                planned[number] = worker
        return planned

    @property
    def is_moving(self) -> bool:
        """Whether some of what was asked for has not arrived yet, on worker 0."""
        return bool(self._control.steps or self._control.scheduled or self._control.under_way)

    @property
    def steps_left(self) -> int:
        """How many steps were asked for and have not arrived yet, on worker 0: begun or not."""
        return len(self._control.steps) + len(self._control.scheduled) + len(self._control.under_way)

    @property
    def scheduled(self) -> int:
        """At how many of the times that were given beforehand bins are still to move, on worker 0."""
        return len(self._control.scheduled)

    @property
    def waiting(self) -> Waiting | None:
        """What the step under way waits for, on worker 0; None if there is none, or it waits for state to arrive."""
        if not self._control.under_way:
            return None
        time = self._control.under_way[0][0]
        for mover in self.movers:
            for steering in mover.steerings:
                if (frontier := steering.state.reached) < time:
                    return Waiting(time, mover.name, frontier)
        return None

    @property
    def history(self) -> list[Finished]:
        """The steps that are over, the latest 65,536, in their order."""
        sent = [one for mover in self.movers for one in mover.sent]
        if self.index == 0:
            seen = {done.time: [done.bins, done.began_ns, done.done_ns, 0, 0] for done in self._control.done}
        else:
            seen = {one.time: [one.bins, one.heard_ns, one.sent_ns, 0, 0] for one in sent}
        for one in sent:
            if one.time in seen:
                seen[one.time][3] += one.rows
                seen[one.time][4] += one.bytes
        return [Finished(time, *seen[time]) for time in sorted(seen)]

    @property
    def is_over(self) -> bool:
        """Whether nothing moves any more, on worker 0: all rows have come, or no operator has a key."""
        return self._control.is_over

    @property
    def loads(self) -> np.ndarray:
        """The rows, of a sample, that this worker sent to bins so far, over all operators: int64 (bins,)."""
        return np.sum([mover.versions.loads for mover in self.movers], 0, np.int64) + np.zeros_like(self._first)

    @property
    def balance(self) -> Any:
        """How even the load is, a Balance, on worker 0 of a dataflow that was declared with `rebalance=`; else None."""
        return None if self.balancing is None or self.index != 0 else self.balancing.balance

    @property
    def rows_moved(self) -> int:
        """The rows of state that this worker has sent away."""
        return sum([mover.rows_moved for mover in self.movers])

    @property
    def bytes_moved(self) -> int:
        """Their bytes."""
        return sum([mover.bytes_moved for mover in self.movers])

    def asked(self) -> None:
        """One of F's came to a threshold."""
        self._control.asked()


def checked_changes(dataflow: str, changes: Iterable[Change]) -> list[Change]:
    """What is known beforehand of bins that move; UsageError for what is none."""
    found = list(changes) if isinstance(changes, Iterable) else [changes]
    for change in found:
        is_one = isinstance(change, Sequence) and len(change) == 3
        if not is_one or not all(map(is_whole, change)):
            raise UsageError(
                f"dataflow {dataflow!r}: moves= is a list of (time, bin, worker), in integers, such as (1000, 5, 1), "
                f"and {change!r} is none"
            )
    return found


class Placements(list[Placement]):
    """The placements of a worker's dataflows, in the order of their declaration."""

    tell: Callable[[bool], None] = staticmethod(lambda _: None)
    """Who is told whether the worker has no bins, whenever some have moved."""

    def moved(self, worker: int) -> None:
        """Bins have moved, as far as this worker is concerned."""
        there = [one for one in self.named().values() if one.movers]
        self.tell(not any([one.staying or (one.movers[0].versions.now == worker).any() for one in there]))

    def add(self, placement: Placement) -> None:
        """One more; those of dataflows that are done are forgotten."""
        self.named()
        self.append(placement)

    def named(self) -> dict[str, Placement]:
        """Those of dataflows that run, by name."""
        self[:] = [one for one in self if one.scope._running is None or not one.scope.running.done]
        return {one.scope.graph.name: one for one in self if one.scope._running is not None}
