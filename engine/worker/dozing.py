"""How a worker without work of its own sleeps: for moments, and without being woken for progress that is others'.

It says nothing when it sleeps, so nobody posts its semaphore for what is published, and what comes to it waits for the
moment to be over; from then on, for a while, it parks as all do. It goes on reading the ring, which waits for its
slowest reader: moments are so short that even a fast group writes but a part of the ring in one.
"""

from collections.abc import Callable
from time import monotonic_ns
from typing import TYPE_CHECKING

from tokenring.shm.memory import Segment, peek
from tokenring.shm.queues import ParkingLot

if TYPE_CHECKING:
    from tokenring.engine.worker.worker import Worker

_QUIET_NS = 50_000_000  # that nothing was sent to it, and it held no tokens
_LOOK_NS = 5_000_000  # between two looks at whether it holds any
_LONGEST_S = 0.004
_RECORD_S = 0.25e-6  # a record of the ring: no group writes faster
_TO_ONCE = 1  # ns, long ago: a step ends when its first round does


class Dozing:
    """One worker's way to sleep while it is to have no work: it began idle, or has been drained."""

    def __init__(self, worker: "Worker", segment: Segment, lot: ParkingLot, awake: Callable[[float], bool]) -> None:
        """awake: steps or parks as other workers do."""
        self._worker, self._lot, self._awake = worker, lot, awake
        self._bell = segment.address(segment.layout.bell(worker.index))
        self._heard = 0
        self._since_ns = monotonic_ns()
        self._look_ns = 0
        self._moment_s = min(_LONGEST_S, segment.layout.ring_records * _RECORD_S)

    def may_doze(self, is_idle: bool) -> None:
        """Whether the worker is to have no work: then it dozes once it has none. Otherwise no step pays for this."""
        if is_idle:
            vars(self._worker).update(step_or_park=self.step_or_park)
        else:
            vars(self._worker).pop("step_or_park", None)

    def step_or_park(self, limit_s: float = 0.2) -> bool:
        """Step; with nothing to do, sleep for a moment, if nobody has sent anything for a while, else as others do."""
        if not self._is_quiet():
            return self._awake(limit_s)
        worker = self._worker
        worker.step(0, _TO_ONCE)
        schedule = worker.schedule
        if worker.plane.waiting or worker.log.offset:
            return True
        schedule.is_parked = True  # before the last look: what another thread brings from now on wakes us
        try:
            moment_s = schedule.idle_for(min(limit_s, self._moment_s))
            if moment_s <= 0:
                return True
            self._lot.wait(worker.index, moment_s)
        finally:
            schedule.is_parked = False
        return False

    def _is_quiet(self) -> bool:
        """Whether nothing was sent to the worker for a while, and it holds no token: others wait for who holds one."""
        rung, now_ns = peek(self._bell), monotonic_ns()
        if rung != self._heard:
            self._heard, self._since_ns = rung, now_ns
        if now_ns - self._since_ns <= _QUIET_NS:
            return False
        if now_ns >= self._look_ns:
            self._look_ns = now_ns + _LOOK_NS
            if any([operator.held for operator in self._worker.dataflows.operators.values()]):
                self._since_ns = now_ns
                return False
        return True
