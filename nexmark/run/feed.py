"""What one worker's source sends when: its blocks in turn, how much is under way, how late each batch was."""

from collections.abc import Sequence

import numpy as np

from tokenring.engine import boolean, int64, kernel, void
from tokenring.engine.compiled import Record, Words, address_of, record_at, records_at, room, table_at, words_at
from tokenring.nexmark.measure import BINS, record
from tokenring.nexmark.run.cursors import NONE, POSITION_WORDS, CursorRow, Cursors, Position, advance
from tokenring.nexmark.run.pace import Measured, Measurements, Pace

MOST_STREAMS = 8
"""Of a source in the inner loop."""


class FeedState(Record):
    """`tokens`: the slots of the outputs' tokens, of a source in the inner loop. `batches`: the address of a ring of
    `batch_room` Batches under way, `under_way` of them from number `first_batch` on. `ns_per_event`: a float64's bits.
    `event`: the next one to be sent. `promised`: the time at which the outlets stand."""

    tokens: Words = room(MOST_STREAMS)
    table: int
    streams: int
    position: int
    measured: int
    bins_at: int
    extremes_at: int
    batches: int
    batch_room: int
    first_batch: int
    under_way: int
    events: int
    block: int
    outstanding: int
    workers: int
    is_open_loop: int
    ns_per_event: Words = room(1)
    discard_ns: int
    share: int
    event: int
    block_end: int
    promised: int


class SentBatch(Record):
    """Under way: the greatest time up to here, its first event, its last."""

    greatest: int
    first: int
    last: int


_BATCH_BYTES = 8 * SentBatch.size
_CURSOR_WORDS = CursorRow.size
_FIRST_ROOM = 64

# Bits of what `sent` returns.
CLOSES, RELEASES = 1, 2


@kernel
def cursors_of(feed: FeedState) -> Sequence[CursorRow]:
    """The streams' cursors."""
    return records_at(feed.table, feed.streams, CursorRow)


@kernel
def _batch(feed: FeedState, number: int) -> SentBatch:
    """One of the batches under way, the oldest being number 0."""
    at = (feed.first_batch + number) & (feed.batch_room - 1)
    return record_at(feed.batches + _BATCH_BYTES * at, SentBatch)


@kernel
def _ns_per_event(feed: FeedState) -> float:
    return feed.ns_per_event[:].view(np.float64)[0]


@kernel(int64(int64, int64))
def due_ns(address: int, event: int) -> int:
    """When an event is due, in ns after the start. address: of a feed's state, here as everywhere."""
    return int(event * _ns_per_event(record_at(address, FeedState)))


@kernel(int64(int64, int64))
def stop_by(address: int, now_ns: int) -> int:
    """The first event that is not to be sent yet: of the block, and in an open loop of those that are due."""
    feed = record_at(address, FeedState)
    stop = feed.block_end
    if feed.is_open_loop != 0:
        stop = min(stop, int(now_ns / _ns_per_event(feed)) + 1)
    return stop


@kernel(boolean(int64))
def is_far_ahead(address: int) -> bool:
    """Whether as many batches are under way as may be. Where times are out of order, a batch may have a time that our
    own next events still hold back: the probe cannot pass it until they are sent, so it must not hold them up."""
    feed = record_at(address, FeedState)
    outstanding = feed.outstanding
    return feed.under_way >= outstanding and _batch(feed, outstanding - 1).greatest < feed.promised


@kernel(int64(int64, int64))
def lateness(address: int, now_ns: int) -> int:
    """How long ago the oldest event that is not done was due."""
    feed = record_at(address, FeedState)
    oldest = _batch(feed, 0).first if feed.under_way > 0 else feed.event
    return now_ns - due_ns(address, oldest)


@kernel(void(int64, int64, int64))
def note_done(address: int, now_ns: int, frontier: int) -> None:
    """Take batches that the probe has passed off the list, and record their latencies."""
    feed = record_at(address, FeedState)
    while feed.under_way > 0:
        batch = _batch(feed, 0)
        if batch.greatest >= frontier:
            break
        feed.first_batch += 1
        feed.under_way -= 1
        if feed.is_open_loop != 0:
            first_due_ns = due_ns(address, batch.first)
            if first_due_ns >= feed.discard_ns:
                record(
                    words_at(feed.bins_at, BINS), words_at(feed.extremes_at, 2),
                    now_ns - first_due_ns, now_ns - due_ns(address, batch.last), batch.last - batch.first + 1,
                )  # fmt: skip


