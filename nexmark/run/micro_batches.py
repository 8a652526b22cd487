"""Micro-batches of event time: a source lets one in, and the next once the probe has passed it (Spark's way)."""

from tokenring.nexmark.run.cursors import Cursors
from tokenring.operators.mechanisms import Progress


class MicroBatches:
    """Which events one worker's source may send. Batch k has the event times from k * width_ns on; all its events have
    one time as far as anybody is told, so that it finishes as a whole."""

    def __init__(self, cursors: Cursors, width_ns: int, probe: Progress) -> None:
        self._cursors = cursors
        self.width_ns = width_ns
        self._probe = probe
        self.end_ns = 0
        """Where those end that are let in."""
        self._stop = 0

    def stop(self, event: int) -> int:
        """The first event that may not be sent yet; `event`, the next one, or less while it has to wait."""
        if event >= self._stop:
            frontier = self._probe.frontier
            if frontier >= self.end_ns:
                self.end_ns = self.start_of(frontier) + self.width_ns
                self._stop = self._cursors.first_event_beyond(self.end_ns)
        return self._stop

    def start_of(self, time_ns: int) -> int:
        """Where the micro-batch of a time begins."""
        return time_ns // self.width_ns * self.width_ns
