"""What a bound costs where nothing is to be held back: the same dataflows with `limited` around them, and without."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tokenring.engine import Config, Schema, Worker, execute
from tokenring.nexmark.bench.parts import Row, in_turns, median_of
from tokenring.nexmark.run import Measurements, Plan, declare, prepare
from tokenring.operators import Count, aggregate, limited

WORD_COUNT = "word_count"
OVERHEADS = (WORD_COUNT, "q4", "q7")
"""The dataflows: keys counted, and NEXMark's queries in a closed loop."""
_MESSAGE_ROWS = 4096
_KEYS = 1 << 16
_WORD = Schema("word")


def measured_overhead(case: str, workers: int, rounds: int, words: int, folder: str | None) -> Row:
    """Medians of so many rounds, in which runs with and without the bound take turns at going first. words: of the
    word count, over all workers; folder: the staged events of queries."""

    seconds: dict[bool, list[float]] = {False: [], True: []}
    for bounded in in_turns((False, True), rounds):
        if case == WORD_COUNT:
            seconds[bounded].append(_counted_s(workers, words, bounded))
        else:
            seconds[bounded].append(_query_s(Plan(case, str(folder), workers), bounded))
    ratios = [with_s / without_s for without_s, with_s in zip(seconds[False], seconds[True], strict=True)]
    medians = {"without_s": median_of(seconds[False]), "with_s": median_of(seconds[True]), "ratio": median_of(ratios)}
    return {"rounds": rounds, **medians, "ratios": ratios}


def _counted_s(workers: int, words: int, bounded: bool) -> float:
    def program(worker: Worker) -> float:
        def region(stream: Any) -> Any:
            return aggregate(stream, "word", n=Count(), emit="final")

        with worker.dataflow("word_count") as scope:
            source, stream = scope.new_input(_WORD)
            _ = limited(stream, region) if bounded else region(stream)
        batch = np.random.default_rng(worker.index).integers(0, _KEYS, _MESSAGE_ROWS)

        def feed() -> None:
            for _ in range(max(1, words // worker.peers // _MESSAGE_ROWS)):
                source.send({"word": batch})
                worker.step()
            source.close()

        return _seconds(worker, feed)

    return max(execute(program, config=Config(workers=workers)))


def _query_s(plan: Plan, bounded: bool) -> float:
    query, staged, config, pace = prepare(plan)
    if bounded:
        build = query.build
        query = replace(query, build=lambda *streams: limited(streams, build))

    def program(worker: Worker) -> float:
        measurements = Measurements(pace.discard_ns)
        result = declare(worker, plan, query, staged, pace, measurements)
        seconds = _seconds(worker, lambda: setattr(measurements, "start_ns", time.monotonic_ns()))
        result()
        return seconds

    return max(execute(program, config=config))


def _seconds(worker: Worker, begin: Callable[[], None]) -> float:
    """From when all workers are there until this one has no more to do."""
    worker.barrier()
    start_ns = time.monotonic_ns()
    begin()
    worker.run()
    return (time.monotonic_ns() - start_ns) / 1e9
