"""Many probes as one: whether all have passed a time is one kernel call."""

from collections.abc import Iterable

import numpy as np

from tokenring.engine.arguments import as_integer
from tokenring.engine.errors import GraphError
from tokenring.engine.running.probe import Probe
from tokenring.engine.times import COMPLETE, Time
from tokenring.shm.kernels import COLUMN, Words, int64, kernel


@kernel(int64(COLUMN, COLUMN, int64, int64, int64))
def _first_below(words: Words, positions: Words, count: int, start: int, time: int) -> int:
    """The first of `count` positions, from `start` on and around, whose word is less than `time`; -1 if none."""
    for i in range(count):
        at = start + i
        if at >= count:
            at -= count
        if words[positions[at]] < time:
            return at
    return -1


class ProbeGroup:
    """Probes of one worker, of any dataflows."""

    def __init__(self, probes: Iterable[Probe] = ()) -> None:
        self._probes: list[Probe] = []
        self._positions = np.zeros(0, np.int64)
        self._behind = 0  # the one that was last seen to be behind: the first to ask
        if not isinstance(probes, Iterable):
            raise GraphError(f"a group of probes takes several, such as [one, other], not {probes!r}")
        for probe in probes:
            self.add(probe)

    def add(self, probe: Probe) -> None:
        """Take in a probe. Raises GraphError before its dataflow is built, or if it is of another worker."""
        if not isinstance(probe, Probe):
            raise GraphError(f"a group of probes takes probes, such as stream.probe() gives, not {probe!r}")
        tracker, position = probe.place()
        used = len(self._probes)
        if used and tracker is not self._probes[0].place()[0]:
            raise GraphError("a probe cannot join a group of probes on another worker")
        if used == len(self._positions):
            self._positions = np.resize(self._positions, 2 * used + 8)
        self._positions[used] = position
        self._probes.append(probe)
        probe.joined(self, used)

    def moved(self, slot: int) -> None:
        """The probe there is finished, and its word is another (done by the engine)."""
        self._positions[slot] = self._probes[slot].place()[1]

    def less_than(self, time: Time) -> bool:
        """Whether a time before `time` may still appear at any of them."""
        if not self._probes:
            return False
        words = np.frombuffer(self._probes[0].place()[0].tables.location_view, np.int64)
        try:
            behind: int = _first_below(words, self._positions, len(self._probes), self._behind, as_integer(time))
        except TypeError:
            self._probes[0].less_than(time)  # raises
            raise
        if behind < 0:
            return False
        self._behind = behind
        return True

    @property
    def behind(self) -> Probe:
        """The one that was last seen to be behind."""
        return self._probes[self._behind]

    @property
    def frontier(self) -> Time:
        """The least time that may still appear at any of them; COMPLETE if none."""
        return min((probe.frontier for probe in self._probes), default=COMPLETE)

    def done(self) -> bool:
        """Whether nothing can appear at any of them any more."""
        return not self.less_than(COMPLETE)

    def __len__(self) -> int:
        return len(self._probes)
