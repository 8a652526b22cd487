"""How a worker of a running group ends before the others: they send it nothing more, then it has nothing more to do,
then it reads the ring no more, and sees its dataflows complete.

Workers go from the last one down, so that those that stay are always the first ones. All act at one place among what
they declare and wait for (engine/worker/assent.py). What is argued of it: docs/concurrency.md.
"""

from collections.abc import Callable, Collection
from time import monotonic_ns
from typing import TYPE_CHECKING

from tokenring.engine.errors import UsageError
from tokenring.engine.running import RunningOperator
from tokenring.shm.memory import Segment, peek, poke
from tokenring.shm.queues import anything_waiting, leave

if TYPE_CHECKING:
    from tokenring.engine.worker.worker import Worker

_LOOK_NS = 500_000


class Parting:
    """One worker's side."""

    def __init__(self, segment: Segment, worker: "Worker") -> None:
        self.may_end = False
        """Whether the program is in `run`: it only waits for the end."""
        self.is_leaving = False
        """Whether this worker is the one that ends; it takes no requests then."""
        self.has_left = False
        """Whether it is no worker of the group any more."""
        self.is_declaring = False
        """Whether a dataflow is being declared here, for as many workers as there were when that began."""
        self._segment, self._worker = segment, worker
        self._layout = segment.layout
        self._look_ns = 0
        self._last: Callable[[], None] = lambda: None
        self._tell: Callable[[], None] = lambda: None

    def require(self, number: int) -> None:
        """Raise UsageError if a worker cannot end now, as far as this one knows."""
        worker = self._worker
        if not 0 <= number < worker.peers:
            raise UsageError(f"there is no worker {number}: workers are 0 to {worker.peers - 1}")
        if number == 0:
            raise UsageError("worker 0 cannot be ended: it decides where bins are, and what is installed; end the run")
        if number != worker.peers - 1:
            raise UsageError(
                f"worker {number} cannot be ended before worker {worker.peers - 1}: workers end from the last one down"
            )
        if number != worker.index:
            return
        for operator in worker.dataflows.operators.values():
            if operator.held and not operator.inputs and not operator.is_relay:
                raise UsageError(
                    f"worker {number} cannot be ended: operator {operator.name!r}, a source or an input, holds tokens "
                    f"there; it has to be closed there first"
                )
        if not self.may_end:
            raise UsageError(
                f"worker {number} cannot be ended: its program still goes on; a worker can be ended once its program "
                f"is in worker.run(), or has returned, and so only waits for the end"
            )

    def hindrance(self, but: Collection[RunningOperator] = ()) -> str:
        """What this worker still has to do, in words; "" if nothing comes of it any more but by what others send.
        but: operators that are not looked at."""
        worker = self._worker
        for operator in worker.dataflows.operators.values():
            if operator.held and operator not in but:
                return f"operator {operator.name!r} holds tokens there"
            if any([len(port.inbox.queue) for port in operator.inputs]):
                return f"operator {operator.name!r} has rows to take there"
        return "it is at work" if self.is_at_work else ""

    @property
    def is_at_work(self) -> bool:
        """Whether this worker has something to do, or to publish, as far as it has read the ring."""
        worker = self._worker
        graph, plane = worker.world.state, worker.plane
        is_busy = plane.waiting or worker.log.offset or worker.lost.waiting or worker.turns.going_round
        is_due = worker.schedule.due or worker.schedule.next or graph.due_count
        return bool(is_busy or is_due or graph.position >= 0 or anything_waiting(plane.incoming))

    def part(self, number: int, last: Callable[[], None], tell: Callable[[], None]) -> None:
        """Go on without a worker; or, if it is this one, end, as soon as nothing is to be done here any more: `last` is
        called at once, and is to drop what this worker holds on purpose, and `tell` when it is no worker any more."""
        worker = self._worker
        if number == worker.index:
            self.is_leaving, self._last, self._tell = True, last, tell
            worker.agreement.left = (
                f"worker {number} has been ended, and its program goes on: it declares nothing, and waits for nobody; "
                f"let programs whose workers are ended return after worker.run()"
            )
            last()
            vars(worker).update(step=self._step_and_leave)
            return
        worker.plane.send_only_to(number)
        worker.peers = worker.runtime.peers = number
        worker.sharing = min(worker.sharing, number)
        worker.agreement.wait_only_for(number)
        worker.assent.ask_only(number)
        parted = self._segment.address(self._layout.parted(worker.index))
        poke(parted, self._layout.workers - number)  # SYNC parting: release, pairs with `_is_let_go`
        tell()

    def _is_let_go(self) -> bool:
        """Whether all others have sent what they ever will."""
        me, layout = self._worker.index, self._layout
        parted = [self._segment.address(layout.parted(peer)) for peer in range(me)]
        return all([peek(address) >= layout.workers - me for address in parted])  # SYNC parting: acquire

    def _step_and_leave(self, wait_ns: int = 0, until_ns: int = 0) -> bool:
        worker = self._worker
        let_go = self._is_let_go()  # before the step, which then takes in what was sent
        active = type(worker).step(worker, wait_ns, until_ns)
        if let_go and not active and not self.hindrance():
            del vars(worker)["step"]
            worker.is_stepping = True
            try:
                self._leave()
            except BaseException as error:
                worker.fail(error)
                raise
            worker.is_stepping = False
            return True
        if monotonic_ns() >= self._look_ns:
            self._look_ns = monotonic_ns() + _LOOK_NS
            worker.schedule.look_outside_after(_LOOK_NS)
        return active

    def _leave(self) -> None:
        """Leave the ring, and let all dataflows be complete here: nothing comes to this worker, and nothing of it."""
        worker = self._worker
        self._ring = leave(worker.progress.ring)
        tracker, log = worker.tracker, worker.log
        counts = [
            (location, time, count)
            for location in range(tracker.tables.locations_used)
            for time, count in tracker.entries.at(location)
        ]
        for location, time, count in sorted(counts, key=lambda one: -one[2]):
            log.add(location, time, -count)
        worker.turns.heed(worker.progress.exchange(False))
        self.has_left = True
        self._tell()
