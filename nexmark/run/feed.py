"""What one worker's source sends when: its blocks in turn, how much is under way, how late each batch was.

It is arithmetic over words, by kernels that a source in Python calls as well as one in the worker's inner loop.
"""

import numpy as np

from tokenring.engine import WORDS, boolean, int64, kernel, void
from tokenring.engine.compiled import address_of, table_at, words_at
from tokenring.nexmark.measure import BINS, record
from tokenring.nexmark.run.cursors import AT, CURSOR_WORDS, GREATEST, LEAST, NONE, RELEASE_AT, TAKEN, Cursors, move
from tokenring.nexmark.run.pace import OFFERED, Measurements, Pace

MOST_STREAMS = 8
"""Of a source in the inner loop, whose words begin with the slots of its outputs' tokens."""

# Words of a feed, behind the slots. BATCHES: the address of a ring of `BATCH_ROOM` batches under way, of BATCH_WORDS
# each, `UNDER_WAY` of them from number `FIRST_BATCH` on. NS_PER_EVENT: a float64's bits. EVENT: the next one to be
# sent. PROMISED: the time at which the outlets stand.
(
    TABLE,
    STREAMS,
    POSITION,
    MEASURED,
    BINS_AT,
    EXTREMES_AT,
    BATCHES,
    BATCH_ROOM,
    FIRST_BATCH,
    UNDER_WAY,
    EVENTS,
    BLOCK,
    OUTSTANDING,
    WORKERS,
    IS_OPEN_LOOP,
    NS_PER_EVENT,
    DISCARD_NS,
    SHARE,
    EVENT,
    BLOCK_END,
    PROMISED,
    FEED_WORDS,
) = range(MOST_STREAMS, MOST_STREAMS + 22)

_BATCH_WORDS = 3  # greatest time up to here, first event, last event
_FIRST_ROOM = 64

# Bits of what `sent` returns.
CLOSES, RELEASES = 1, 2


@kernel
def cursors_of(feed):  # type: ignore[no-untyped-def]
    """The cursors' table."""
    return table_at(feed[TABLE], feed[STREAMS], CURSOR_WORDS)


@kernel
def _batch(feed, number):  # type: ignore[no-untyped-def]
    """One of the batches under way, the oldest being number 0."""
    at = (feed[FIRST_BATCH] + number) & (feed[BATCH_ROOM] - 1)
    return words_at(feed[BATCHES] + 8 * _BATCH_WORDS * at, _BATCH_WORDS)


@kernel(int64(WORDS, int64))
def due_ns(feed, event):  # type: ignore[no-untyped-def]
    """When an event is due, in ns after the start."""
    return int(event * feed[NS_PER_EVENT : NS_PER_EVENT + 1].view(np.float64)[0])


@kernel(int64(WORDS, int64))
def stop_by(feed, now_ns):  # type: ignore[no-untyped-def]
    """The first event that is not to be sent yet: of the block, and in an open loop of those that are due."""
    stop = feed[BLOCK_END]
    if feed[IS_OPEN_LOOP]:
        stop = min(stop, int(now_ns / feed[NS_PER_EVENT : NS_PER_EVENT + 1].view(np.float64)[0]) + 1)
    return stop


@kernel(boolean(WORDS))
def is_far_ahead(feed):  # type: ignore[no-untyped-def]
    """Whether as many batches are under way as may be. Where times are out of order, a batch may have a time that our
    own next events still hold back: the probe cannot pass it until they are sent, so it must not hold them up."""
    outstanding = feed[OUTSTANDING]
    return feed[UNDER_WAY] >= outstanding and _batch(feed, outstanding - 1)[0] < feed[PROMISED]


@kernel(int64(WORDS, int64))
def lateness(feed, now_ns):  # type: ignore[no-untyped-def]
    """How long ago the oldest event that is not done was due."""
    oldest = _batch(feed, 0)[1] if feed[UNDER_WAY] > 0 else feed[EVENT]
    return now_ns - due_ns(feed, oldest)


@kernel(void(WORDS, int64, int64))
def note_done(feed, now_ns, frontier):  # type: ignore[no-untyped-def]
    """Take batches that the probe has passed off the list, and record their latencies."""
    while feed[UNDER_WAY] > 0:
        batch = _batch(feed, 0)
        if batch[0] >= frontier:
            break
        feed[FIRST_BATCH] += 1
        feed[UNDER_WAY] -= 1
        if feed[IS_OPEN_LOOP]:
            first_due_ns = due_ns(feed, batch[1])
            if first_due_ns >= feed[DISCARD_NS]:
                record(
                    words_at(feed[BINS_AT], BINS), words_at(feed[EXTREMES_AT], 2),
                    now_ns - first_due_ns, now_ns - due_ns(feed, batch[2]), batch[2] - batch[1] + 1,
                )  # fmt: skip


@kernel(void(WORDS, int64))
def move_to(feed, event):  # type: ignore[no-untyped-def]
    """Move the cursors to an event: what is to be sent of each stream is its rows from TAKEN up to AT."""
    move(cursors_of(feed), event, words_at(feed[POSITION], 2 + feed[STREAMS]))


