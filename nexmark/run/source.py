"""The NEXMark source: staged columns as timed streams, as fast as they go or each event at its scheduled instant.

Events are dealt to workers in blocks of consecutive events (block k goes to worker k modulo workers), so that all
workers are at about the same event time. A worker's outlets stand at the time of its own next event. At most
`outstanding` batches of a worker are under way beyond the probe: large batches make what follows dearer, and under load
that spirals.
"""

import time
from collections.abc import Callable

import numpy as np

from tokenring.engine import OperatorContext, OutputPort, Scope, Stream, Worker
from tokenring.engine.compiled import Compiled
from tokenring.nexmark.run.compiled_source import SourceState, compiled_source
from tokenring.nexmark.run.cursors import Cursor, Cursors
from tokenring.nexmark.run.feed import (
    CLOSES,
    MOST_STREAMS,
    RELEASES,
    Feed,
    FeedState,
    due_ns,
    has_room,
    is_far_ahead,
    lateness,
    move_to,
    note_done,
    sent,
    stop_by,
)
from tokenring.nexmark.run.micro_batches import MicroBatches
from tokenring.nexmark.run.pace import REPORT_NS, SPIN_NS, Measurements, Pace
from tokenring.nexmark.staging import StagedEvents
from tokenring.operators.mechanisms import Outlet, Progress, mechanism_of


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
    measurements.kept += cursors
    probes: list[Progress] = []
    way = mechanism_of(scope)

    def feed(context: OperatorContext, kind: type[FeedState]) -> Feed:
        return Feed(Cursors(cursors), pace, measurements, context.worker_index, context.peers, kind)

    def batches_of(own: Feed) -> MicroBatches | None:
        return MicroBatches(own.cursors, pace.micro_batch_ns, probes[0]) if way.one_at_a_time else None

    def construct(context: OperatorContext, *outlets: Outlet) -> Callable[..., None]:
        own = feed(context, FeedState)
        return _Feeder(context, worker, own, outlets, probes[0], batches_of(own))

    def compiled(context: OperatorContext, outlets: np.ndarray) -> Compiled:
        own = feed(context, SourceState)
        return compiled_source(context, worker, own, outlets, probes[0], batches_of(own))

    schemas = tuple(cursor.schema for cursor in cursors)
    times = ("date_time",) * len(schemas)
    in_space = all(cursor.is_in_space for cursor in cursors)
    in_loop = compiled if len(schemas) <= MOST_STREAMS and in_space else None
    return way.source(scope, "nexmark", schemas, construct, times, pace.each_time, in_loop), probes.append


class _Feeder:
    """The source's logic on one worker; called once a step while there is something to do."""

    def __init__(
        self,
        context: OperatorContext,
        worker: Worker,
        feed: Feed,
        outlets: tuple[Outlet, ...],
        probe: Progress,
        batches: MicroBatches | None,
    ) -> None:
        self._context = context
        self._worker = worker
        self._feed = feed
        self._address, self._state = feed.address, feed.state
        self._cursors = feed.cursors
        self._outlets = outlets
        self._batches = batches
        self._is_open_loop = feed.pace.rate is not None
        self._measurements = feed.measurements
        self._probe = probe
        probe.on_advance(self._probe_moved)
        self._next_report_ns = 0

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
        address, state = self._address, self._state
        if is_far_ahead(address):
            return  # the probe will wake us
        stop, event = stop_by(address, now_ns), state.event
        if event >= state.events:
            self._close()
            return
        if stop <= event:
            self._wait_for(due_ns(address, event) - now_ns)
            return
        if self._batches is not None:
            stop = min(stop, self._batches.stop(event))
            if stop <= event:
                self._promise()
                return  # the probe will wake us
        self._context.activate()
        if self._context.congested:
            return
        self._send(stop, outputs)
        if now_ns >= self._next_report_ns:
            self._next_report_ns = now_ns + REPORT_NS
            self._worker.report(self._measurements.offered)

    def _wait_for(self, delay_ns: int) -> None:
        """Come back when the next event is due; soon means spinning."""
        if delay_ns > SPIN_NS:
            self._context.activate_after(delay_ns - SPIN_NS // 2)
        else:
            self._context.activate()

    def _send(self, stop: int, outputs: tuple[OutputPort, ...]) -> None:
        address, cursors = self._address, self._cursors
        if not has_room(address):
            self._feed.make_room()
        move_to(address, stop)
        rows = zip(cursors.rows["taken"].tolist(), cursors.rows["at"].tolist(), strict=True)
        for cursor, (taken, at), outlet, output in zip(cursors.streams, rows, self._outlets, outputs, strict=True):
            if at > taken:
                outlet.send(output, cursor.take(taken, at))
        told = sent(address, stop)
        if told & RELEASES:
            cursors.release()
        if told & CLOSES:
            self._close()
        else:
            self._promise()

    def _promise(self) -> None:
        """Say that nothing of an earlier time is to come from this worker."""
        least = self._cursors.least
        if self._batches is not None:
            least = self._state.promised = self._batches.start_of(least)
        for outlet in self._outlets:
            outlet.advance(least)

    def _close(self) -> None:
        for outlet in self._outlets:
            outlet.close()
        self._outlets = ()

    def _probe_moved(self) -> None:
        """Note what is done, and go on."""
        note_done(self._address, time.monotonic_ns() - self._measurements.start_ns, self._probe.frontier)
        if self._outlets:
            self._context.activate()

    def _gives_up(self, now_ns: int) -> bool:
        """Note how late the oldest event not yet done is. End the run if it is lost, or if another worker says so."""
        if self._measurements.backlog.note(now_ns, lateness(self._address, now_ns)):
            self._measurements.dnf = True
            self._worker.ending.ask()
        elif not self._worker.ending.asked:
            return False
        self._close()
        return True
