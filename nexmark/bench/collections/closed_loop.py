"""A source in the worker's inner loop that loads records, then replaces them: an epoch is sent when the one before it
is done.
"""

from __future__ import annotations

import numpy as np

from tokenring.engine import OperatorContext, Probe, Schema, Scope, Stream, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    Compiled,
    address_of,
    column_of,
    downgrade,
    drop,
    entry,
    frontier_of,
    is_congested,
    monotonic_now_ns,
    new_message,
    send,
    state_of,
    table_at,
    time_of_token,
    wake_at,
    words_at,
    world_at,
)
from tokenring.nexmark.bench.collections.records import key_of, value_of

ROWS = Schema("key value times")
MOST_STREAMS = 2
MOST_EPOCHS = 1 << 20
"""Of a phase, that are noted."""
AT_REST = 1 << 60
"""The time at which a worker stands that has sent everything."""

# Words of the state, behind the tokens' slots. RECORDS: that are loaded, of each stream. NEXT: the own record that is
# loaded next, then the own change that is sent next. EPOCH: the time that is to be sent next, or is under way.
# SENT_NS: when it was sent, 0 where it was not.
(
    STREAMS,
    RECORDS,
    KEYS,
    VALUES,
    ONLY_ADDS,
    ME,
    PEERS,
    PROBE,
    START_NS,
    NEXT,
    EPOCH,
    SENT_NS,
    LOADED_NS,
    PHASE,
    PHASES,
    PHASES_AT,
    NOTES_AT,
    ENDS,
    CLOSED,
    STATE_WORDS,
) = range(MOST_STREAMS, MOST_STREAMS + 20)

# Columns of a phase. EPOCH_ROWS: over all workers. MOST_CHANGES: when it ends at the latest, this worker's. CHANGES,
# EPOCHS: that were done. BEGAN_NS, ENDED_NS: by the clock.
EPOCH_ROWS, LASTS_NS, MOST_CHANGES, CHANGES, EPOCHS, BEGAN_NS, ENDED_NS, PHASE_COLUMNS = range(8)

_LOADED_AT_ONCE = 1 << 15
_POLL_NS = 1_000_000


@kernel
def _load(world, me, state):  # type: ignore[no-untyped-def]
    """Send the next own records of each stream at time 0."""
    first = state[NEXT]
    count = min(_LOADED_AT_ONCE, state[RECORDS] - first)
    own = (count - 1 - (state[ME] - first) % state[PEERS]) // state[PEERS] + 1
    first += (state[ME] - first) % state[PEERS]
    for stream in range(state[STREAMS]):
        if own > 0:
            message = new_message(world, me, stream, own)
            keys, values, times = column_of(message, 0), column_of(message, 1), column_of(message, 2)
            for i in range(own):
                number = first + i * state[PEERS]
                keys[i] = key_of(number, stream, state[KEYS])
                values[i] = value_of(number, stream, state[VALUES])
                times[i] = 1
            send(world, me, state[stream], message, 0)
    state[NEXT] += count


@kernel
def _change_of(state, number):  # type: ignore[no-untyped-def]
    """(stream, record, how often it is added) of an own change: one record comes, then the oldest goes."""
    if state[ONLY_ADDS]:
        return 0, state[RECORDS] + number * state[PEERS] + state[ME], 1
    of_all = number // 2 * state[PEERS] + state[ME]
    stream, record = of_all % state[STREAMS], of_all // state[STREAMS]
    if number % 2 == 0:
        return stream, state[RECORDS] + record, 1
    return stream, record, -1


@kernel
def _share(state, rows):  # type: ignore[no-untyped-def]
    """How many of an epoch's changes are this worker's: the turn goes round."""
    return (rows + (state[ME] - state[EPOCH]) % state[PEERS]) // state[PEERS]


@kernel
def _send_epoch(world, me, state, rows):  # type: ignore[no-untyped-def]
    """Send own changes at the token's time, each stream's as one message."""
    time = time_of_token(world, state[0])
    for stream in range(state[STREAMS]):
        found = 0
        for at in range(rows):
            found += _change_of(state, state[NEXT] + at)[0] == stream
        if found > 0:
            message = new_message(world, me, stream, found)
            keys, values, times = column_of(message, 0), column_of(message, 1), column_of(message, 2)
            found = 0
            for at in range(rows):
                to, record, often = _change_of(state, state[NEXT] + at)
                if to == stream:
                    keys[found] = key_of(record, stream, state[KEYS])
                    values[found] = value_of(record, stream, state[VALUES])
                    times[found] = often
                    found += 1
            send(world, me, state[stream], message, time)
    state[NEXT] += rows


@kernel
def _stand_at(world, me, state, time):  # type: ignore[no-untyped-def]
    for stream in range(state[STREAMS]):
        downgrade(world, me, state[stream], time)


