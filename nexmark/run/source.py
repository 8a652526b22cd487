"""The NEXMark source: staged columns as timed streams, as fast as they go or each event at its scheduled instant.

Events are dealt to workers in blocks of consecutive events (block k goes to worker k modulo workers), so that all
workers are at about the same event time. A worker's outlets stand at the time of its own next event. At most
`outstanding` batches of a worker are under way beyond the probe: large batches make what follows dearer, and under load
that spirals.
"""

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass

from tokenring.engine import OperatorContext, OutputPort, Scope, Stream, Worker
from tokenring.nexmark.measure import Backlog, Histogram
from tokenring.nexmark.run.cursors import NONE, Cursor, Cursors
from tokenring.nexmark.run.micro_batches import MicroBatches
from tokenring.nexmark.staging import StagedEvents
from tokenring.operators.mechanisms import Outlet, Progress, mechanism_of

NOT_YET = 2**62
_REPORT_NS = 200_000_000
_SPIN_NS = 300_000


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
    """What one worker's source saw: events offered, latencies, whether it fell behind. `start_ns` is to be set, alike
    on all workers, once the dataflow is built: nothing is sent before that instant (time.monotonic_ns). from_ns: what
    was before it says nothing about how the backlog grows."""

    def __init__(self, from_ns: int = 0) -> None:
        self.offered = 0
        self.histogram = Histogram()
        self.backlog = Backlog(from_ns)
        self.dnf = False
        self.start_ns = NOT_YET


def nexmark_source(
    worker: Worker,
    scope: Scope,
    staged: StagedEvents,
    streams: dict[str, tuple[str, ...]],
    pace: Pace,
    measurements: Measurements,
) -> tuple[tuple[Stream, ...], Callable[[Progress], None]]:
    """Streams of the named columns, and a function to be given the probe that tells when events are done."""
    cursors = [Cursor(staged, name, columns) for name, columns in streams.items()]
    probes: list[Progress] = []
    way = mechanism_of(scope)

    def construct(context: OperatorContext, *outlets: Outlet) -> Callable[..., None]:
        ahead = Cursors(cursors)
        batches = MicroBatches(ahead, pace.micro_batch_ns, probes[0]) if way.one_at_a_time else None
        return _Feeder(context, worker, ahead, outlets, pace, measurements, probes[0], batches)

    schemas = tuple(cursor.schema for cursor in cursors)
    times = ("date_time",) * len(schemas)
    return way.source(scope, "nexmark", schemas, construct, times, pace.each_time), probes.append


