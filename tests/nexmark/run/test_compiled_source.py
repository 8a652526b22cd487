"""The source in the worker's inner loop: when it is taken, and what it tells Python of."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.engine.helpers import build, simulated
from tests.nexmark.helpers import seal_generated
from tests.nexmark.run.test_source import EVENTS, READS, Seen
from tests.nexmark.run_helpers import expected, run
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.measure.verdict import BEHIND_NS, LOOK_EVERY_NS, Backlog
from tokenring.nexmark.run import compiled_source, cursors
from tokenring.nexmark.run.feed import Feed
from tokenring.nexmark.run.pace import Measurements, Pace
from tokenring.nexmark.run.source import nexmark_source
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.operators.mechanisms import MECHANISMS, use

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
    monkeypatch.setattr(compiled_source, "REPORT_NS", 1)
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
