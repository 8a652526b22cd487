"""Throttle: how far sources may run ahead of what the dataflow has finished."""

from collections import deque
from collections.abc import Callable

from tokenring.engine import GraphError, Probe, Time, UsageError


class Throttle:
    """At most `batches` messages of each source that has this throttle, on each worker, are under way beyond a probe.

    Make one before the sources, give it to them, and let it `watch` the probe of what they feed. It bounds what waits
    between a source and the probe, and so latency and memory; without one a source stops for full queues only. Batches
    of a constant time are not bounded: the probe cannot pass them before the source ends.
    """

    def __init__(self, batches: int = 8) -> None:
        if batches < 1:
            raise UsageError(f"a throttle of {batches} batches lets nothing pass; give at least 1")
        self.batches = batches
        self._probe: Probe | None = None

    def watch(self, probe: Probe) -> None:
        """Say what has to pass a batch's times for it to be done. The probe must be of the root scope."""
        self._probe = probe

    def attach(self, name: str, wake: Callable[[], None]) -> "UnderWay":
        """What one source has under way (called by the source when it is built)."""
        if self._probe is None:
            raise GraphError(f"source {name!r}: its throttle watches nothing; call throttle.watch(stream.probe())")
        self._probe.on_advance(wake)
        return UnderWay(self.batches, self._probe)


class UnderWay:
    """The batches of one source that the probe has not passed, by the greatest time sent up to each."""

    __slots__ = ("_batches", "_probe", "_waiting")

    def __init__(self, batches: int, probe: Probe) -> None:
        self._batches = batches
        self._probe = probe
        self._waiting: deque[Time] = deque()

    def add(self, greatest: Time) -> None:
        """A batch was sent whose rows go up to this time."""
        waiting = self._waiting
        waiting.append(max(greatest, waiting[-1]) if waiting else greatest)

    def is_full(self, promised: Time) -> bool:
        """Whether the source, which has promised nothing before that time, is to wait until the probe moves.

        Where times are out of order, a batch may have a time that the source's own next rows still hold back: the probe
        cannot pass it until they are sent, so it must not hold them up.
        """
        waiting, frontier = self._waiting, self._probe.frontier
        while waiting and waiting[0] < frontier:
            waiting.popleft()
        return len(waiting) >= self._batches and waiting[self._batches - 1] < promised
