"""Inputs of operators in nested scopes: tuples for times, antichains for frontiers."""

from typing import Any

from tokenring.engine.data.input_port import InputPort
from tokenring.engine.times import Antichain, as_time, less_equal


class NestedInputPort(InputPort):
    """An input in a nested scope: its times are tuples, its frontier is an antichain of them."""

    __slots__ = ()

    @property
    def frontier(self) -> Antichain[Any]:  # type: ignore[override]
        """The least times that may still arrive here; empty if none. A time t is finished once no element is less or
        equal.
        """
        return Antichain.of_incomparable(self._tracker.nested_frontier(self.location), less_equal)

    def finished(self, time: Any) -> bool:
        """Whether no message at `time`, or at one that could result in it, can arrive here any more.
        TypeError for what is no time of this scope.
        """
        if time.__class__ is not tuple or len(time) != self.depth:
            as_time(time, self.depth)
        return not any(less_equal(element, time) for element in self._tracker.nested_frontier(self.location))
