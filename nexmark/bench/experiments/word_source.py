"""Words as an open loop: made beforehand, sent when they are due, timed until the probe passes the time they carry.

What is due is sent at once: batched, as one message at the least time in it (an interval batch), or each time, as a
message for each distinct time. Mechanisms that know of rows' times by their messages' alone do so in either case.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

import numpy as np

from tokenring.engine import Batch, OperatorContext, OutputPort, Schema, Scope, Stream, Worker
from tokenring.engine.compiled import Compiled
from tokenring.nexmark.bench.experiments.compiled_words import compiled_words
from tokenring.nexmark.bench.experiments.word_ring import RING_WORDS, WordMeasurements, ring_of_words
from tokenring.nexmark.bench.experiments.word_schedule import Schedule, record_words, stamp
from tokenring.nexmark.run import SPIN_NS
from tokenring.operators.mechanisms import Outlet, Progress, mechanism_of

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

    def construct(context: OperatorContext, outlet: Outlet) -> Callable[[OutputPort], None]:
        return _Feeder(context, worker, outlet, schedule, discard_ns, measurements, probes[0], way.one_at_a_time)

    def compiled(context: OperatorContext) -> Compiled:
        most = most_at_once(schedule)
        return compiled_words(
            context, worker, schedule, most, _OUTSTANDING, discard_ns, measurements, probes[0], each_time
        )

    (stream,) = way.source(scope, "words", (WORDS_SCHEMA,), construct, ("time",), each_time, compiled)
    return stream, probes.append


def most_at_once(schedule: Schedule) -> int:
    """The most words that are sent at once."""
    turn = _TURN_NS * 1000 // schedule.ps_per_word // schedule.peers
    return min(max(turn, _LEAST_TURN), _LARGEST_TURN)


class _Feeder:
    """The source's logic on one worker; called once a step while there is something to do."""

    def __init__(
        self,
        context: OperatorContext,
        worker: Worker,
        outlet: Outlet,
        schedule: Schedule,
        discard_ns: int,
        measurements: WordMeasurements,
        probe: Progress,
        one_at_a_time: bool,
    ) -> None:
        self._context = context
        self._worker = worker
        self._outlet = outlet
        self._schedule = schedule
        self._measurements = measurements
        self._probe = probe
        self._one_at_a_time = one_at_a_time
        self._outstanding = 1 if one_at_a_time else _OUTSTANDING
        self._words = schedule.share
        self._most = most_at_once(schedule)
        self._ring = ring_of_words(schedule, self._most)
        self._waiting: deque[int] = deque()  # the greatest time of each batch under way, of those that differ
        self._next = 0
        self._done = 0  # words that the probe has passed
        self._first_measured = schedule.due_by(discard_ns - 1)
        probe.on_advance(self._probe_moved)

    def __call__(self, output: OutputPort) -> None:
        """Note what is due, send it."""
        now_ns = time.monotonic_ns() - self._measurements.start_ns
        if now_ns < 0:
            self._context.activate()
            return
        if not self._outlet.live:
            return
        if now_ns >= self._measurements.backlog.next_look_ns and self._gives_up(now_ns):
            return
        if self._is_far_ahead():
            return  # the probe will wake us
        schedule = self._schedule
        if self._next >= self._words:
            self._outlet.close()
            return
        due = schedule.due_by(now_ns)
        if due <= self._next:
            delay_ns = schedule.due_ns(self._next) - now_ns
            if delay_ns > SPIN_NS:
                self._context.activate_after(delay_ns - SPIN_NS // 2)
            else:
                self._context.activate()
            return
        self._context.activate()
        if self._context.congested:
            return
        stop = min(due, self._next + self._most, self._words)
        if self._one_at_a_time:
            stop = min(stop, schedule.end_of_time(self._next))
        self._send(stop, output)

    def _send(self, stop: int, output: OutputPort) -> None:
        first, schedule = self._next, self._schedule
        times: np.ndarray = np.empty(stop - first, np.int64)
        stamp(times, first, schedule.worker, schedule.peers, schedule.ps_per_word, schedule.quantum_log2)
        at = first % RING_WORDS
        words = self._ring[at : at + stop - first]
        self._outlet.send(output, Batch.wrap(WORDS_SCHEMA, (words, times), stop - first))
        self._next = stop
        self._measurements.measured.offered += stop - first
        waiting, greatest = self._waiting, schedule.time_of(stop - 1)
        if not waiting or waiting[-1] != greatest:  # no frontier passes one of two that are alike without the other
            waiting.append(greatest)
        if stop < self._words:
            self._outlet.advance(schedule.time_of(stop))
        else:
            self._outlet.close()

    def _is_far_ahead(self) -> bool:
        """Whether as much is under way as may be. What our own next word still holds back does not count: the probe
        cannot pass it until that word is sent."""
        waiting, outstanding = self._waiting, self._outstanding
        return len(waiting) >= outstanding and waiting[outstanding - 1] < self._outlet.time

    def _probe_moved(self) -> None:
        """Record the latencies of what the probe has passed, and go on."""
        now_ns = time.monotonic_ns() - self._measurements.start_ns
        frontier, waiting, schedule = self._probe.frontier, self._waiting, self._schedule
        latency, after = self._measurements.histogram, self._measurements.after_quantum
        while waiting and waiting[0] < frontier:
            waiting.popleft()
        first = max(self._done, self._first_measured)
        self._done = min(self._next, schedule.due_by(frontier - 1))  # a word's time is never after it is due
        if first < self._done:
            record_words(
                latency.bins, latency.extremes, after.bins, after.extremes, now_ns, first, self._done - 1,
                schedule.worker, schedule.peers, schedule.ps_per_word, schedule.quantum_log2,
            )  # fmt: skip
        if self._outlet.live:
            self._context.activate()

    def _gives_up(self, now_ns: int) -> bool:
        """Note how late the oldest word not yet done is. End the run if it is lost, or if another worker says so."""
        if self._measurements.backlog.note(now_ns, now_ns - self._schedule.due_ns(self._done)):
            self._measurements.dnf = True
            self._worker.ending.ask()
        elif not self._worker.ending.asked:
            return False
        self._outlet.close()
        return True