class _Feeder:
    """The source's logic on one worker; called once a step while there is something to do."""

    def __init__(
        self,
        context: OperatorContext,
        worker: Worker,
        cursors: Cursors,
        outlets: tuple[Outlet, ...],
        pace: Pace,
        measurements: Measurements,
        probe: Progress,
        batches: MicroBatches | None,
    ) -> None:
        self._context = context
        self._worker = worker
        self._cursors = cursors
        self._outlets = outlets
        self._batches = batches
        self._promised = 0  # the time at which the outlets stand
        self._pace = pace
        self._is_open_loop = pace.rate is not None
        self._ns_per_event = 0.0 if pace.rate is None else 1e9 / pace.rate
        self._measurements = measurements
        self._probe = probe
        probe.on_advance(self._probe_moved)
        self._waiting: deque[tuple[int, int, int]] = deque()  # greatest time up to here, first event, last event
        self._next_report_ns = 0
        self._event = 0
        self._block_end = 0
        self._enter_block(context.worker_index)

    def _enter_block(self, block: int) -> None:
        """Skip to the worker's next block."""
        self._event = min(block * self._pace.block, self._pace.events)
        self._block_end = min(self._event + self._pace.block, self._pace.events)
        self._cursors.skip_to(self._event)

    def __call__(self, *outputs: OutputPort) -> None:
        """Note what is done, send what is due."""
        now_ns = time.monotonic_ns() - self._measurements.start_ns
        if now_ns < 0:
            self._context.activate()
            return
        if not self._outlets:
            return
        if self._is_open_loop and now_ns >= self._measurements.backlog.next_look_ns and self._gives_up(now_ns):
            return
        if self._is_far_ahead():
            return  # the probe will wake us
        stop = self._block_end
        if self._is_open_loop:
            due = int(now_ns / self._ns_per_event) + 1
            if due <= self._event:
                self._wait_for(int(self._event * self._ns_per_event) - now_ns)
                return
            stop = min(stop, due)
        if self._batches is not None and self._event < self._pace.events:
            stop = min(stop, self._batches.stop(self._event))
            if stop <= self._event:
                self._promise()
                return  # the probe will wake us
        self._context.activate()
        if self._context.congested:
            return
        if self._event >= self._pace.events:
            self._close()
            return
        self._send(stop, outputs)
        if now_ns >= self._next_report_ns:
            self._next_report_ns = now_ns + _REPORT_NS
            self._worker.report(self._measurements.offered)

    def _wait_for(self, delay_ns: int) -> None:
        """Come back when the next event is due; soon means spinning."""
        if delay_ns > _SPIN_NS:
            self._context.activate_after(delay_ns - _SPIN_NS // 2)
        else:
            self._context.activate()

    def _send(self, stop: int, outputs: tuple[OutputPort, ...]) -> None:
        cursors = self._cursors
        rows = cursors.advance(stop)
        for cursor, outlet, output, end in zip(cursors.streams, self._outlets, outputs, rows, strict=True):
            if end > cursor.at:
                outlet.send(output, cursor.take(end))
        first, self._event = self._event, stop
        self._measurements.offered += stop - first
        if cursors.greatest != NONE:
            greatest = max(cursors.greatest, self._waiting[-1][0]) if self._waiting else cursors.greatest
            self._waiting.append((greatest, first, stop - 1))
        if stop == self._block_end:
            self._enter_block(first // self._pace.block + self._context.peers)
        if cursors.least == NONE or self._event >= self._pace.events:
            self._measurements.offered = self._share()  # the rest, if any, are events that the query does not read
            self._close()
        else:
            self._promise()

    def _promise(self) -> None:
        """Say that nothing of an earlier time is to come from this worker."""
        least = self._cursors.least
        if self._batches is not None:
            least = self._batches.start_of(least)
        self._promised = least
        for outlet in self._outlets:
            outlet.advance(least)

    def _is_far_ahead(self) -> bool:
        """Whether as many batches are under way as may be. Where times are out of order, a batch may have a time that
        our own next events still hold back: the probe cannot pass it until they are sent, so it must not hold them up.
        """
        waiting, outstanding = self._waiting, self._pace.outstanding
        return len(waiting) >= outstanding and waiting[outstanding - 1][0] < self._promised

    def _share(self) -> int:
        """How many events are dealt to this worker."""
        events, block, peers = self._pace.events, self._pace.block, self._context.peers
        blocks = -(-events // block)
        mine = len(range(self._context.worker_index, blocks, peers))
        is_last = mine > 0 and (blocks - 1) % peers == self._context.worker_index
        return mine * block - (blocks * block - events if is_last else 0)

    def _close(self) -> None:
        for outlet in self._outlets:
            outlet.close()
        self._outlets = ()

    def _probe_moved(self) -> None:
        """Take batches that the probe has passed off the list, record their latencies, and go on."""
        now_ns = time.monotonic_ns() - self._measurements.start_ns
        frontier = self._probe.frontier
        waiting = self._waiting
        while waiting and waiting[0][0] < frontier:
            _, first, last = waiting.popleft()
            if self._is_open_loop:
                due_ns = int(first * self._ns_per_event)
                if due_ns >= self._pace.discard_ns:
                    last_due_ns = int(last * self._ns_per_event)
                    self._measurements.histogram.record(now_ns - due_ns, now_ns - last_due_ns, last - first + 1)
        if self._outlets:
            self._context.activate()

    def _gives_up(self, now_ns: int) -> bool:
        """Note how late the oldest event not yet done is. End the run if it is lost, or if another worker says so."""
        oldest = self._waiting[0][1] if self._waiting else self._event
        if self._measurements.backlog.note(now_ns, now_ns - int(oldest * self._ns_per_event)):
            self._measurements.dnf = True
            self._worker.ending.ask()
        elif not self._worker.ending.asked:
            return False
        self._close()
        return True
