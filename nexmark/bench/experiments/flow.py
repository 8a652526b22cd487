"""`tokenring bench flow`: what a bound on a region's content saves where rows multiply, and costs where nothing is held
back: the same dataflows with `limited` around them, and without.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np

from tokenring.engine import Config, Schema, Worker, execute
from tokenring.nexmark.bench.parts import Experiment, Row, Sweep, in_turns, median_of, points, table
from tokenring.nexmark.measure import anonymous_mb
from tokenring.nexmark.run import Measurements, Plan, declare, prepare
from tokenring.operators import Count, aggregate, collect, exchange, limited, map_batches

BOUNDS: dict[str, dict[str, Any] | None] = {
    "none": None,
    "default": {},
    "64 MB": {"most": 64_000_000, "per": "bytes"},
}
"""What `limited` is asked for; None: it is left out."""
COPIES = 10_000
_VALUE = Schema("value")
_WORD_COUNT = "word_count"
_OVERHEADS = (_WORD_COUNT, "q4", "q7")
"""The dataflows: keys counted, and NEXMark's queries in a closed loop."""
_MESSAGE_ROWS = 4096
_KEYS = 1 << 16
_WORD = Schema("word")
_MULTIPLIED = "multiplied"
_EVENTS = ((4e6,), 1.0)


def _points(sweep: Sweep) -> list[Row]:
    """With `quick`, queries only over a folder that is given."""
    cases = (_WORD_COUNT,) if sweep["quick"] and sweep["folder"] is None else _OVERHEADS
    multiplied = points(case=(_MULTIPLIED,), workers=sweep["workers"], bound=BOUNDS)
    return [*multiplied, *points(case=cases, workers=(max(sweep["workers"]),))]


def _measure(point: Row, sweep: Sweep) -> Row:
    if point["case"] == _MULTIPLIED:
        return _multiplied(point["workers"], sweep["rows"], point["bound"])
    return _overhead(point["case"], point["workers"], sweep["rounds"], sweep["words"], sweep["folder"])


def _multiplied(workers: int, rows: int, bound: str) -> Row:
    """One run: `rows` rows over all workers, each made COPIES rows, exchanged and counted."""
    asked = BOUNDS[bound]
    parts = execute(lambda worker: _multiply(worker, rows, asked), config=Config(workers=workers))
    seconds = max(part["seconds"] for part in parts)
    counted = sum(part["counted"] for part in parts)
    if counted != rows * COPIES:
        raise RuntimeError(f"{rows * COPIES:,} rows were made, {counted:,} counted")
    return {
        "rows_made": counted,
        "seconds": seconds,
        "rows_per_s": counted / seconds,
        "peak_mb": sum(part["peak_mb"] for part in parts),
    }


def _multiply(worker: Worker, rows: int, asked: dict[str, Any] | None) -> dict[str, Any]:
    """One worker's program."""
    peak_mb = 0.0

    def look() -> None:
        nonlocal peak_mb
        peak_mb = max(peak_mb, anonymous_mb())

    def multiplied(batch: Any) -> dict[str, np.ndarray]:
        values = batch["value"]
        made = np.repeat(values, COPIES) * COPIES + np.tile(np.arange(COPIES), len(values))
        look()
        return {"value": made}

    def region(stream: Any) -> Any:
        made = exchange(map_batches(stream, _VALUE, multiplied), "value")
        return aggregate(made, n=Count(), emit="final")

    with worker.dataflow("multiplied") as scope:
        numbers, stream = scope.new_input(_VALUE)
        counted = collect(region(stream) if asked is None else limited(stream, region, **asked))
    worker.barrier()
    start_mb, start_ns = anonymous_mb(), time.monotonic_ns()
    numbers.send({"value": np.arange(worker.index, rows, worker.peers)})
    numbers.close()

    def goes_on() -> bool:
        look()
        return not worker.complete

    worker.step_while(goes_on)
    seconds = (time.monotonic_ns() - start_ns) / 1e9
    worker.run()
    return {
        "seconds": seconds,
        "counted": int(counted.columns()["n"].sum()),
        "peak_mb": max(0.0, peak_mb - start_mb),
    }


def _overhead(case: str, workers: int, rounds: int, words: int, folder: str | None) -> Row:
    """Medians of so many rounds, in which runs with and without the bound take turns at going first. words: of the
    word count, over all workers; folder: the staged events of queries."""

    seconds: dict[bool, list[float]] = {False: [], True: []}
    for bounded in in_turns((False, True), rounds):
        if case == _WORD_COUNT:
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


def _tables(rows: list[Row], sweep: Sweep) -> list[str]:
    """A table of what multiplies, one of what does not."""
    done = [row for row in rows if not row.get("error")]
    return [
        f"{sweep['rows']:,} rows, of each of which a region makes 10,000; then dataflows in which nothing is to be "
        f"held back, medians of {sweep['rounds']} rounds by turns.",
        table(
            [row for row in done if row["case"] == _MULTIPLIED],
            ("workers", "workers"), ("bound", "bound"), ("rows made", "{rows_made:,}"),
            ("peak MB above the start", "peak_mb"), ("s", "seconds"), ("M rows/s", "rows_per_s", 1e6),
        ),
        table(
            [row for row in done if row["case"] != _MULTIPLIED],
            ("dataflow", "case"), ("workers", "workers"), ("s without", "without_s"), ("s with", "with_s"),
            ("with / without", "ratio"),
        ),
    ]  # fmt: skip


FLOW = Experiment("flow", _points, _measure, _tables, events=lambda sweep: None if sweep["quick"] else _EVENTS)
