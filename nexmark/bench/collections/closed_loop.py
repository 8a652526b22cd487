"""A source in the worker's inner loop that loads records, then replaces them: an epoch is sent when the one before it
is done.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tokenring.engine import OperatorContext, Probe, Schema, Scope, Stream, kernel
from tokenring.engine.compiled import (
    AGAIN,
    DONE,
    Compiled,
    Record,
    Words,
    address_of,
    column_of,
    downgrade,
    drop,
    entry,
    frontier_of,
    is_congested,
    monotonic_now_ns,
    new_message,
    records_at,
    room,
    send,
    state_as,
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


class LoopState(Record):
    """`tokens`: their slots. `records`: that are loaded, of each stream. `next`: the own record that is loaded next,
    then the own change that is sent next. `epoch`: the time that is to be sent next, or is under way. `sent_ns`: when
    it was sent, 0 where it was not. `phases`, `notes`: where the Phases are, and what is noted of their epochs."""

    tokens: Words = room(MOST_STREAMS)
    streams: int
    records: int
    keys: int
    values: int
    only_adds: int
    me: int
    peers: int
    probe: int
    start_ns: int
    next: int
    epoch: int
    sent_ns: int
    loaded_ns: int
    phase: int
    phase_count: int
    phases: int
    notes: int
    ends: int
    closed: int


class Phase(Record):
    """`epoch_rows`: over all workers. `most_changes`: when it ends at the latest, this worker's. `changes`, `epochs`:
    that were done. `began_ns`, `ended_ns`: by the clock."""

    epoch_rows: int
    lasts_ns: int
    most_changes: int
    changes: int
    epochs: int
    began_ns: int
    ended_ns: int


_LOADED_AT_ONCE = 1 << 15
_POLL_NS = 1_000_000


@kernel
def _load(world: int, me: int, state: LoopState) -> None:
    """Send the next own records of each stream at time 0."""
    first = state.next
    count = min(_LOADED_AT_ONCE, state.records - first)
    own = (count - 1 - (state.me - first) % state.peers) // state.peers + 1
    first += (state.me - first) % state.peers
    for stream in range(state.streams):
        if own > 0:
            message = new_message(world, me, stream, own)
            keys, values, times = column_of(message, 0), column_of(message, 1), column_of(message, 2)
            for i in range(own):
                number = first + i * state.peers
                keys[i] = key_of(number, stream, state.keys)
                values[i] = value_of(number, stream, state.values)
                times[i] = 1
            send(world, me, state.tokens[stream], message, 0)
    state.next += count


@kernel
def _change_of(state: LoopState, number: int) -> tuple[int, int, int]:
    """(stream, record, how often it is added) of an own change: one record comes, then the oldest goes."""
    if state.only_adds != 0:
        return 0, state.records + number * state.peers + state.me, 1
    of_all = number // 2 * state.peers + state.me
    stream, record = of_all % state.streams, of_all // state.streams
    if number % 2 == 0:
        return stream, state.records + record, 1
    return stream, record, -1


@kernel
def _share(state: LoopState, rows: int) -> int:
    """How many of an epoch's changes are this worker's: the turn goes round."""
    return (rows + (state.me - state.epoch) % state.peers) // state.peers


@kernel
def _send_epoch(world: int, me: int, state: LoopState, rows: int) -> None:
    """Send own changes at the token's time, each stream's as one message."""
    time = time_of_token(world, state.tokens[0])
    for stream in range(state.streams):
        found = 0
        for at in range(rows):
            found += _change_of(state, state.next + at)[0] == stream
        if found > 0:
            message = new_message(world, me, stream, found)
            keys, values, times = column_of(message, 0), column_of(message, 1), column_of(message, 2)
            found = 0
            for at in range(rows):
                to, record, often = _change_of(state, state.next + at)
                if to == stream:
                    keys[found] = key_of(record, stream, state.keys)
                    values[found] = value_of(record, stream, state.values)
                    times[found] = often
                    found += 1
            send(world, me, state.tokens[stream], message, time)
    state.next += rows


@kernel
def _stand_at(world: int, me: int, state: LoopState, time: int) -> None:
    for stream in range(state.streams):
        downgrade(world, me, state.tokens[stream], time)


@kernel
def _note_done(state: LoopState, phases: Sequence[Phase], now_ns: int) -> None:
    """An epoch is done: how long it took; whether the phase is."""
    phase = phases[state.phase]
    notes = words_at(state.notes + 8 * MOST_EPOCHS * state.phase, MOST_EPOCHS)
    notes[phase.epochs] = now_ns - state.sent_ns
    phase.epochs += 1
    phase.ended_ns = now_ns
    state.epoch += 1
    state.sent_ns = 0
    is_over = now_ns - phase.began_ns >= phase.lasts_ns or phase.changes >= phase.most_changes
    if is_over or phase.epochs == MOST_EPOCHS:
        state.phase += 1


@entry
def _go_on(world: int, me: int) -> int:
    """Load, then send epoch after epoch."""
    state = state_as(world, me, LoopState)
    now_ns = monotonic_now_ns()
    if state.closed != 0:
        return DONE
    if state.start_ns == 0 or now_ns < state.start_ns:
        return AGAIN
    phases = records_at(state.phases, state.phase_count, Phase)
    if state.epoch == 0:
        if state.next < state.records:
            if not is_congested(world):
                _load(world, me, state)
            return AGAIN
        if time_of_token(world, state.tokens[0]) == 0:
            _stand_at(world, me, state, 1)
            return AGAIN
        if frontier_of(world_at(world), state.probe) < 1:
            return DONE  # the probe will wake us
        state.loaded_ns, state.epoch, state.next = monotonic_now_ns(), 1, 0
    if state.sent_ns != 0:
        if frontier_of(world_at(world), state.probe) <= state.epoch:
            return DONE
        _note_done(state, phases, now_ns)
    if state.phase == state.phase_count:
        if state.ends != 0:
            for stream in range(state.streams):
                drop(world, me, state.tokens[stream])
            state.closed = 1
            return AGAIN
        if time_of_token(world, state.tokens[0]) != AT_REST:
            _stand_at(world, me, state, AT_REST)
        wake_at(world, me, now_ns + _POLL_NS)
        return DONE
    phase = phases[state.phase]
    state.sent_ns = monotonic_now_ns()
    if phase.began_ns == 0:
        phase.began_ns = state.sent_ns
    rows = _share(state, phase.epoch_rows)
    phase.changes += rows
    _send_epoch(world, me, state, rows)
    _stand_at(world, me, state, state.epoch + 1)
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
        self.state = LoopState()
        self.phases = Phase.new_table(len(phases))
        self.notes = np.empty((len(phases), MOST_EPOCHS), np.int64)
        index, peers = worker
        for row, (rows, seconds, most) in zip(self.phases, phases, strict=True):
            row["epoch_rows"], row["lasts_ns"], row["most_changes"] = rows, int(seconds * 1e9), most // peers
        state = self.state
        state.streams, state.records, state.only_adds = streams, records, only_adds
        state.keys, state.values = sizes
        state.me, state.peers = index, peers
        state.phase_count = len(phases)
        state.phases, state.notes = address_of(self.phases), address_of(self.notes)
        self._probe: Probe | None = None
        builder = scope.operator("records")
        self.streams: list[Stream] = [builder.output(ROWS) for _ in range(streams)]
        builder.build_compiled(self._construct)

    def _construct(self, context: OperatorContext) -> Compiled:
        assert self._probe is not None
        self.state.probe = self._probe.location
        context.run_on_advance(self._probe)
        return Compiled(_go_on, self.state.words, (self.phases, self.notes))

    def watch(self, probe: Probe) -> None:
        """What tells that an epoch is done."""
        self._probe = probe

    def start_at(self, instant_ns: int) -> None:
        """Begin to load then (time.monotonic_ns)."""
        self.state.start_ns = instant_ns

    def end(self) -> None:
        """Let the dataflow end; all phases are over."""
        self.state.ends = 1

    @property
    def loaded_s(self) -> float:
        """How long it took until what was loaded was done."""
        return float(self.state.loaded_ns - self.state.start_ns) / 1e9

    def latencies_ns(self, phase: int) -> np.ndarray:
        """Of each epoch of a phase, in order."""
        return self.notes[phase, : self.phases[phase]["epochs"]]
