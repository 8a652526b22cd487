"""Throttle: how much of a source may be under way."""

import time as clocks
from collections import deque
from collections.abc import Callable

from tokenring.engine import Probe, Time, UnderWay
from tokenring.engine.arguments import whole_number

_FEW = 8  # one of so many that may be under way is as good as none
_PATIENCE_NS, _MOST_PATIENCE_NS = 20_000_000, 1_000_000_000
_LOOKS_AT_ONCE = 64
_WAIT_NS = 100_000


class Throttle:
    """At most so much of a source is sent, by each worker, before what is behind it has taken nearly all: `batches`
    messages, and `size_bytes` of their columns (8 a value, and the texts), or one message.

    Sources of the library have one unless they are given another. It bounds what waits at operators' inputs behind the
    source, at whatever times, not what operators keep in state. One that `watch`es a probe besides counts a batch as
    under way until the probe has passed its times: so state that waits for other sources, such as windows, is bounded
    too, and sources that share it stay together. Batches of a constant time are not counted so: the probe cannot pass
    them before the source ends.
    """

    def __init__(self, batches: int = 64, size_bytes: int = 32 << 20) -> None:
        self.batches = whole_number("a throttle", "batches", batches)
        self.size_bytes = whole_number("a throttle", "size_bytes", size_bytes)
        self._probe: Probe | None = None

    def watch(self, probe: Probe) -> None:
        """Say what has to pass a batch's times for it to be done. The probe must be of the root scope."""
        self._probe = probe

    def attach(self, behind: UnderWay, wake: Callable[[], None], wake_after: Callable[[int], None]) -> "Sent":
        """What one source has sent (called by the source when it is built). behind: what it has under way; the source
        wakes itself at once or after so many ns, or is woken by the probe.
        """
        if self._probe is not None:
            self._probe.on_advance(wake)
        return Sent(self, behind, self._probe, wake, wake_after)


class Sent:
    """What a worker's source has sent lately, and whether it is to wait."""

    __slots__ = ("_batches", "_behind", "_bytes", "_held_since_ns", "_looks", "_most", "_patience_ns", "_print",
                 "_probe", "_waiting", "_wake", "_wake_after")  # fmt: skip

    def __init__(
        self,
        most: Throttle,
        behind: UnderWay,
        probe: Probe | None,
        wake: Callable[[], None],
        wake_after: Callable[[int], None],
    ) -> None:
        self._most = most
        self._behind = behind
        self._probe = probe
        self._wake, self._wake_after = wake, wake_after
        self._batches = self._bytes = 0
        self._waiting: deque[Time] = deque()  # the greatest time sent up to each batch that the probe has not passed
        self._looks = self._held_since_ns = self._print = 0
        self._patience_ns = _PATIENCE_NS

    def add(self, size_bytes: int, greatest: Time | None) -> None:
        """A batch was sent whose rows go up to this time, if it is known."""
        self._batches += 1
        self._bytes += size_bytes
        if self._probe is not None and greatest is not None:
            waiting = self._waiting
            waiting.append(max(greatest, waiting[-1]) if waiting else greatest)

    def must_wait(self, promised: Time) -> bool:
        """Whether the source, which has promised nothing before that time, is to send nothing now: it is run again when
        that may have changed.
        """
        if self._is_behind_the_probe(promised):
            return True  # the probe wakes it
        if self._batches < self._most.batches and self._bytes < self._most.size_bytes:
            return False
        few = _FEW * self._behind.messages
        if few <= self._most.batches and few * self._bytes <= self._most.size_bytes * self._batches:
            self._batches = self._bytes = self._looks = self._held_since_ns = 0
            self._patience_ns = _PATIENCE_NS
            return False
        if self._has_waited_long():
            return False
        self._looks += 1
        if self._looks < _LOOKS_AT_ONCE:
            self._wake()
        else:
            self._wake_after(_WAIT_NS)
        return True

    def _is_behind_the_probe(self, promised: Time) -> bool:
        """Where times are out of order, a batch may have a time that the source's own next rows still hold back: the
        probe cannot pass it until they are sent, so it must not hold them up."""
        if self._probe is None:
            return False
        waiting, frontier, batches = self._waiting, self._probe.frontier, self._most.batches
        while waiting and waiting[0] < frontier:
            waiting.popleft()
        return len(waiting) >= batches and waiting[batches - 1] < promised

    def _has_waited_long(self) -> bool:
        """Whether nothing has moved for a while: an operator may leave messages untaken until later ones have come."""
        now_ns, found = clocks.monotonic_ns(), self._behind.print
        if not self._held_since_ns or found != self._print:
            self._held_since_ns, self._print = now_ns, found
            return False
        if now_ns - self._held_since_ns < self._patience_ns:
            return False
        self._held_since_ns = 0
        self._patience_ns = min(2 * self._patience_ns, _MOST_PATIENCE_NS)
        return True
