"""A function in Python at the end of a query: it gets all rows of the answer, and tells how late each was."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.engine.helpers import simulated
from tests.nexmark.helpers import seal_generated
from tests.nexmark.run_helpers import expected, run
from tokenring.engine import Batch, Schema
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.measure import Histogram
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run import callback, runner
from tokenring.nexmark.run.callback import Callback
from tokenring.nexmark.run.pace import Measurements, Pace
from tokenring.nexmark.run.runner import Plan
from tokenring.nexmark.run.source import nexmark_source
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.operators import for_each

EVENTS, GAP_NS, LATE_NS = 1_000, 1_000_000, 7_000_000
PACE = Pace(EVENTS, 50, 3, rate=1e9 / GAP_NS, discard_ns=100 * GAP_NS)


@pytest.fixture(scope="module")
def in_order(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("callback") / "a", GeneratorConfig(EVENTS, rate=40, seed=2))


@pytest.fixture(scope="module")
def disordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = GeneratorConfig(EVENTS, rate=40, seed=2, out_of_order_group_size=100)
    return seal_generated(tmp_path_factory.mktemp("callback") / "b", config)


@pytest.mark.usefixtures("answers_alone_count")
@pytest.mark.parametrize("rate", [None, 50_000])
@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("query", ["q1", "q4", "q7"])
def test_all_rows_are_given_to_it(in_order: Path, query: str, workers: int, rate: float | None) -> None:
    outcome = run(in_order, query, workers=workers, rate=rate, callback=True)
    seen = outcome["callback"]
    if query == "q1":
        assert seen["rows"] == outcome["result_rows"] == StagedEvents.open(in_order).stream("bid").rows
    else:
        assert outcome["result"] == expected(query, in_order)
        assert seen["rows"] >= len(outcome["result"])
    assert 0 < seen["calls"] <= seen["rows"]
    assert (seen["latency_ms"]["p50"] is not None) == (rate is not None)


@pytest.mark.parametrize("query", ["q1", "q4"])
def test_events_are_done_when_it_has_their_results(
    in_order: Path, query: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    attached: list[Any] = []
    given: list[Any] = []

    def source(*asked: Any) -> Any:
        streams, attach = nexmark_source(*asked)
        return streams, lambda probe: (attached.append(probe), attach(probe))

    def each(*asked: Any, **more: Any) -> Any:
        given.append(for_each(*asked, **more))
        return given[-1]

    monkeypatch.setattr(runner, "nexmark_source", source)
    monkeypatch.setattr(runner, "for_each", each)
    staged, plan = StagedEvents.open(in_order), Plan(query, "")
    with simulated(1) as group, group.building(group.workers[0]):
        runner.declare(group.workers[0], plan, QUERIES[query], staged, PACE, Measurements(), callback=Callback())
    assert attached == given != []


@pytest.mark.parametrize("folder", ["in_order", "disordered"])
def test_lateness_is_from_when_the_results_time_was_due(
    folder: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Called for each bid LATE_NS after the first event was due from which on nothing is earlier: those of the first
    hundred events are not counted, nor is a time that no event reaches."""
    staged, start_ns = StagedEvents.open(request.getfixturevalue(folder)), 12_345
    bids = staged.stream("bid")
    times, events = bids.column("date_time"), bids.column("event")
    noted, batch, counted = Callback(), Batch(Schema("x"), {"x": [1, 2]}), 0
    for time in times:
        event = next((events[row] for row in range(len(times)) if times[row:].min() >= time), EVENTS)
        monkeypatch.setattr(callback, "monotonic_ns", lambda due=event: start_ns + int(due) * GAP_NS + LATE_NS)
        noted(int(time), batch)
        counted += 2 * (100 <= event < EVENTS)
    noted(int(times.max()) + 1, batch)
    seen = noted.seen(QUERIES["q1"], staged, PACE, start_ns)
    histogram = Histogram([seen["latency"]])
    assert (seen["calls"], seen["rows"]) == (len(times) + 1, 2 * len(times) + 2)
    assert histogram.count == counted > 0
    assert histogram.max_ms == LATE_NS / 1e6
    assert histogram.quantile_ms(0.01) == pytest.approx(LATE_NS / 1e6, rel=0.04)
