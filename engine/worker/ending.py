"""How a run ends in order: by a finish, sources are asked to close, and what they sent is finished; by a stop, they end
where they are, and what is not finished then is dropped (engine/worker/stopping.py).
"""

from collections.abc import Callable
from functools import cached_property
from typing import TYPE_CHECKING

from tokenring.engine.running import RunningOperator, Schedule
from tokenring.shm.memory import FINISH, STOP, Segment, exchange_if, peek
from tokenring.shm.queues import fence_now

if TYPE_CHECKING:
    from tokenring.engine.worker.stopping import Stopping
    from tokenring.engine.worker.worker import Worker


class Ending:
    """One worker's side of an early end: it asks for one, and has sources run when one is asked for."""

    def __init__(self, segment: Segment, schedule: Schedule, wake_peers: Callable[[], None], worker: "Worker") -> None:
        self.heeding: Callable[[], None] = lambda: None
        """Tells the launcher that this worker looks at `stopping`."""
        self._segment, self._worker = segment, worker
        self._address = segment.address(segment.layout.ending)
        self._schedule = schedule
        self._wake_peers = wake_peers
        self._heeds = False
        self._closing: list[RunningOperator] = []  # sources that are to run when it is time to stop

    @cached_property
    def stopping(self) -> "Stopping":
        """This worker's side of a stop, loaded when there is one."""
        from tokenring.engine.worker.stopping import Stopping

        return Stopping(self._segment, self._worker)

    @property
    def asked(self) -> bool:
        """Whether somebody asked for an early end, of either kind."""
        return bool(peek(self._address))

    def heed(self) -> bool:
        """Whether somebody asked for an early end; the launcher knows from now on that one is looked for."""
        if not self._heeds:
            self._heeds = True
            self.heeding()
        asked = peek(self._address)
        if asked == STOP:  # before whoever asks gives up what it holds
            self.stopping.keep_times(self._closing)
        return bool(asked)

    def ask(self) -> None:
        """Ask the sources of all workers to close (each looks at `asked`), so that the run is finished in order."""
        exchange_if(self._address, 0, FINISH)
        fence_now()
        self._wake_peers()

    def run_then(self, operator: RunningOperator) -> None:
        """Run a source when an end is asked for: it closes itself then."""
        self._closing = [known for known in self._closing if known.outputs]  # the others are of finished dataflows
        self._closing.append(operator)

    def look(self) -> None:
        """Have the sources run that close themselves, once an end is asked for; go on with a stop. Between two steps,
        or at the beginning of one."""
        asked = peek(self._address)
        if not asked:
            return
        if asked == STOP:
            self.stopping.look(self._closing)
        for operator in self._closing:
            if not operator.is_told_of_end:
                operator.is_told_of_end = True
                self._schedule.activate(operator)
