"""Probes: handles to a stream's frontier, for whoever feeds the dataflow or waits for its results."""

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from engine.antichain import Antichain
from engine.errors import GraphError
from engine.timestamp import COMPLETE, less_equal

if TYPE_CHECKING:
    from engine.tracker import Tracker


class Probe:
    """Watches the frontier of a stream. Usable once the dataflow is built."""

    __slots__ = ("_depth", "_listeners", "_location", "_tracker")

    def __init__(self, depth: int = 1) -> None:
        self._tracker: Tracker | None = None
        self._location = -1
        self._depth = depth
        self._listeners: list[Callable[[], None]] = []

    def attach(self, tracker: "Tracker", location: int) -> None:
        """Bind to a running dataflow (done by the engine)."""
        self._tracker = tracker
        self._location = location

    def place(self) -> tuple["Tracker", int]:
        """The tracker, and the word of its `location_view` in which the frontier is (for groups of probes)."""
        tracker = self._require_tracker()
        return tracker, tracker.frontier_word(self._location)

    def _require_tracker(self) -> "Tracker":
        if self._tracker is None:
            raise GraphError(
                "a probe can be asked only after its dataflow is built (after the `with worker.dataflow()` block)"
            )
        return self._tracker

    @property
    def frontier(self) -> Any:
        """The least time that may still appear on the stream, COMPLETE if none; in a nested scope, the antichain of
        them.
        """
        tracker = self._require_tracker()
        if self._depth > 1:
            return Antichain(tracker.nested_frontier(self._location), less_equal)
        return tracker.frontier(self._location)

    def less_than(self, time: Any) -> bool:
        """Whether a time before `time` may still appear."""
        if self._depth > 1:
            return bool(self.frontier.less_than(time))
        return bool(self.frontier < time)

    def less_equal(self, time: Any) -> bool:
        """Whether `time`, or one before it, may still appear."""
        if self._depth > 1:
            return bool(self.frontier.less_equal(time))
        return bool(self.frontier <= time)

    def done(self) -> bool:
        """Whether nothing can appear any more."""
        return self._require_tracker().frontier(self._location) == COMPLETE

    def on_advance(self, listener: Callable[[], None]) -> None:
        """Call `listener` (typically a context's `activate`) whenever the frontier moves on this worker."""
        self._listeners.append(listener)

    def frontier_moved(self) -> None:
        """Tell the listeners (done by the engine)."""
        for listener in self._listeners:
            listener()