@kernel
def _note_done(state, phases, now_ns):  # type: ignore[no-untyped-def]
    """An epoch is done: how long it took; whether the phase is."""
    phase = phases[state[PHASE]]
    notes = words_at(state[NOTES_AT] + 8 * MOST_EPOCHS * state[PHASE], MOST_EPOCHS)
    notes[phase[EPOCHS]] = now_ns - state[SENT_NS]
    phase[EPOCHS] += 1
    phase[ENDED_NS] = now_ns
    state[EPOCH] += 1
    state[SENT_NS] = 0
    is_over = now_ns - phase[BEGAN_NS] >= phase[LASTS_NS] or phase[CHANGES] >= phase[MOST_CHANGES]
    if is_over or phase[EPOCHS] == MOST_EPOCHS:
        state[PHASE] += 1


@entry
def _go_on(world, me):  # type: ignore[no-untyped-def]
    """Load, then send epoch after epoch."""
    state = state_of(world, me, STATE_WORDS)
    now_ns = monotonic_now_ns()
    if state[CLOSED]:
        return DONE
    if state[START_NS] == 0 or now_ns < state[START_NS]:
        return AGAIN
    phases = table_at(state[PHASES_AT], state[PHASES], PHASE_COLUMNS)
    if state[EPOCH] == 0:
        if state[NEXT] < state[RECORDS]:
            if not is_congested(world):
                _load(world, me, state)
            return AGAIN
        if time_of_token(world, state[0]) == 0:
            _stand_at(world, me, state, 1)
            return AGAIN
        if frontier_of(world_at(world), state[PROBE]) < 1:
            return DONE  # the probe will wake us
        state[LOADED_NS], state[EPOCH], state[NEXT] = monotonic_now_ns(), 1, 0
    if state[SENT_NS] != 0:
        if frontier_of(world_at(world), state[PROBE]) <= state[EPOCH]:
            return DONE
        _note_done(state, phases, now_ns)
    if state[PHASE] == state[PHASES]:
        if state[ENDS]:
            for stream in range(state[STREAMS]):
                drop(world, me, state[stream])
            state[CLOSED] = 1
            return AGAIN
        if time_of_token(world, state[0]) != AT_REST:
            _stand_at(world, me, state, AT_REST)
        wake_at(world, me, now_ns + _POLL_NS)
        return DONE
    phase = phases[state[PHASE]]
    state[SENT_NS] = monotonic_now_ns()
    if phase[BEGAN_NS] == 0:
        phase[BEGAN_NS] = state[SENT_NS]
    rows = _share(state, phase[EPOCH_ROWS])
    phase[CHANGES] += rows
    _send_epoch(world, me, state, rows)
    _stand_at(world, me, state, state[EPOCH] + 1)
    return AGAIN


class ClosedLoop:
    """One worker's source, and what it notes. To be given a probe of what is to be done before the next epoch, and an
    instant to begin at."""

    def __init__(
        self,
        scope: Scope,
        streams: int,
        records: int,
        sizes: tuple[int, int],
        phases: list[tuple[int, float, int]],
        worker: tuple[int, int],
        only_adds: bool = False,
    ) -> None:
        """records: that are loaded, of each stream; sizes: of how many keys and values; phases: changes of an epoch,
        seconds, and the changes after which it ends, all over all workers; worker: its index, of how many."""
        self.state = np.zeros(STATE_WORDS, np.int64)
        self.phases = np.zeros((len(phases), PHASE_COLUMNS), np.int64)
        self.notes = np.empty((len(phases), MOST_EPOCHS), np.int64)
        index, peers = worker
        for row, (rows, seconds, most) in zip(self.phases, phases, strict=True):
            row[EPOCH_ROWS], row[LASTS_NS], row[MOST_CHANGES] = rows, int(seconds * 1e9), most // peers
        state = self.state
        state[STREAMS], state[RECORDS], state[ONLY_ADDS] = streams, records, only_adds
        state[KEYS], state[VALUES] = sizes
        state[ME], state[PEERS] = index, peers
        state[PHASES] = len(phases)
        state[PHASES_AT], state[NOTES_AT] = address_of(self.phases), address_of(self.notes)
        self._probe: Probe | None = None
        builder = scope.operator("records")
        self.streams: list[Stream] = [builder.output(ROWS) for _ in range(streams)]
        builder.build_compiled(self._construct)

    def _construct(self, context: OperatorContext) -> Compiled:
        assert self._probe is not None
        self.state[PROBE] = self._probe.location
        context.run_on_advance(self._probe)
        return Compiled(_go_on, self.state, (self.phases, self.notes))

    def watch(self, probe: Probe) -> None:
        """What tells that an epoch is done."""
        self._probe = probe

    def start_at(self, instant_ns: int) -> None:
        """Begin to load then (time.monotonic_ns)."""
        self.state[START_NS] = instant_ns

    def end(self) -> None:
        """Let the dataflow end; all phases are over."""
        self.state[ENDS] = 1

    @property
    def loaded_s(self) -> float:
        """How long it took until what was loaded was done."""
        return float(self.state[LOADED_NS] - self.state[START_NS]) / 1e9

    def latencies_ns(self, phase: int) -> np.ndarray:
        """Of each epoch of a phase, in order."""
        return self.notes[phase, : self.phases[phase, EPOCHS]]
