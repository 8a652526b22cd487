"""The NEXMark source in the worker's inner loop: the same feed, its rows sent by their addresses in staged files."""

import time

from tokenring.engine import OperatorContext, Probe, Worker, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    NEEDS_ROOM,
    Compiled,
    address_of,
    bare_message,
    downgrade,
    drop,
    entry,
    frontier_of,
    is_congested,
    is_ending,
    monotonic_now_ns,
    point_to,
    send,
    shifted_texts,
    state_of,
    time_of_token,
    wake_at,
    words_at,
    world_at,
)
from tokenring.nexmark.measure import LOOKS_WORDS, NEXT_LOOK_NS, Looks, has_looked, look
from tokenring.nexmark.run.cursors import AT, COLUMNS, SHIFTS, TAKEN, WIDTH
from tokenring.nexmark.run.feed import (
    CLOSES,
    EVENT,
    EVENTS,
    FEED_WORDS,
    IS_OPEN_LOOP,
    MEASURED,
    PROMISED,
    RELEASES,
    STREAMS,
    UNDER_WAY,
    Feed,
    cursors_of,
    due_ns,
    has_room,
    is_far_ahead,
    lateness,
    move_to,
    note_done,
    sent,
    stop_by,
)
from tokenring.nexmark.run.pace import REPORT_NS, SPIN_NS, START_NS
from tokenring.operators.mechanisms import Progress

# Words behind those of the feed. PROBE: its location. VISIT: Python has something to do (`_Visits`). ENDS: no
# more is to be sent, though there is more. CLOSED: the tokens are dropped.
PROBE, LOOKS_AT, NEXT_REPORT_NS, VISIT, ENDS, CLOSED, SOURCE_WORDS = range(FEED_WORDS, FEED_WORDS + 7)


@kernel
def _close(world, me, state):  # type: ignore[no-untyped-def]
    """Drop the tokens: nothing more is to come from this worker."""
    for stream in range(state[STREAMS]):
        drop(world, me, state[stream])
    state[CLOSED] = 1
    if has_looked(words_at(state[LOOKS_AT], LOOKS_WORDS)):
        state[VISIT] = 1


@kernel
def _look(world, state, now_ns):  # type: ignore[no-untyped-def]
    """Note how late the oldest event not yet done is, and whether somebody asked for an end."""
    if look(words_at(state[LOOKS_AT], LOOKS_WORDS), now_ns, lateness(state, now_ns)):
        state[VISIT] = 1
    if is_ending(world):
        state[ENDS] = 1


@kernel
def _send_rows(world, me, state):  # type: ignore[no-untyped-def]
    """Send each stream's rows up to its cursor, as one message at its token's time, where they lie."""
    cursors = cursors_of(state)
    for stream in range(state[STREAMS]):
        start, width = cursors[stream, TAKEN], cursors[stream, WIDTH]
        rows = cursors[stream, AT] - start
        if rows > 0:
            message = bare_message(world_at(world), width, rows)
            columns = words_at(cursors[stream, COLUMNS], width)
            shifts = words_at(cursors[stream, SHIFTS], width)
            for column in range(width):
                address = columns[column] + 8 * start
                if shifts[column] != 0:
                    address = shifted_texts(world_at(world), address, rows, shifts[column])
                point_to(message, column, address)
            send(world, me, state[stream], message, time_of_token(world, state[stream]))


@entry
def _offer(world, me):  # type: ignore[no-untyped-def]
    """Note what is done, send what is due."""
    state = state_of(world, me, SOURCE_WORDS)
    start_ns = words_at(state[MEASURED], 2)[START_NS]
    now_ns = monotonic_now_ns() - start_ns
    if now_ns < 0:
        return AGAIN
    if state[UNDER_WAY] > 0:
        note_done(state, now_ns, frontier_of(world_at(world), state[PROBE]))
    if state[CLOSED] == 0 and state[IS_OPEN_LOOP] and now_ns >= words_at(state[LOOKS_AT], LOOKS_WORDS)[NEXT_LOOK_NS]:
        _look(world, state, now_ns)
    if state[VISIT]:
        return NEEDS_ROOM
    if state[CLOSED]:
        return DONE
    if state[ENDS] or state[EVENT] >= state[EVENTS]:
        _close(world, me, state)
        return AGAIN
    if is_far_ahead(state):
        return DONE  # the probe will wake us
    stop = stop_by(state, now_ns)
    if stop <= state[EVENT]:
        delay_ns = due_ns(state, state[EVENT]) - now_ns
        if delay_ns <= SPIN_NS:
            return AGAIN
        wake_at(world, me, start_ns + now_ns + delay_ns - SPIN_NS // 2)
        return DONE
    if is_congested(world):
        return AGAIN
    if not has_room(state):
        return NEEDS_ROOM
    move_to(state, stop)
    _send_rows(world, me, state)
    told = sent(state, stop)
    if told & RELEASES or now_ns >= state[NEXT_REPORT_NS]:
        state[VISIT] = 1
    if told & CLOSES:
        _close(world, me, state)
    else:
        for stream in range(state[STREAMS]):
            downgrade(world, me, state[stream], state[PROMISED])
    return AGAIN


class _Visits:
    """What is done for a source in Python, a few times a second."""

    def __init__(self, feed: Feed, looks: Looks, worker: Worker) -> None:
        self._words = feed.words
        self._feed = feed
        self._looks = looks
        self._worker = worker

    def __call__(self) -> None:
        """Make room, give pages back, tell who waits for figures, and end the run if it is lost."""
        words, feed = self._words, self._feed
        words[VISIT] = 0
        if not has_room(words):
            feed.make_room()
        feed.cursors.release()
        measurements = feed.measurements
        if self._looks.tell():
            measurements.dnf = True
            self._worker.ending.ask()
            words[ENDS] = 1
        now_ns = time.monotonic_ns() - measurements.start_ns
        if now_ns >= words[NEXT_REPORT_NS]:
            words[NEXT_REPORT_NS] = now_ns + REPORT_NS
            self._worker.report(measurements.offered)


def compiled_source(context: OperatorContext, worker: Worker, feed: Feed, probe: Progress) -> Compiled:
    """The source's logic on one worker. feed: of SOURCE_WORDS; probe: the engine's."""
    assert isinstance(probe, Probe), "tokens have no other"
    looks = Looks(feed.measurements.backlog)
    words = feed.words
    words[PROBE], words[LOOKS_AT] = probe.location, address_of(looks.words)
    words[NEXT_REPORT_NS] = REPORT_NS  # not at once: a visit in Python is a tenth of what a short run takes
    context.run_on_advance(probe)
    return Compiled(_offer, words, (feed, looks), _Visits(feed, looks, worker))
