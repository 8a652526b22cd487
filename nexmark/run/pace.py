"""How events are offered, and what a worker's source sees while it offers them."""

from dataclasses import dataclass

from tokenring.engine.compiled import Record
from tokenring.nexmark.measure import Backlog, Histogram
from tokenring.operators.migrate import Placement

NOT_YET = 2**62
REPORT_NS = 200_000_000
SPIN_NS = 300_000
"""What is due sooner is waited for without sleep."""


class Measured(Record):
    """How many events were offered so far; and the instant before which nothing is sent (monotonic clock)."""

    offered: int
    start_ns: int


@dataclass(frozen=True)
class Pace:
    """How events are offered. rate: events a second over all workers, None for as fast as they go. block: consecutive
    events a worker takes in turn, and the most it sends at once. discard_ns: start of an open-loop run that is not
    measured. micro_batch_ns: event time that is let in at once, where the mechanism lets one time in after another.
    each_time: a message for each distinct event time, though the mechanism needs it not."""

    events: int
    block: int
    outstanding: int
    rate: float | None = None
    discard_ns: int = 1_000_000_000
    micro_batch_ns: int = 1_000_000
    each_time: bool = False


class Measurements:
    """What one worker's source saw: events offered, latencies, whether it fell behind. from_ns: what was before it says
    nothing about how the backlog grows."""

    def __init__(self, from_ns: int = 0) -> None:
        self.measured = Measured()
        self.measured.start_ns = NOT_YET
        self.histogram = Histogram()
        self.backlog = Backlog(from_ns)
        self.placement: Placement | None = None
        """Where bins are, if keyed state lies in bins."""
        self.dnf = False
        self.kept: list[object] = []
        """What the source reads from: a file's pages are unmapped once nobody has it, and not while time is taken."""

    @property
    def offered(self) -> int:
        """Events offered so far."""
        return self.measured.offered

    @property
    def start_ns(self) -> int:
        """To be set, alike on all workers, once the dataflow is built: nothing is sent before that instant
        (time.monotonic_ns)."""
        return self.measured.start_ns

    @start_ns.setter
    def start_ns(self, start_ns: int) -> None:
        self.measured.start_ns = start_ns
