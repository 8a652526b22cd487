"""How a run ends in order: sources are asked to close, and what they sent is finished."""

from collections.abc import Callable

from tokenring.engine.running import RunningOperator, Schedule
from tokenring.shm.memory import Segment, peek, poke
from tokenring.shm.queues import fence_now


class Ending:
    """One worker's side of an early end: it asks for one, and has sources run when one is asked for."""

    def __init__(self, segment: Segment, schedule: Schedule, wake_peers: Callable[[], None]) -> None:
        self.heeding: Callable[[], None] = lambda: None
        """Tells the launcher that this worker looks at `stopping`."""
        self._address = segment.address(segment.layout.ending)
        self._schedule = schedule
        self._wake_peers = wake_peers
        self._heeds = False
        self._closing: list[RunningOperator] = []  # sources that are to run when it is time to stop

    @property
    def asked(self) -> bool:
        """Whether somebody asked for an early end."""
        return bool(peek(self._address))

    def heed(self) -> bool:
        """Whether somebody asked for an early end; the launcher knows from now on that one is looked for."""
        if not self._heeds:
            self._heeds = True
            self.heeding()
        return self.asked

    def ask(self) -> None:
        """Ask the sources of all workers to close (each looks at `asked`), so that the run ends in order."""
        poke(self._address, 1)
        fence_now()
        self._wake_peers()

    def run_then(self, operator: RunningOperator) -> None:
        """Run a source when an end is asked for: it closes itself then."""
        self._closing = [known for known in self._closing if known.outputs]  # the others are of finished dataflows
        self._closing.append(operator)

    def look(self) -> None:
        """Have the sources run that close themselves, once an end is asked for."""
        if self._closing and self.asked:
            closing, self._closing = self._closing, []
            for operator in closing:
                self._schedule.activate(operator)
