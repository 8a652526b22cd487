"""Many manual inputs as one: all are moved to a time in one call, which costs a kernel and one exchange of progress."""

from collections.abc import Iterable

import numpy as np

from tokenring.engine.arguments import as_integer
from tokenring.engine.errors import GraphError
from tokenring.engine.running.input import InputHandle
from tokenring.engine.times import MAX_TIME, Time


class InputGroup:
    """Inputs of one worker, of any dataflows. Each still works by itself; one that is closed leaves the group."""

    def __init__(self, handles: Iterable[InputHandle] = ()) -> None:
        self._handles: list[InputHandle] = []
        self._locations = np.zeros(0, np.int64)
        self._times = np.zeros(0, np.int64)
        if not isinstance(handles, Iterable):
            raise GraphError(f"a group of inputs takes several handles, such as [one, other], not {handles!r}")
        try:
            for handle in handles:
                self.add(handle)
        except BaseException:
            for handle in [*self._handles]:
                self.remove(handle)  # or it would be in a group that nobody has
            raise

    def add(self, handle: InputHandle) -> None:
        """Take in an input of a built dataflow. Raises GraphError if it is in a group, of another worker, or of a
        class that does more when it is moved (under watermarks); DroppedTokenError if it is closed.
        """
        if not isinstance(handle, InputHandle):
            raise GraphError(f"a group of inputs takes handles, such as scope.new_input gives, not {handle!r}")
        if type(handle).advance_to is not InputHandle.advance_to:
            raise GraphError(f"{handle.describe()} does more than move when it is advanced; advance it by itself")
        location, time = handle.enter(self, len(self._handles))
        used = len(self._handles)
        if used and handle.stepper is not self._handles[0].stepper:
            handle.leave(time)
            raise GraphError(f"{handle.describe()} cannot join a group of inputs on another worker")
        if used == len(self._times):
            self._locations = np.resize(self._locations, 2 * used + 8)
            self._times = np.resize(self._times, 2 * used + 8)
        self._locations[used], self._times[used] = location, time
        self._handles.append(handle)

    def remove(self, handle: InputHandle) -> None:
        """Let an input go, at the time it has. Raises GraphError if it is not here."""
        if handle.group is not self:
            raise GraphError(f"{handle.describe()} is not in this group")
        slot = handle.slot
        handle.leave(self.time(slot))
        last = len(self._handles) - 1
        moved = self._handles.pop()
        if slot < last:
            self._handles[slot] = moved
            self._locations[slot], self._times[slot] = self._locations[last], self._times[last]
            moved.slot = slot

    def advance_to(self, time: Time) -> None:
        """Promise, for every input, to send nothing before `time`. If one is beyond it already, TimeRegressionError
        names it, and none is moved.
        """
        handles = self._handles
        if not handles:
            return
        try:
            time = as_integer(time)
        except TypeError:
            handles[0].advance_to(time)  # raises
        if time > MAX_TIME:
            handles[0].advance_to(time)  # raises
        beyond = handles[0].stepper.log.move_all(self._locations, self._times, len(handles), time)
        if beyond >= 0:
            handles[beyond].advance_to(time)  # raises
        handles[0].stepper.flush()

    def close(self) -> None:
        """Close every input."""
        while self._handles:
            self._handles[-1].close()

    def time(self, slot: int) -> Time:
        """The time of the input at `slot` (for the handle itself)."""
        return int(self._times[slot])

    def moved(self, slot: int, time: Time) -> None:
        """The input at `slot` was moved by itself (said by the handle)."""
        self._times[slot] = time

    def __len__(self) -> int:
        return len(self._handles)
