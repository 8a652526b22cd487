"""The word source in the worker's inner loop: by the same schedule, batched or a message for each time."""

import numpy as np

from tokenring.engine import OperatorContext, Probe, Worker, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    NEEDS_ROOM,
    Compiled,
    address_of,
    column_of,
    downgrade,
    drop,
    entry,
    frontier_of,
    is_congested,
    is_ending,
    monotonic_now_ns,
    new_message,
    point_to,
    send,
    send_each,
    state_of,
    time_of_token,
    wake_at,
    words_at,
    world_at,
)
from tokenring.nexmark.bench.experiments.word_ring import RING_WORDS, WordMeasurements, ring_of_words
from tokenring.nexmark.bench.experiments.word_schedule import Schedule, due_at, due_until, record_words, stamp
from tokenring.nexmark.measure import BINS, LOOKS_WORDS, NEXT_LOOK_NS, Looks, has_looked, look
from tokenring.nexmark.run import OFFERED, SPIN_NS, START_NS
from tokenring.operators.mechanisms import Progress

# Words of the state. RING: the address of the words. PROBE: its location. NEXT: the word to be sent next; PASSED: how
# many the probe has passed. VISIT: Python has something to do. ENDS: no more is to be sent, though there is more.
# WAITING: the greatest time of each batch under way, of those that differ, UNDER_WAY of them.
(
    TOKEN,
    RING,
    MEASURED,
    BINS_AT,
    EXTREMES_AT,
    AFTER_BINS_AT,
    AFTER_EXTREMES_AT,
    LOOKS_AT,
    PROBE,
    ME,
    PEERS,
    PS_PER_WORD,
    QUANTUM_LOG2,
    SHARE,
    MOST,
    OUTSTANDING,
    FIRST_MEASURED,
    EACH_TIME,
    NEXT,
    PASSED,
    VISIT,
    ENDS,
    CLOSED,
    UNDER_WAY,
    WAITING,
) = range(25)
_MOST_WAITING = 8
STATE_WORDS = WAITING + _MOST_WAITING


@kernel
def _due_ns(state, word):  # type: ignore[no-untyped-def]
    return due_at(word, state[ME], state[PEERS], state[PS_PER_WORD])


@kernel
def _due_by(state, now_ns):  # type: ignore[no-untyped-def]
    return due_until(now_ns, state[ME], state[PEERS], state[PS_PER_WORD])


@kernel
def _time_of(state, word):  # type: ignore[no-untyped-def]
    return _due_ns(state, word) >> state[QUANTUM_LOG2] << state[QUANTUM_LOG2]


@kernel
def _close(world, me, state):  # type: ignore[no-untyped-def]
    """Drop the token: nothing more is to come from this worker."""
    drop(world, me, state[TOKEN])
    state[CLOSED] = 1
    if has_looked(words_at(state[LOOKS_AT], LOOKS_WORDS)):
        state[VISIT] = 1


@kernel
def _note_done(state, now_ns, frontier):  # type: ignore[no-untyped-def]
    """Record the latencies of what the probe has passed."""
    gone = 0
    while gone < state[UNDER_WAY] and state[WAITING + gone] < frontier:
        gone += 1
    if gone > 0:
        state[UNDER_WAY] -= gone
        for i in range(state[UNDER_WAY]):
            state[WAITING + i] = state[WAITING + gone + i]
    first = max(state[PASSED], state[FIRST_MEASURED])
    state[PASSED] = min(state[NEXT], _due_by(state, frontier - 1))  # a word's time is never after it is due
    if first < state[PASSED]:
        record_words(
            words_at(state[BINS_AT], BINS), words_at(state[EXTREMES_AT], 2),
            words_at(state[AFTER_BINS_AT], BINS), words_at(state[AFTER_EXTREMES_AT], 2),
            now_ns, first, state[PASSED] - 1, state[ME], state[PEERS], state[PS_PER_WORD], state[QUANTUM_LOG2],
        )  # fmt: skip


@kernel
def _is_far_ahead(world, state):  # type: ignore[no-untyped-def]
    """Whether as much is under way as may be. What our own next word still holds back does not count: the probe cannot
    pass it until that word is sent. So no more than one batch more than that is ever under way."""
    outstanding = state[OUTSTANDING]
    if state[UNDER_WAY] < outstanding:
        return False
    return state[WAITING + outstanding - 1] < time_of_token(world, state[TOKEN])


