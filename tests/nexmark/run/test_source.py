"""The NEXMark source on simulated workers: who gets which events, how far ahead it runs, what its tokens allow."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, settle, simulated
from tests.long_form import examples
from tests.nexmark.helpers import seal_generated
from tests.nexmark.run_helpers import expected, hand_made, run
from tokenring.engine import InputPort, OperatorContext, Scope, Worker
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.measure.verdict import BEHIND_NS, LOOK_EVERY_NS, Backlog
from tokenring.nexmark.run import cursors, source
from tokenring.nexmark.run.cursors import NONE, Cursor, Cursors
from tokenring.nexmark.run.feed import Feed
from tokenring.nexmark.run.pace import NOT_YET, Measurements, Pace
from tokenring.nexmark.run.source import nexmark_source
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.operators.mechanisms import MECHANISMS, use

EVENTS = 5_000
READS = {"auction": ("id", "date_time"), "bid": ("auction", "date_time")}


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> StagedEvents:
    return StagedEvents.open(seal_generated(tmp_path_factory.mktemp("source") / "a", GeneratorConfig(EVENTS, seed=2)))


@pytest.fixture(scope="module")
def disordered(tmp_path_factory: pytest.TempPathFactory) -> StagedEvents:
    config = GeneratorConfig(EVENTS, seed=2, out_of_order_group_size=100)
    return StagedEvents.open(seal_generated(tmp_path_factory.mktemp("source") / "b", config))


class Seen:
    """What the source sent on each worker: (worker, stream, message time, rows' times)."""

    def __init__(self, staged: StagedEvents, pace: Pace, start_ns: int = 0) -> None:
        self.messages: list[tuple[int, str, int, list[int]]] = []
        self.measurements: list[Measurements] = []
        self._staged, self._pace, self._start_ns = staged, pace, start_ns

    def declare(self, worker: Worker, scope: Scope) -> None:
        measurements = Measurements()
        measurements.start_ns = self._start_ns
        self.measurements.append(measurements)
        streams, attach = nexmark_source(worker, scope, self._staged, READS, self._pace, measurements)
        for name, stream in zip(READS, streams, strict=True):
            stream.sink(f"see {name}", self._recorder(worker, name))
        attach(streams[-1].probe())

    def _recorder(self, worker: Worker, name: str) -> Any:
        def construct(context: OperatorContext) -> Callable[[InputPort], None]:
            def logic(port: InputPort) -> None:
                for reference, batch in port:
                    self.messages.append((worker.index, name, reference.time, batch["date_time"].tolist()))

            return logic

        return construct


@pytest.mark.parametrize("workers", [1, 2, 3])
@pytest.mark.parametrize(("block", "events"), [(1, 300), (7, EVENTS), (1_000, EVENTS), (10**6, EVENTS), (64, 1_001)])
def test_every_event_once_dealt_in_turn(staged: StagedEvents, workers: int, block: int, events: int) -> None:
    seen = Seen(staged, Pace(events, block, 4))
    with simulated(workers) as group:
        build(group, seen.declare)
        group.run()
    numbers = {name: staged.stream(name).column("event") for name in READS}
    for name in READS:
        times = staged.stream(name).column("date_time")
        for worker in range(workers):
            mine = (numbers[name] < events) & (numbers[name] // block % workers == worker)
            got = [at for who, stream, _, rows in seen.messages if (who, stream) == (worker, name) for at in rows]
            assert got == times[mine].tolist()
    offered = [np.count_nonzero(np.arange(events) // block % workers == worker) for worker in range(workers)]
    assert [one.offered for one in seen.measurements] == offered


@pytest.mark.parametrize("block", [7, 64])
def test_a_messages_time_is_a_lower_bound_of_its_rows(disordered: StagedEvents, block: int) -> None:
    seen = Seen(disordered, Pace(EVENTS, block, 3))
    with simulated(2) as group:
        build(group, seen.declare)
        group.run()
    assert all(at <= min(rows) for _, _, at, rows in seen.messages)
    assert any(at < min(rows) for _, _, at, rows in seen.messages), "where times are out of order, it is less"
    for worker in (0, 1):
        times = [at for who, _, at, _ in seen.messages if who == worker]
        assert times == sorted(times), "a worker's tokens never move back"


def test_nothing_is_sent_before_the_start(staged: StagedEvents) -> None:
    seen = Seen(staged, Pace(EVENTS, 100, 4), start_ns=NOT_YET)
    with simulated(1) as group:
        build(group, seen.declare)
        for _ in range(50):
            group.workers[0].step()
        assert seen.messages == []
        seen.measurements[0].start_ns = 0
        group.run()
    assert seen.measurements[0].offered == EVENTS


@pytest.mark.parametrize("outstanding", [1, 3])
def test_no_more_batches_than_allowed_are_under_way(staged: StagedEvents, outstanding: int) -> None:
    """Worker 1 never steps, so no time passes, and worker 0 stops after so many batches."""
    seen = Seen(staged, Pace(EVENTS, 50, outstanding))
    with simulated(2) as group:
        build(group, seen.declare)
        for _ in range(200):
            group.workers[0].step()
        assert seen.measurements[0].offered == outstanding * 50
        group.run()
    assert sum(one.offered for one in seen.measurements) == EVENTS


@pytest.mark.usefixtures("answers_alone_count")
def test_an_open_loop_offers_only_what_is_due(staged: StagedEvents) -> None:
    """Started 100 ms ago at 10 000 events a second; the worker gets no time beyond that between two looks."""
    rate = 10_000.0
    start_ns = time.monotonic_ns() - 100_000_000
    seen = Seen(staged, Pace(EVENTS, 10, 10**6, rate, discard_ns=0), start_ns=start_ns)
    with simulated(1) as group:
        build(group, seen.declare)
        for _ in range(300):
            group.workers[0].step()
            due = (time.monotonic_ns() - start_ns) / 1e9 * rate + 1
            assert seen.measurements[0].offered <= due
        assert seen.measurements[0].offered >= 1_000
        group.workers[0].ending.ask()
        settle_until_complete(group)
    assert seen.measurements[0].histogram.count <= seen.measurements[0].offered


def settle_until_complete(group: Any) -> None:
    """Step until the source has seen that it is to end."""
    deadline = time.monotonic() + 60
    while not group.workers[0].complete:
        assert time.monotonic() < deadline
        group.workers[0].step()


def test_a_source_that_is_behind_ends_the_run_on_every_worker(staged: StagedEvents) -> None:
    """Started two seconds ago: the first event is more than a second late."""
    pace = Pace(EVENTS, 10, 3, 1_000.0, discard_ns=0)
    seen = Seen(staged, pace, start_ns=time.monotonic_ns() - 2_500_000_000)
    with simulated(2) as group:
        build(group, seen.declare)
        group.run()
    assert any(one.dnf for one in seen.measurements)
    assert sum(one.offered for one in seen.measurements) < EVENTS


@settings(max_examples=examples(60))
@given(stops=st.lists(st.integers(0, EVENTS + 10), min_size=1, max_size=20).map(sorted))
def test_cursors_move_like_searchsorted(staged: StagedEvents, disordered: StagedEvents, stops: list[int]) -> None:
    for events in (staged, disordered):
        cursors = Cursors([Cursor(events, name, columns) for name, columns in READS.items()])
        streams = [events.stream(name) for name in READS]
        before = [0, 0]
        for stop in stops:
            rows = cursors.advance(stop)
            assert rows == [int(np.searchsorted(stream.column("event"), stop)) for stream in streams]
            times = [stream.column("date_time") for stream in streams]
            passed = [at[low:high].max() for at, low, high in zip(times, before, rows, strict=True) if high > low]
            ahead = [at[row:].min() for at, row in zip(times, rows, strict=True) if row < len(at)]
            assert cursors.greatest == max(passed, default=NONE)
            assert cursors.least == min(ahead, default=NONE)
            before = rows


def resident_bytes(folder: Path) -> int:
    """Of the folder's files, as far as this process has them mapped."""
    total, is_inside = 0, False
    for line in Path("/proc/self/smaps").read_text().splitlines():
        if "-" in line.split(maxsplit=1)[0]:
            is_inside = line.endswith(".i64") and str(folder) in line
        elif is_inside and line.startswith("Rss:"):
            total += int(line.split()[1]) * 1024
    return total


def test_few_events_are_mapped_ahead_and_stay_mapped(tmp_path: Path) -> None:
    folder = seal_generated(tmp_path / "a", GeneratorConfig(EVENTS, seed=2))
    events = StagedEvents.open(folder)
    rows = events.stream("bid").rows
    cursors = Cursors([Cursor(events, "bid", ("price",))])
    before = resident_bytes(folder)
    cursors.map_ahead(events.events)
    assert resident_bytes(folder) - before >= 3 * 8 * rows  # its price, date_time and event
    mapped = resident_bytes(folder)
    cursors.advance(events.events)
    cursors.rows["taken"][0] = rows
    cursors.release()
    assert resident_bytes(folder) == mapped


def test_of_texts_only_those_of_the_rows_are_mapped(staged: StagedEvents) -> None:
    cursor = Cursor(staged, "bid", ("extra",))

    def bytes_before(event: int) -> int:
        return sum(size for _, size in cursor.needed_before(event))

    assert bytes_before(0) == 0
    rows = np.searchsorted(staged.stream("bid").column("event"), EVENTS // 2)
    half, whole = bytes_before(EVENTS // 2), bytes_before(EVENTS)
    assert 24 * rows < half < 0.6 * whole
    assert whole == 24 * staged.stream("bid").rows + len(staged.stream("bid").heap("extra"))


def test_streams_without_rows_hold_nobody_up(tmp_path: Path) -> None:
    staged = StagedEvents.open(hand_made(tmp_path / "events", [{"id": 1}], persons=30))
    seen = Seen(staged, Pace(staged.events, 2, 2))
    with simulated(3) as group:
        build(group, seen.declare)
        settle(group)
        assert all(worker.complete for worker in group.workers)
    assert sum(one.offered for one in seen.measurements) == 31


TEXT = {"bid": ("date_time", "url")}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("source") / "a", GeneratorConfig(EVENTS, rate=500, seed=2))


def _is_compiled(folder: Path, way: str, reads: dict[str, tuple[str, ...]], pace: Pace) -> bool:
    staged = StagedEvents.open(folder)
    with simulated() as group:
        (worker,) = group.workers
        measurements = Measurements()
        measurements.start_ns = 0
        with group.building(worker), worker.dataflow("one") as scope:
            chosen = use(scope, way)
            streams, attach = nexmark_source(worker, scope, staged, reads, pace, measurements)
            attach(chosen.probe(streams[0]))
        (source,) = (one for one in worker.inspection.operators if one.name == "nexmark")
        found = source.compiled >= 0
        group.run()
    assert measurements.offered == EVENTS
    return found


@pytest.mark.parametrize("way", MECHANISMS)
@pytest.mark.parametrize("each_time", [False, True])
@pytest.mark.parametrize("reads", [READS, TEXT])
def test_every_mechanism_takes_it(folder: Path, way: str, each_time: bool, reads: dict[str, tuple[str, ...]]) -> None:
    assert _is_compiled(folder, way, reads, Pace(EVENTS, 100, 4, micro_batch_ns=10**12, each_time=each_time))


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("answers_alone_count")
def test_each_batchs_latency_is_recorded(folder: Path, workers: int) -> None:
    """All are due from the start on, and none is discarded."""
    start_ns = time.monotonic_ns() - 20_000_000
    seen = Seen(StagedEvents.open(folder), Pace(EVENTS, 10, 3, 1e6, discard_ns=0), start_ns)
    with simulated(workers) as group:
        build(group, seen.declare)
        group.run()
    assert [one.histogram.count for one in seen.measurements] == [one.offered for one in seen.measurements]
    assert sum(one.offered for one in seen.measurements) == EVENTS
    assert not any(one.dnf for one in seen.measurements)


def test_the_backlog_is_told_of_every_look(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[tuple[int, int]] = []

    def note(backlog: Backlog, now_ns: int, late_ns: int) -> bool:
        looks.append((now_ns, late_ns))
        return False

    monkeypatch.setattr(Backlog, "note", note)
    for _ in range(20):  # a machine that stands still for most of a run has it looked at seldom
        looks.clear()
        seen = Seen(StagedEvents.open(folder), Pace(EVENTS, 10, 3, 40_000.0, discard_ns=0), time.monotonic_ns())
        with simulated() as group:
            build(group, seen.declare)
            group.run()
        if len(looks) > 2:
            break
    times = [now for now, _ in looks]
    assert 2 < len(looks) <= times[-1] // LOOK_EVERY_NS + 1
    assert np.diff(times).min() >= LOOK_EVERY_NS


def test_a_lost_run_ends_before_the_backlog_would_be_told_of_several_looks(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A second behind is told at once."""
    looks: list[int] = []
    note = Backlog.note
    monkeypatch.setattr(Backlog, "note", lambda one, now, late: (looks.append(late), note(one, now, late))[1])
    start_ns = time.monotonic_ns() - 2 * BEHIND_NS
    seen = Seen(StagedEvents.open(folder), Pace(EVENTS, 10, 3, 1_000.0, discard_ns=0), start_ns)
    with simulated() as group:
        build(group, seen.declare)
        group.run()
    assert len(looks) == 1 and seen.measurements[0].dnf


def test_more_batches_under_way_than_there_is_room_for(folder: Path) -> None:
    """Worker 1 never steps, so nothing is done; then all is."""
    seen = Seen(StagedEvents.open(folder), Pace(EVENTS, 5, 10**6))
    feeds: list[Feed] = []
    made = Feed.__init__

    def noting(feed: Feed, *arguments: Any) -> None:
        feeds.append(feed)
        made(feed, *arguments)

    with simulated(2) as group, pytest.MonkeyPatch.context() as patch:
        patch.setattr(Feed, "__init__", noting)
        build(group, seen.declare)
        for _ in range(400):
            group.workers[0].step()
        assert feeds[0].state.under_way > 300
        group.run()
        assert feeds[0].state.under_way == 0
    assert sum(one.offered for one in seen.measurements) == EVENTS


def test_pages_are_given_back_and_offers_reported(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    released: list[int] = []
    reported: list[int] = []
    monkeypatch.setattr(source, "REPORT_NS", 1)
    monkeypatch.setattr(cursors, "_RELEASE_ROWS", 1_000)
    monkeypatch.setattr(cursors, "_MAPPED_SHARE", 1 << 60)  # too large for this machine
    monkeypatch.setattr(cursors.Cursor, "release_before", lambda _, row: released.append(row))
    seen = Seen(StagedEvents.open(folder), Pace(EVENTS, 10, 3), time.monotonic_ns())
    with simulated() as group:
        group.workers[0].report = reported.append  # type: ignore[method-assign]
        build(group, seen.declare)
        group.run()
    bids = StagedEvents.open(folder).stream("bid").rows
    assert len(released) == bids // 1_000 and all(row >= 1_000 for row in released)
    assert reported


@pytest.mark.parametrize("query", ["q4", "q7"])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.usefixtures("answers_alone_count")
def test_a_low_rate_sleeps_and_answers(folder: Path, query: str, workers: int) -> None:
    """Two milliseconds lie between events: the source sleeps, and is awake in time."""
    outcome = run(folder, query, workers=workers, rate=500, events=200)
    assert outcome["result"] == expected(query, folder, 200)
    assert (outcome["events"], outcome["dnf"]) == (200, False)
    assert outcome["latency_ms"]["max"] is not None
