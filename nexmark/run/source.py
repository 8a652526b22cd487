"""The NEXMark source: staged columns as timed streams, as fast as they go or each event at its scheduled instant.

Events are dealt to workers in blocks of consecutive events (block k goes to worker k modulo workers), so that all
workers are at about the same event time. A worker's outlets stand at the time of its own next event. At most
`outstanding` batches of a worker are under way beyond the probe: large batches make what follows dearer, and under load
that spirals.
"""

import time
from collections.abc import Callable

import numpy as np

from tokenring.engine import OperatorContext, Scope, Stream, Worker, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    NEEDS_ROOM,
    Compiled,
    address_of,
    bare_message,
    entry,
    is_congested,
    is_ending,
    monotonic_now_ns,
    point_to,
    record_at,
    shifted_texts,
    state_as,
    wake_at,
    words_at,
    world_at,
)
from tokenring.nexmark.measure import Looks, LooksState, has_looked, look
from tokenring.nexmark.run.cursors import Cursor, Cursors
from tokenring.nexmark.run.feed import (
    CLOSES,
    RELEASES,
    Feed,
    FeedState,
    advance_to,
    cursors_of,
    due_ns,
    has_room,
    is_far_ahead,
    lateness,
    note_done,
    sent,
    stop_by,
)
from tokenring.nexmark.run.micro_batches import MicroBatches
from tokenring.nexmark.run.pace import REPORT_NS, SPIN_NS, Measured, Measurements, Pace
from tokenring.nexmark.staging import StagedEvents
from tokenring.operators.mechanisms import (
    Progress,
    Watched,
    close_outlet,
    frontier_watched,
    mechanism_of,
    outlets_at,
    promise,
    send_out,
    watch,
)


class SourceState(FeedState):
    """`feed`: where it lies itself. `outlets`: where those are, one a stream; `watched`: the probe. `looks`: where the
    state of those is. `visit`: Python has something to do (`_Visits`). `ends`: no more is to be sent, though there is
    more. `closed`: the outlets are. `micro_batch_ns`: 0, or how long times are let in as one, the next when the probe
    has passed them: `batch_end_ns` is where those end that are let in, `batch_stop` the first event that is not.
    """

    feed: int
    outlets: int
    watched: Watched
    looks: int
    micro_batch_ns: int
    batch_end_ns: int
    batch_stop: int
    next_report_ns: int
    visit: int
    ends: int
    closed: int


@kernel
def _close(world: int, me: int, state: SourceState) -> None:
    """Close the outlets: nothing more is to come from this worker."""
    outlets = outlets_at(state.outlets, state.streams)
    for stream in range(state.streams):
        close_outlet(world, me, outlets[stream], state.tokens[stream])
    state.closed = 1
    if has_looked(record_at(state.looks, LooksState)):
        state.visit = 1


@kernel
def _look(world: int, state: SourceState, now_ns: int) -> None:
    """Note how late the oldest event not yet done is, and whether somebody asked for an end."""
    if look(record_at(state.looks, LooksState), now_ns, lateness(state.feed, now_ns)):
        state.visit = 1
    if is_ending(world):
        state.ends = 1


@kernel
def _send_rows(world: int, me: int, state: SourceState) -> None:
    """Send each stream's rows up to its cursor, where they lie."""
    cursors, outlets = cursors_of(state), outlets_at(state.outlets, state.streams)
    for stream in range(state.streams):
        start, width = cursors[stream].taken, cursors[stream].width
        rows = cursors[stream].at - start
        if rows > 0:
            message = bare_message(world_at(world), width, rows)
            columns = words_at(cursors[stream].columns, width)
            shifts = words_at(cursors[stream].shifts, width)
            for column in range(width):
                address = columns[column] + 8 * start
                if shifts[column] != 0:
                    address = shifted_texts(world_at(world), address, rows, shifts[column])
                point_to(message, column, address)
            send_out(world, me, outlets[stream], state.tokens[stream], message)


@kernel
def _promise(world: int, me: int, state: SourceState) -> None:
    """Say that nothing of an earlier time is to come from this worker."""
    outlets = outlets_at(state.outlets, state.streams)
    if state.micro_batch_ns > 0:
        state.promised = state.promised // state.micro_batch_ns * state.micro_batch_ns
    for stream in range(state.streams):
        promise(world, me, outlets[stream], state.tokens[stream], state.promised)


