"""Probes: handles to a stream's frontier, for whoever feeds the dataflow or waits for its results."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.errors import GraphError
from engine.timestamp import COMPLETE, Time

if TYPE_CHECKING:
    from engine.tracker import Tracker


class Probe:
    """Watches the frontier of a stream. Usable once the dataflow is built."""

    __slots__ = ("_listeners", "_location", "_tracker")

    def __init__(self) -> None:
        self._tracker: Tracker | None = None
        self._location = -1
        self._listeners: list[Callable[[], None]] = []

    def attach(self, tracker: "Tracker", location: int) -> None:
        """Bind to a running dataflow (done by the engine)."""
        self._tracker = tracker
        self._location = location

    def place(self) -> tuple["Tracker", int]:
        """The tracker, and the word of its `location_view` in which the frontier is (for groups of probes)."""
        if self._tracker is None:
            raise GraphError(
                "a probe can be asked only after its dataflow is built (after the `with worker.dataflow()` block)"
            )
        return self._tracker, self._tracker.frontier_word(self._location)

    @property
    def frontier(self) -> Time:
        """The least time that may still appear on the stream; COMPLETE if none."""
        if self._tracker is None:
            raise GraphError(
                "a probe can be asked only after its dataflow is built (after the `with worker.dataflow()` block)"
            )
        return self._tracker.frontier(self._location)

    def less_than(self, time: Time) -> bool:
        """Whether a time before `time` may still appear."""
        return self.frontier < time

    def done(self) -> bool:
        """Whether nothing can appear any more."""
        return self.frontier == COMPLETE

    def on_advance(self, listener: Callable[[], None]) -> None:
        """Call `listener` (typically a context's `activate`) whenever the frontier moves on this worker."""
        self._listeners.append(listener)

    def frontier_moved(self) -> None:
        """Tell the listeners (done by the engine)."""
        for listener in self._listeners:
            listener()