@kernel
def _send(world, me, state, stop):  # type: ignore[no-untyped-def]
    """Send the words before `stop`."""
    first = state[NEXT]
    message = new_message(world, me, 0, stop - first)
    point_to(message, 0, state[RING] + 8 * (first % RING_WORDS))
    stamp(column_of(message, 1), first, state[ME], state[PEERS], state[PS_PER_WORD], state[QUANTUM_LOG2])
    if state[EACH_TIME]:
        send_each(world, me, state[TOKEN], message, 1)
    else:
        send(world, me, state[TOKEN], message, time_of_token(world, state[TOKEN]))
    state[NEXT] = stop
    words_at(state[MEASURED], 2)[OFFERED] += stop - first
    greatest = _time_of(state, stop - 1)
    last = WAITING + state[UNDER_WAY] - 1
    if state[UNDER_WAY] == 0 or state[last] != greatest:  # no frontier passes one of two alike without the other
        state[last + 1] = greatest
        state[UNDER_WAY] += 1
    if stop < state[SHARE]:
        downgrade(world, me, state[TOKEN], _time_of(state, stop))
    else:
        _close(world, me, state)


@kernel
def _look(world, state, now_ns):  # type: ignore[no-untyped-def]
    """Note how late the oldest word not yet done is, and whether somebody asked for an end."""
    if look(words_at(state[LOOKS_AT], LOOKS_WORDS), now_ns, now_ns - _due_ns(state, state[PASSED])):
        state[VISIT] = 1
    if is_ending(world):
        state[ENDS] = 1


@entry
def _offer(world, me):  # type: ignore[no-untyped-def]
    """Note what is done, send what is due."""
    state = state_of(world, me, STATE_WORDS)
    start_ns = words_at(state[MEASURED], 2)[START_NS]
    now_ns = monotonic_now_ns() - start_ns
    if now_ns < 0:
        return AGAIN
    if state[PASSED] < state[NEXT]:
        _note_done(state, now_ns, frontier_of(world_at(world), state[PROBE]))
    if state[CLOSED] == 0 and now_ns >= words_at(state[LOOKS_AT], LOOKS_WORDS)[NEXT_LOOK_NS]:
        _look(world, state, now_ns)
    if state[VISIT]:
        return NEEDS_ROOM
    if state[CLOSED]:
        return DONE
    if state[ENDS] or state[NEXT] >= state[SHARE]:
        _close(world, me, state)
        return AGAIN
    if _is_far_ahead(world, state):
        return DONE  # the probe will wake us
    due = _due_by(state, now_ns)
    if due <= state[NEXT]:
        delay_ns = _due_ns(state, state[NEXT]) - now_ns
        if delay_ns <= SPIN_NS:
            return AGAIN
        wake_at(world, me, start_ns + now_ns + delay_ns - SPIN_NS // 2)
        return DONE
    if not is_congested(world):
        _send(world, me, state, min(due, state[NEXT] + state[MOST], state[SHARE]))
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
    each_time: bool,
) -> Compiled:
    """The source's logic on one worker. most: words at once; outstanding: batches under way; probe: the engine's."""
    assert isinstance(probe, Probe), "tokens have no other"
    assert outstanding < _MOST_WAITING
    looks, ring = Looks(measurements.backlog), ring_of_words(schedule, most)
    state = np.zeros(STATE_WORDS, np.int64)
    latency, after = measurements.histogram, measurements.after_quantum
    state[RING], state[MEASURED] = address_of(ring), address_of(measurements.words)
    state[BINS_AT], state[EXTREMES_AT] = address_of(latency.bins), address_of(latency.extremes)
    state[AFTER_BINS_AT], state[AFTER_EXTREMES_AT] = address_of(after.bins), address_of(after.extremes)
    state[LOOKS_AT], state[PROBE] = address_of(looks.words), probe.location
    state[ME], state[PEERS], state[SHARE] = schedule.worker, schedule.peers, schedule.share
    state[PS_PER_WORD], state[QUANTUM_LOG2] = schedule.ps_per_word, schedule.quantum_log2
    state[MOST], state[OUTSTANDING], state[EACH_TIME] = most, outstanding, each_time
    state[FIRST_MEASURED] = schedule.due_by(discard_ns - 1)

    def visit() -> None:
        state[VISIT] = 0
        if looks.tell():
            measurements.dnf = True
            worker.ending.ask()
            state[ENDS] = 1

    context.run_on_advance(probe)
    return Compiled(_offer, state, (measurements, looks, ring), visit)
