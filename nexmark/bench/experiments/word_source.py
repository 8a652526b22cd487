"""Words as an open loop: made beforehand, sent when they are due by the worker's inner loop, through an outlet of
whatever mechanism, and timed until the probe passes the time they carry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tokenring.engine import OperatorContext, Schema, Scope, Stream, Worker, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    NEEDS_ROOM,
    Compiled,
    Record,
    Words,
    address_of,
    column_of,
    entry,
    is_congested,
    is_ending,
    monotonic_now_ns,
    new_message,
    point_to,
    record_at,
    room,
    state_as,
    wake_at,
    words_at,
)
from tokenring.nexmark.bench.experiments.word_schedule import Schedule, due_at, due_until, record_words, stamp
from tokenring.nexmark.measure import BINS, Histogram, Looks, LooksState, has_looked, look
from tokenring.nexmark.run import SPIN_NS, Measured, Measurements
from tokenring.operators.mechanisms import (
    CompiledOutlet,
    Progress,
    Watched,
    close_outlet,
    frontier_watched,
    mechanism_of,
    promise,
    send_out,
    time_of_outlet,
    watch,
)

RING_WORDS = 1 << 20


class WordMeasurements(Measurements):
    """What one worker's source saw. `histogram` runs from the instant a word is due; `after_quantum` from the instant
    the last word that carries the same time is due."""

    def __init__(self, from_ns: int = 0) -> None:
        super().__init__(from_ns)
        self.after_quantum = Histogram()


def ring_of_words(schedule: Schedule, most: int) -> np.ndarray:
    """A worker's words, over and over: int64 (RING_WORDS + most,), so that `most` are at hand from any of the first on.
    """
    generator = np.random.default_rng((7, schedule.worker))
    ring = generator.integers(0, schedule.distinct, RING_WORDS + most)
    if schedule.all_first:
        mine = np.arange(schedule.worker, schedule.distinct, schedule.peers)[:RING_WORDS]
        ring[: len(mine)] = generator.permutation(mine)
    return ring


_MOST_WAITING = 8


class WordsState(Record):
    """`ring`: the address of the words. `watched`: the probe. `one_time`: whether what is sent at once has one time.
    `next`: the word to be sent next; `passed`: how many the probe has passed. `visit`: Python has something to do.
    `ends`: no more is to be sent, though there is more. `waiting`: the greatest time of each batch under way, of those
    that differ, `under_way` of them."""

    token: int
    ring: int
    measured: int
    bins: int
    extremes: int
    after_bins: int
    after_extremes: int
    looks: int
    outlet: CompiledOutlet
    watched: Watched
    me: int
    peers: int
    ps_per_word: int
    quantum_log2: int
    share: int
    most: int
    outstanding: int
    first_measured: int
    one_time: int
    next: int
    passed: int
    visit: int
    ends: int
    closed: int
    under_way: int
    waiting: Words = room(_MOST_WAITING)


@kernel
def _due_ns(state: WordsState, word: int) -> int:
    return due_at(word, state.me, state.peers, state.ps_per_word)


@kernel
def _due_by(state: WordsState, now_ns: int) -> int:
    return due_until(now_ns, state.me, state.peers, state.ps_per_word)


@kernel
def _time_of(state: WordsState, word: int) -> int:
    return _due_ns(state, word) >> state.quantum_log2 << state.quantum_log2


@kernel
def _close(world: int, me: int, state: WordsState) -> None:
    """Close the outlet: nothing more is to come from this worker."""
    close_outlet(world, me, state.outlet, state.token)
    state.closed = 1
    if has_looked(record_at(state.looks, LooksState)):
        state.visit = 1


@kernel
def _note_done(state: WordsState, now_ns: int, frontier: int) -> None:
    """Record the latencies of what the probe has passed."""
    gone = 0
    while gone < state.under_way and state.waiting[gone] < frontier:
        gone += 1
    if gone > 0:
        state.under_way -= gone
        for i in range(state.under_way):
            state.waiting[i] = state.waiting[gone + i]
    first = max(state.passed, state.first_measured)
    state.passed = min(state.next, _due_by(state, frontier - 1))  # a word's time is never after it is due
    if first < state.passed:
        record_words(
            words_at(state.bins, BINS), words_at(state.extremes, 2),
            words_at(state.after_bins, BINS), words_at(state.after_extremes, 2),
            now_ns, first, state.passed - 1, state.me, state.peers, state.ps_per_word, state.quantum_log2,
        )  # fmt: skip


@kernel
def _is_far_ahead(world: int, state: WordsState) -> bool:
    """Whether as much is under way as may be. What our own next word still holds back does not count: the probe cannot
    pass it until that word is sent. So no more than one batch more than that is ever under way."""
    outstanding = state.outstanding
    if state.under_way < outstanding:
        return False
    return state.waiting[outstanding - 1] < time_of_outlet(world, state.outlet, state.token)


@kernel
def _send(world: int, me: int, state: WordsState, stop: int) -> None:
    """Send the words before `stop`."""
    first = state.next
    message = new_message(world, me, 0, stop - first)
    point_to(message, 0, state.ring + 8 * (first % RING_WORDS))
    stamp(column_of(message, 1), first, state.me, state.peers, state.ps_per_word, state.quantum_log2)
    send_out(world, me, state.outlet, state.token, message)
    state.next = stop
    record_at(state.measured, Measured).offered += stop - first
    greatest = _time_of(state, stop - 1)
    last = state.under_way - 1
    if last < 0 or state.waiting[last] != greatest:  # no frontier passes one of two alike without the other
        state.waiting[last + 1] = greatest
        state.under_way += 1
    if stop < state.share:
        promise(world, me, state.outlet, state.token, _time_of(state, stop))
    else:
        _close(world, me, state)


@kernel
def _look(world: int, state: WordsState, now_ns: int) -> None:
    """Note how late the oldest word not yet done is, and whether somebody asked for an end."""
    if look(record_at(state.looks, LooksState), now_ns, now_ns - _due_ns(state, state.passed)):
        state.visit = 1
    if is_ending(world):
        state.ends = 1


@entry
def _offer(world: int, me: int) -> int:
    """Note what is done, send what is due."""
    state = state_as(world, me, WordsState)
    start_ns = record_at(state.measured, Measured).start_ns
    now_ns = monotonic_now_ns() - start_ns
    if now_ns < 0:
        return AGAIN
    if state.passed < state.next:
        _note_done(state, now_ns, frontier_watched(world, state.watched))
    if state.closed == 0 and now_ns >= record_at(state.looks, LooksState).next_look_ns:
        _look(world, state, now_ns)
    if state.visit != 0:
        return NEEDS_ROOM
    if state.closed != 0:
        return DONE
    if state.ends != 0 or state.next >= state.share:
        _close(world, me, state)
        return AGAIN
    if _is_far_ahead(world, state):
        return DONE  # the probe will wake us
    due = _due_by(state, now_ns)
    if due <= state.next:
        delay_ns = _due_ns(state, state.next) - now_ns
        if delay_ns <= SPIN_NS:
            return AGAIN
        wake_at(world, me, start_ns + now_ns + delay_ns - SPIN_NS // 2)
        return DONE
    if not is_congested(world):
        stop = min(due, state.next + state.most, state.share)
        if state.one_time != 0:
            stop = min(stop, _due_by(state, _time_of(state, state.next) + (1 << state.quantum_log2) - 1))
        _send(world, me, state, stop)
    return AGAIN


def compiled_words(
    context: OperatorContext,
    worker: Worker,
    schedule: Schedule,
    most: int,
    outstanding: int,
    discard_ns: int,
    measurements: WordMeasurements,
    probe: Progress,
    outlets: np.ndarray,
    one_time: bool,
) -> Compiled:
    """The source's logic on one worker. most: words at once; outstanding: batches under way; outlets: the one
    CompiledOutlet; one_time: whether what is sent at once has one time."""
    assert outstanding < _MOST_WAITING
    looks, ring = Looks(measurements.backlog), ring_of_words(schedule, most)
    state = WordsState()
    latency, after = measurements.histogram, measurements.after_quantum
    state.ring, state.measured = address_of(ring), measurements.measured.address
    state.bins, state.extremes = address_of(latency.bins), address_of(latency.extremes)
    state.after_bins, state.after_extremes = address_of(after.bins), address_of(after.extremes)
    state.looks, state.outlet.words[:] = looks.state.address, outlets.view(np.int64)
    watch(state.watched, probe, context)
    state.me, state.peers, state.share = schedule.worker, schedule.peers, schedule.share
    state.ps_per_word, state.quantum_log2 = schedule.ps_per_word, schedule.quantum_log2
    state.most, state.outstanding, state.one_time = most, outstanding, one_time
    state.first_measured = schedule.due_by(discard_ns - 1)

    def visit() -> None:
        state.visit = 0
        if looks.tell():
            measurements.dnf = True
            worker.ending.ask()
            state.ends = 1

    return Compiled(_offer, state.words, (measurements, looks, ring), visit)


WORDS_SCHEMA = Schema("word time")
_TURN_NS = 1_000_000  # of the schedule, the most that is sent at once
_LEAST_TURN, _LARGEST_TURN = 16, 1 << 16
_OUTSTANDING = 3


def word_source(
    worker: Worker,
    scope: Scope,
    schedule: Schedule,
    discard_ns: int,
    measurements: WordMeasurements,
    each_time: bool = False,
) -> tuple[Stream, Callable[[Progress], None]]:
    """A stream (word, time), and a function to be given the probe that tells when words are done. discard_ns: start of
    the run that is not measured. each_time: a message for each distinct time."""
    probes: list[Progress] = []
    way = mechanism_of(scope)

    def compiled(context: OperatorContext, outlets: np.ndarray) -> Compiled:
        outstanding = 1 if way.one_at_a_time else _OUTSTANDING
        return compiled_words(
            context, worker, schedule, most_at_once(schedule), outstanding, discard_ns, measurements, probes[0],
            outlets, way.one_at_a_time,
        )  # fmt: skip

    (stream,) = way.source(scope, "words", (WORDS_SCHEMA,), None, ("time",), each_time, compiled)
    return stream, probes.append


def most_at_once(schedule: Schedule) -> int:
    """The most words that are sent at once."""
    turn = _TURN_NS * 1000 // schedule.ps_per_word // schedule.peers
    return min(max(turn, _LEAST_TURN), _LARGEST_TURN)