@entry
def _offer(world: int, me: int) -> int:
    """Note what is done, send what is due."""
    state = state_as(world, me, SourceState)
    start_ns = record_at(state.measured, Measured).start_ns
    now_ns = monotonic_now_ns() - start_ns
    if now_ns < 0:
        return AGAIN
    if state.under_way > 0:
        note_done(state.feed, now_ns, frontier_watched(world, state.watched))
    if state.closed == 0 and state.is_open_loop != 0 and now_ns >= record_at(state.looks, LooksState).next_look_ns:
        _look(world, state, now_ns)
    if state.visit != 0:
        return NEEDS_ROOM
    if state.closed != 0:
        return DONE
    if state.ends != 0 or state.event >= state.events:
        _close(world, me, state)
        return AGAIN
    if is_far_ahead(state.feed):
        return DONE  # the probe will wake us
    stop = stop_by(state.feed, now_ns)
    if state.micro_batch_ns > 0 and stop > state.event and state.event >= state.batch_stop:
        if frontier_watched(world, state.watched) < state.batch_end_ns:
            _promise(world, me, state)
            return DONE  # the probe will wake us
        state.visit = 1
        return NEEDS_ROOM
    if state.micro_batch_ns > 0:
        stop = min(stop, max(state.event, state.batch_stop))
    if stop <= state.event:
        delay_ns = due_ns(state.feed, state.event) - now_ns
        if delay_ns <= SPIN_NS:
            return AGAIN
        wake_at(world, me, start_ns + now_ns + delay_ns - SPIN_NS // 2)
        return DONE
    if is_congested(world):
        return AGAIN
    if not has_room(state.feed):
        return NEEDS_ROOM
    advance_to(state.feed, stop)
    _send_rows(world, me, state)
    told = sent(state.feed, stop)
    if told & RELEASES or now_ns >= state.next_report_ns:
        state.visit = 1
    if told & CLOSES:
        _close(world, me, state)
    else:
        _promise(world, me, state)
    return AGAIN


class _Visits:
    """What is done for a source in Python, a few times a second, and for each micro-batch."""

    def __init__(
        self, state: SourceState, feed: Feed, looks: Looks, worker: Worker, batches: MicroBatches | None
    ) -> None:
        self._state = state
        self._batches = batches
        self._feed = feed
        self._looks = looks
        self._worker = worker

    def __call__(self) -> None:
        """Make room, give pages back, tell who waits for figures, and end the run if it is lost."""
        state, feed = self._state, self._feed
        state.visit = 0
        if not has_room(feed.address):
            feed.make_room()
        if self._batches is not None:
            state.batch_stop, state.batch_end_ns = self._batches.stop(state.event), self._batches.end_ns
        feed.cursors.release()
        measurements = feed.measurements
        if self._looks.tell():
            measurements.dnf = True
            self._worker.ending.ask()
            state.ends = 1
        now_ns = time.monotonic_ns() - measurements.start_ns
        if now_ns >= state.next_report_ns:
            state.next_report_ns = now_ns + REPORT_NS
            self._worker.report(measurements.offered)


def compiled_source(
    context: OperatorContext, worker: Worker, feed: Feed, outlets: np.ndarray, probe: Progress,
    batches: MicroBatches | None,
) -> Compiled:  # fmt: skip
    """The source's logic on one worker. feed: with a SourceState; outlets: a CompiledOutlet a stream; batches: None
    where times need not be let in one after the other."""
    looks = Looks(feed.measurements.backlog)
    state = feed.state
    assert isinstance(state, SourceState)
    state.feed, state.outlets, state.looks = feed.address, address_of(outlets), looks.state.address
    state.micro_batch_ns, state.promised = 0 if batches is None else batches.width_ns, feed.cursors.least
    watch(state.watched, probe, context)
    state.next_report_ns = REPORT_NS  # not at once: a visit in Python is a tenth of what a short run takes
    return Compiled(_offer, state.words, (feed, looks, outlets), _Visits(state, feed, looks, worker, batches))


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

    def compiled(context: OperatorContext, outlets: np.ndarray) -> Compiled:
        own = Feed(Cursors(cursors), pace, measurements, context.worker_index, context.peers, SourceState)
        batches = MicroBatches(own.cursors, pace.micro_batch_ns, probes[0]) if way.one_at_a_time else None
        return compiled_source(context, worker, own, outlets, probes[0], batches)

    schemas = tuple(cursor.schema for cursor in cursors)
    needs_times = pace.each_time or way.sends_each_time  # else a query that does not read them goes without
    times = tuple(["date_time" if needs_times or "date_time" in each.positions else "" for each in schemas])
    return way.source(scope, "nexmark", schemas, None, times, pace.each_time, compiled), probes.append
