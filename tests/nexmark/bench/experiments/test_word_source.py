"""The word source: its schedule against plain arithmetic, and every word counted once under every mechanism."""

from __future__ import annotations

import time
from collections import Counter
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.engine.helpers import simulated
from tokenring.engine import InputPort, OperatorContext
from tokenring.nexmark.bench.experiments import word_source as module
from tokenring.nexmark.bench.experiments.word_schedule import Schedule, record_words, stamp
from tokenring.nexmark.bench.experiments.word_source import WordMeasurements, word_source
from tokenring.nexmark.measure.latency import Histogram
from tokenring.nexmark.measure.verdict import Backlog
from tokenring.operators import collect, word_count
from tokenring.operators.mechanisms import MECHANISMS, use

schedules = st.builds(
    Schedule,
    rate=st.floats(1, 1e12),
    quantum_log2=st.integers(0, 28),
    words=st.integers(1, 10**9),
    worker=st.integers(0, 3),
    peers=st.just(4),
)


@given(schedule=schedules, word=st.integers(0, 10**6))
def test_a_word_is_due_once_and_in_order(schedule: Schedule, word: int) -> None:
    due_ns = schedule.due_ns(word)
    assert due_ns <= schedule.due_ns(word + 1)
    assert schedule.due_by(due_ns) > word
    assert schedule.due_by(due_ns - 1) <= word


@given(schedule=schedules, word=st.integers(0, 10**6))
def test_a_word_carries_the_time_that_its_quantum_begins_with(schedule: Schedule, word: int) -> None:
    assert schedule.time_of(word) <= schedule.due_ns(word) < schedule.time_of(word) + 2**schedule.quantum_log2


@given(schedule=schedules, first=st.integers(0, 10**6))
def test_kernels_agree_with_the_schedule(schedule: Schedule, first: int) -> None:
    times = np.empty(50, np.int64)
    stamp(times, first, schedule.worker, schedule.peers, schedule.ps_per_word, schedule.quantum_log2)
    assert times.tolist() == [schedule.time_of(word) for word in range(first, first + 50)]
    # One word, done 1000 ns after the last word of its time was due: the only bins are those of exact values.
    latency, after = Histogram(), Histogram()
    everybody = Schedule(schedule.rate, schedule.quantum_log2, schedule.words, 0, 1)
    last_ns = everybody.due_ns(everybody.due_by(schedule.time_of(first) + 2**schedule.quantum_log2 - 1) - 1)
    record_words(
        latency.bins, latency.extremes, after.bins, after.extremes, last_ns + 1000, first, first,
        schedule.worker, schedule.peers, schedule.ps_per_word, schedule.quantum_log2,
    )  # fmt: skip
    assert after.max_ms == 1000 / 1e6
    assert latency.max_ms == (last_ns + 1000 - schedule.due_ns(first)) / 1e6
    assert (latency.count, after.count) == (1, 1)


def test_shares_cover_all_words() -> None:
    assert sum(Schedule(1e6, 8, 1003, worker, 4).share for worker in range(4)) == 1003


