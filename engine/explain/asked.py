"""Which probes a program asks about, over and over, while nothing moves: seen from outside, so that asking costs
nothing more at other times.
"""

import sys
from types import FrameType
from typing import Any

from tokenring.engine.running import Probe, ProbeGroup

_QUESTIONS = {
    Probe.less_than.__code__,
    Probe.less_equal.__code__,
    Probe.done.__code__,
    Probe.frontier.fget.__code__,  # type: ignore[attr-defined]
}
_OF_GROUPS = ProbeGroup.less_than.__code__


class Asked:
    """Listens to this thread's calls from `listen` on until `stop`, by Python's hook for profilers."""

    def __init__(self) -> None:
        self._probes: dict[int, Probe] = {}
        self._groups: dict[int, ProbeGroup] = {}
        self.listening = False

    @property
    def heard(self) -> bool:
        """Whether anything was asked."""
        return bool(self._probes or self._groups)

    def listen(self) -> None:
        """Begin, unless a profiler listens already."""
        if sys.getprofile() is None:
            self.listening = True
            sys.setprofile(self._heard)

    def stop(self) -> list[Probe]:
        """End; the probes that were asked about and are not done; of a group the one that it waits for."""
        if self.listening:
            self.listening = False
            sys.setprofile(None)
        probes = [*self._probes.values(), *(group.behind for group in self._groups.values() if not group.done())]
        self._probes, self._groups = {}, {}
        return [probe for probe in probes if not probe.finished and not probe.done()]

    def _heard(self, frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code in _QUESTIONS:
            probe = frame.f_locals["self"]
            self._probes[id(probe)] = probe
        elif event == "call" and frame.f_code is _OF_GROUPS:
            group = frame.f_locals["self"]
            self._groups[id(group)] = group