@kernel(void(int64, int64))
def advance_to(address: int, event: int) -> None:
    """Move the cursors to an event: what is to be sent of each stream is its rows from `taken` up to `at`."""
    feed = record_at(address, FeedState)
    table = table_at(feed.table, feed.streams, _CURSOR_WORDS)
    advance(table, event, words_at(feed.position, POSITION_WORDS + feed.streams))


@kernel
def _count_as_taken(feed: FeedState) -> bool:
    """Rows up to the cursors were sent, or are not ours; whether so many were read that pages can be given back."""
    cursors = cursors_of(feed)
    releases = False
    for stream in range(feed.streams):
        cursors[stream].taken = cursors[stream].at
        releases |= cursors[stream].taken >= cursors[stream].release_at
    return releases


@kernel(void(int64, int64))
def enter_block(address: int, block: int) -> None:
    """Skip to a block of this worker's."""
    feed = record_at(address, FeedState)
    feed.event = min(block * feed.block, feed.events)
    feed.block_end = min(feed.event + feed.block, feed.events)
    advance_to(address, feed.event)
    _count_as_taken(feed)


@kernel(boolean(int64))
def has_room(address: int) -> bool:
    """Whether one more batch can be under way; `Feed.make_room` otherwise."""
    feed = record_at(address, FeedState)
    return feed.under_way < feed.batch_room


@kernel(int64(int64, int64))
def sent(address: int, stop: int) -> int:
    """The events before `stop` were sent, for which there was room, and the cursors are there: go on to what is next.
    Returns CLOSES if nothing is, RELEASES if pages can be given back (`Cursors.release`), as bits."""
    feed = record_at(address, FeedState)
    position, measured = record_at(feed.position, Position), record_at(feed.measured, Measured)
    told = RELEASES if _count_as_taken(feed) else 0
    first = feed.event
    feed.event = stop
    measured.offered += stop - first
    greatest = position.greatest
    if greatest != NONE:
        if feed.under_way > 0:
            greatest = max(greatest, _batch(feed, feed.under_way - 1).greatest)
        feed.under_way += 1
        batch = _batch(feed, feed.under_way - 1)
        batch.greatest, batch.first, batch.last = greatest, first, stop - 1
    if stop == feed.block_end:
        enter_block(address, first // feed.block + feed.workers)
    if position.least == NONE or feed.event >= feed.events:
        measured.offered = feed.share  # the rest, if any, are events that the query does not read
        return told | CLOSES
    feed.promised = position.least
    return told


def share(pace: Pace, worker: int, peers: int) -> int:
    """How many events are dealt to a worker."""
    blocks = -(-pace.events // pace.block)
    mine = len(range(worker, blocks, peers))
    is_last = mine > 0 and (blocks - 1) % peers == worker
    return mine * pace.block - (blocks * pace.block - pace.events if is_last else 0)


class Feed:
    """One worker's state, and what it points to."""

    def __init__(
        self,
        cursors: Cursors,
        pace: Pace,
        measurements: Measurements,
        worker: int,
        peers: int,
        kind: type[FeedState],
    ) -> None:
        """kind: of its state, of which more may be for whoever has the feed."""
        self.cursors = cursors
        self.pace = pace
        self.measurements = measurements
        self.state = kind()
        self.address = self.state.address
        self._batches = SentBatch.new_table(_FIRST_ROOM)
        self._write(worker, peers)
        cursors.map_ahead(pace.events)
        enter_block(self.address, worker)

    def _write(self, worker: int, peers: int) -> None:
        state, cursors, pace = self.state, self.cursors, self.pace
        measurements = self.measurements
        histogram = measurements.histogram
        state.table, state.streams = address_of(cursors.table), len(cursors.table)
        state.position, state.measured = address_of(cursors.words), measurements.measured.address
        state.bins_at, state.extremes_at = address_of(histogram.bins), address_of(histogram.extremes)
        state.batches, state.batch_room = address_of(self._batches), _FIRST_ROOM
        state.events, state.block, state.outstanding = pace.events, pace.block, pace.outstanding
        state.workers, state.share = peers, share(pace, worker, peers)
        if pace.rate is not None:
            state.is_open_loop, state.discard_ns = 1, pace.discard_ns
            state.ns_per_event.view(np.float64)[0] = 1e9 / pace.rate

    def make_room(self) -> None:
        """Let more batches be under way."""
        state, room = self.state, len(self._batches)
        first = state.first_batch % room
        grown = SentBatch.new_table(2 * room)
        grown[:room] = np.roll(self._batches, -first)
        self._batches = grown
        state.batches, state.batch_room, state.first_batch = address_of(grown), 2 * room, 0
