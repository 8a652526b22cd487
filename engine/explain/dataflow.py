"""The handle of a dataflow that runs: whether it is done, why its time stands still, breakpoints, its end."""

from collections.abc import Callable
from typing import Any

from tokenring.engine.explain.cancel import cancel
from tokenring.engine.explain.explanation import Explanation
from tokenring.engine.explain.hold import Hold
from tokenring.engine.explain.inspection import Inspection, inspect, take_hold, why
from tokenring.engine.explain.place import Named
from tokenring.engine.running import RunningDataflow, Schedule


class Dataflow:
    """A dataflow that was built, as people ask and end it on this worker: `scope.running`, after the block in which
    it was declared.
    """

    __slots__ = ("_barrier", "_inspection", "_schedule", "instance")

    def __init__(
        self, instance: RunningDataflow, inspection: Inspection, schedule: Schedule, barrier: Callable[[], object]
    ) -> None:
        self.instance = instance
        """The engine's own record of it."""
        self._inspection = inspection
        self._schedule = schedule
        self._barrier = barrier

    @property
    def done(self) -> bool:
        """Whether it is finished: every token dropped and every message consumed, on all workers. Its operators are
        not run any more, and what they kept is released.
        """
        return self.instance.done

    def why(self, place: Named, time: Any = None) -> Explanation:
        """What keeps `time` from passing at the place, or, without a time, holds its frontier where it is: tokens, with
        the code that made them, messages and where they wait, inputs never closed, holds. Of other workers only the
        numbers are known here; `tokenring why` asks them too.

        The place: a probe, a stream, an input handle, an operator's name, or (name, "input" or "output", number).
        Raises GraphError if there is no such place in this dataflow, or several.
        """
        return why(self._inspection, [self.instance], place, time)

    def hold(self, place: Named, time: Any) -> Hold:
        """A breakpoint: no frontier passes `time` at the place, on any worker, before the hold is released. An input is
        held at the output that feeds it, and so for all who read that. Steps go on meanwhile.

        Raises TimeRegressionError if the time has passed, TokenError if this worker has no token to derive it from.
        """
        return take_hold(self._inspection, [self.instance], place, time)

    def inspect(self, operator: str) -> Any:
        """What the operator of that name shows of its state on this worker (`context.inspectable`). Raises GraphError
        if it shows none, or there is no such operator.
        """
        return inspect([self.instance], operator)

    def cancel(self) -> None:
        """End the dataflow, unfinished, and leave others running: no operator of it runs again, its inputs are closed;
        once all workers have called this, its tokens are dropped and its rows thrown away. Probes then say that it is
        done; its sinks publish nothing. Every worker must call it, and waits here, stepping, until all have.
        """
        cancel(self.instance, self._inspection.runtime, self._schedule, self._barrier, self._inspection.flush)

    def __repr__(self) -> str:
        return f"Dataflow({self.instance.name!r}{', done' if self.done else ''})"
