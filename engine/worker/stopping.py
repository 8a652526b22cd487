"""How a run ends in order: sources are asked to close, and what they sent is finished."""

from collections.abc import Callable

from tokenring.engine.running import RunningOperator
from tokenring.shm.memory import Segment, peek, poke
from tokenring.shm.queues import fence_now


class Stopping:
    """The part of a worker that asks for an end, and closes sources when one is asked for."""

    def __init__(self, segment: Segment) -> None:
        self.heeding: Callable[[], None] = lambda: None  # tells the launcher that this worker looks at `stopping`
        self._ending_address = segment.address(segment.layout.ending)
        self._heeds = False
        self._closing: list[RunningOperator] = []  # sources that are to run when it is time to stop

    @property
    def stopping(self) -> bool:
        """Whether the run is to end in order: a loop that feeds inputs then closes them and goes on to its end.

        To ask is to promise that. Where some worker has asked, the launcher answers the first Ctrl-C or SIGTERM by a
        request to stop, and only the second ends the run at once; where none has, the first does.
        """
        if not self._heeds:
            self._heeds = True
            self.heeding()
        return self.ending

    @property
    def ending(self) -> bool:
        """Whether somebody asked for an early end."""
        return bool(peek(self._ending_address))

    def end_early(self) -> None:
        """Ask the sources of all workers to close (each looks at `ending`), so that the run ends in order."""
        poke(self._ending_address, 1)
        fence_now()
        self._wake_parked()

    def closes_when_stopping(self, operator: RunningOperator) -> None:
        """Run a source when the worker is `stopping`: it closes itself then."""
        self._closing = [known for known in self._closing if known.outputs]  # the others are of finished dataflows
        self._closing.append(operator)

    def run_closing(self) -> None:
        """Have the sources run that close themselves, once it is time to stop."""
        if self._closing and self.ending:
            closing, self._closing = self._closing, []
            for operator in closing:
                self.activate(operator)

    def activate(self, operator: RunningOperator) -> None:
        """Have an operator run in the next step (the worker's scheduling does)."""
        raise NotImplementedError

    def _wake_parked(self) -> None:
        raise NotImplementedError
