"""Words as an open loop: made beforehand, sent when they are due, timed until the probe passes the time they carry.

What is due is sent at once: batched, as one message at the least time in it (an interval batch), or each time, as a
message for each distinct time. Mechanisms that know of rows' times by their messages' alone do so in either case.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from tokenring.engine import OperatorContext, Schema, Scope, Stream, Worker
from tokenring.engine.compiled import Compiled
from tokenring.nexmark.bench.experiments.compiled_words import compiled_words
from tokenring.nexmark.bench.experiments.word_ring import WordMeasurements
from tokenring.nexmark.bench.experiments.word_schedule import Schedule
from tokenring.operators.mechanisms import Progress, mechanism_of

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
