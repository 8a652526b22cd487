"""The part of a worker that knows which operators are to run: in this step, in the next, or after some time."""

from heapq import heappop, heappush
from itertools import count
from time import monotonic_ns

from engine.dataflows import Dataflows
from engine.operator import RunningOperator

IN_TURN = 2**32
"""Operators of loops are due in turn, after all others: one that feeds itself lets others run."""


class Scheduling:
    """What is due. The worker's step takes it from here."""

    dataflows: Dataflows

    def __init__(self) -> None:
        self._due: list[int] = []  # of indices; those of loops' operators plus multiples of IN_TURN, ever larger
        self._turns = count(IN_TURN, IN_TURN)
        self._next: list[RunningOperator] = []
        self.timers: list[tuple[int, int]] = []
        """A heap of (monotonic ns, index of the operator)."""

    def schedule(self, operator: RunningOperator) -> None:
        """Run `operator` in this step if it is still to come, else in the next."""
        if not operator.is_due:
            operator.is_due = True
            heappush(self._due, operator.index + next(self._turns) if operator.in_loop else operator.index)

    def activate(self, operator: RunningOperator) -> None:
        """Run `operator` in the next step."""
        if operator not in self._next:
            self._next.append(operator)

    def activate_after(self, operator: RunningOperator, delay_ns: int) -> None:
        """Run `operator` once `delay_ns` have passed."""
        heappush(self.timers, (monotonic_ns() + delay_ns, operator.index))

    def _fire_timers(self) -> None:
        now_ns = monotonic_ns()
        while self.timers and self.timers[0][0] <= now_ns:
            index = heappop(self.timers)[1]
            if index in self.dataflows.operators:  # its dataflow may be finished
                self.schedule(self.dataflows.operators[index])