@kernel
def _count_as_taken(feed):  # type: ignore[no-untyped-def]
    """Rows up to the cursors were sent, or are not ours; whether so many were read that pages can be given back."""
    cursors = cursors_of(feed)
    releases = False
    for stream in range(feed[STREAMS]):
        cursors[stream, TAKEN] = cursors[stream, AT]
        releases |= cursors[stream, TAKEN] >= cursors[stream, RELEASE_AT]
    return releases


@kernel(void(WORDS, int64))
def enter_block(feed, block):  # type: ignore[no-untyped-def]
    """Skip to a block of this worker's."""
    feed[EVENT] = min(block * feed[BLOCK], feed[EVENTS])
    feed[BLOCK_END] = min(feed[EVENT] + feed[BLOCK], feed[EVENTS])
    move_to(feed, feed[EVENT])
    _count_as_taken(feed)


@kernel(boolean(WORDS))
def has_room(feed):  # type: ignore[no-untyped-def]
    """Whether one more batch can be under way; `Feed.make_room` otherwise."""
    return feed[UNDER_WAY] < feed[BATCH_ROOM]


@kernel(int64(WORDS, int64))
def sent(feed, stop):  # type: ignore[no-untyped-def]
    """The events before `stop` were sent, for which there was room, and the cursors are there: go on to what is next.
    Returns CLOSES if nothing is, RELEASES if pages can be given back (`Cursors.release`), as bits."""
    position = words_at(feed[POSITION], 2)
    measured = words_at(feed[MEASURED], 1)
    told = RELEASES if _count_as_taken(feed) else 0
    first = feed[EVENT]
    feed[EVENT] = stop
    measured[OFFERED] += stop - first
    greatest = position[GREATEST]
    if greatest != NONE:
        if feed[UNDER_WAY] > 0:
            greatest = max(greatest, _batch(feed, feed[UNDER_WAY] - 1)[0])
        feed[UNDER_WAY] += 1
        batch = _batch(feed, feed[UNDER_WAY] - 1)
        batch[0], batch[1], batch[2] = greatest, first, stop - 1
    if stop == feed[BLOCK_END]:
        enter_block(feed, first // feed[BLOCK] + feed[WORKERS])
    if position[LEAST] == NONE or feed[EVENT] >= feed[EVENTS]:
        measured[OFFERED] = feed[SHARE]  # the rest, if any, are events that the query does not read
        return told | CLOSES
    feed[PROMISED] = position[LEAST]
    return told


def share(pace: Pace, worker: int, peers: int) -> int:
    """How many events are dealt to a worker."""
    blocks = -(-pace.events // pace.block)
    mine = len(range(worker, blocks, peers))
    is_last = mine > 0 and (blocks - 1) % peers == worker
    return mine * pace.block - (blocks * pace.block - pace.events if is_last else 0)


class Feed:
    """One worker's words, and what they point to."""

    def __init__(
        self, cursors: Cursors, pace: Pace, measurements: Measurements, worker: int, peers: int, words: int = FEED_WORDS
    ) -> None:
        """words: how many there are, some of them for whoever has the feed."""
        self.cursors = cursors
        self.pace = pace
        self.measurements = measurements
        self.words = np.zeros(words, np.int64)
        self.view = self.words.data
        self._batches = np.zeros((_FIRST_ROOM, _BATCH_WORDS), np.int64)
        self._write(worker, peers)
        cursors.map_ahead(pace.events)
        enter_block(self.words, worker)

    def _write(self, worker: int, peers: int) -> None:
        words, cursors, pace = self.words, self.cursors, self.pace
        measurements = self.measurements
        histogram = measurements.histogram
        words[TABLE], words[STREAMS] = address_of(cursors.table), len(cursors.table)
        words[POSITION], words[MEASURED] = address_of(cursors.position), address_of(measurements.words)
        words[BINS_AT], words[EXTREMES_AT] = address_of(histogram.bins), address_of(histogram.extremes)
        words[BATCHES], words[BATCH_ROOM] = address_of(self._batches), _FIRST_ROOM
        words[EVENTS], words[BLOCK], words[OUTSTANDING] = pace.events, pace.block, pace.outstanding
        words[WORKERS], words[SHARE] = peers, share(pace, worker, peers)
        if pace.rate is not None:
            words[IS_OPEN_LOOP], words[DISCARD_NS] = 1, pace.discard_ns
            words[NS_PER_EVENT : NS_PER_EVENT + 1].view(np.float64)[0] = 1e9 / pace.rate

    def make_room(self) -> None:
        """Let more batches be under way."""
        words, room = self.words, len(self._batches)
        first = int(words[FIRST_BATCH]) % room
        grown = np.zeros((2 * room, _BATCH_WORDS), np.int64)
        grown[:room] = np.roll(self._batches, -first, axis=0)
        self._batches = grown
        words[BATCHES], words[BATCH_ROOM], words[FIRST_BATCH] = address_of(grown), 2 * room, 0