@pytest.mark.parametrize("quantum", [2, 9, 20])
@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("each_time", [False, True])
def test_every_word_is_counted_once(
    name: str, workers: int, quantum: int, each_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """4000 words of 8 us: all are due at once, so batches are as large as they may be, which is 50 words here."""
    monkeypatch.setattr(module, "_LARGEST_TURN", 50)
    monkeypatch.setattr(Backlog, "note", lambda *_: False)  # however slow this machine is
    words, seen = 4000 if quantum > 2 else 400, []
    found: list[Any] = []
    with simulated(workers, queue_bytes=1 << 16, ring_records=1 << 10) as group:
        for worker in group.workers:
            measurements = WordMeasurements()
            measurements.start_ns = time.monotonic_ns()
            schedule = Schedule(5e8, quantum, words, worker.index, workers)
            with group.building(worker), worker.dataflow("words") as scope:
                way = use(scope, name)
                stream, attach = word_source(worker, scope, schedule, 0, measurements, each_time)
                counts = word_count(stream, "word", "time", local=name == "watermarks-P")
                attach(way.probe(counts))
                found.append(collect(counts).columns)
            seen.append(measurements)
        group.run([])
        rows = [part() for part in found]
    assert sum(one.offered for one in seen) == words
    assert sum(one.histogram.count for one in seen) == words
    assert not any(one.dnf for one in seen)
    times = sorted(at for part in rows for at in part["time"])
    assert times == sorted(Schedule(5e8, quantum, words, 0, 1).time_of(word) for word in range(words))
    for part in rows:  # a word's counts run from 1 to how often it came
        last = Counter(part["word"])
        assert all(max(c for w, c in zip(part["word"], part["count"], strict=True) if w == word) == count
                   for word, count in last.most_common(20))  # fmt: skip


@pytest.mark.parametrize("name", MECHANISMS)
@pytest.mark.parametrize("each_time", [False, True])
def test_a_source_sends_as_many_messages_as_it_says(
    name: str, each_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Batched, tokens, watermarks and sequential send few; each time, all but sequential (which lets one time in at
    once) send as many as there are times, and so do notifications always."""
    monkeypatch.setattr(Backlog, "note", lambda *_: False)
    messages = [0]

    def construct(_: OperatorContext) -> Any:
        def logic(rows: InputPort) -> None:
            messages[0] += sum(1 for _ in rows)

        return logic

    with simulated(1, queue_bytes=1 << 16, ring_records=1 << 12) as group:
        (worker,) = group.workers
        measurements = WordMeasurements()
        measurements.start_ns = time.monotonic_ns() - 10**9
        schedule = Schedule(1e9, 1, 300, 0, 1)  # 150 times
        with group.building(worker), worker.dataflow("words") as scope:
            way = use(scope, name)
            stream, attach = word_source(worker, scope, schedule, 0, measurements, each_time)
            stream.sink("see", construct)
            attach(way.probe(word_count(stream, "word", "time", local=name == "watermarks-P")))
        group.run([])
    few = not each_time and name != "notifications"
    assert messages[0] < 30 if few and name != "sequential" else messages[0] == 150


@pytest.mark.parametrize(
    ("name", "quantum", "most"),
    [
        ("tokens", 1, 150),
        ("notifications", 1, 150),
        ("watermarks-X", 1, 150),
        ("sequential", 1, 1),
        ("sequential", 6, 16),
    ],
)
@pytest.mark.parametrize("each_time", [False, True])
def test_a_source_has_only_so_much_under_way(
    name: str, quantum: int, most: int, each_time: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Worker 1 never steps, so no time passes, and worker 0 stops after three batches, or a time."""
    monkeypatch.setattr(module, "_LARGEST_TURN", 50)
    monkeypatch.setattr(Backlog, "note", lambda *_: False)
    seen = []
    with simulated(2, queue_bytes=1 << 16, ring_records=1 << 10) as group:
        for worker in group.workers:
            measurements = WordMeasurements()
            measurements.start_ns = time.monotonic_ns()
            seen.append(measurements)
            with group.building(worker), worker.dataflow("words") as scope:
                way = use(scope, name)
                schedule = Schedule(5e8, quantum, 4000, worker.index, 2)
                stream, attach = word_source(worker, scope, schedule, 0, measurements, each_time)
                attach(way.probe(word_count(stream, "word", "time")))
        for _ in range(200):
            group.workers[0].step()
        assert seen[0].offered == most
        group.run([])
    assert [one.offered for one in seen] == [one.histogram.count for one in seen] == [2000, 2000]


def test_a_source_that_is_a_second_late_gives_up() -> None:
    with simulated() as group:
        (worker,) = group.workers
        measurements = WordMeasurements()
        measurements.start_ns = time.monotonic_ns() - 2 * 10**9
        with group.building(worker), worker.dataflow("words") as scope:
            way = use(scope, "tokens")
            stream, attach = word_source(worker, scope, Schedule(1e6, 8, 10**6, 0, 1), 0, measurements)
            attach(way.probe(stream))
        group.run([])
    assert measurements.dnf
    assert measurements.offered < 10**6
