"""Q4 and Q7 answer the same under every mechanism that can answer them, on real and simulated workers."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, simulated
from tests.errors import raises
from tests.long_form import examples
from tests.nexmark.helpers import seal_generated
from tests.nexmark.run.test_answers import AUCTION_CASES, _events
from tests.nexmark.run_helpers import expected, hand_made, run, simulate
from tokenring.engine import Batch, InputPort, OperatorContext, Schema
from tokenring.nexmark.commands.run import MECHANISMS as OFFERED
from tokenring.nexmark.commands.run import QUERIES as OFFERED_QUERIES
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run.cursors import NEVER, Cursor, Cursors
from tokenring.nexmark.run.pace import Measurements, Pace
from tokenring.nexmark.run.runner import Plan, prepare
from tokenring.nexmark.run.source import nexmark_source
from tokenring.nexmark.staging.staged import StagedEvents
from tokenring.operators.mechanisms import MECHANISMS, use
from tokenring.tools.errors import OptionError

pytestmark = pytest.mark.usefixtures("answers_alone_count")

EVENTS = 20_003
OTHERS = [name for name in QUERIES["q4"].mechanisms if name != "tokens"]  # test_run_answers.py has tokens


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Some windows of Q7, and auctions that close."""
    return seal_generated(tmp_path_factory.mktemp("run") / "events", GeneratorConfig(EVENTS, rate=500, seed=3))


@pytest.fixture(scope="module")
def disordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = GeneratorConfig(EVENTS, rate=500, seed=4, out_of_order_group_size=100)
    return seal_generated(tmp_path_factory.mktemp("run") / "disordered", config)


def test_the_command_offers_what_there_is() -> None:
    assert OFFERED == MECHANISMS
    assert tuple(QUERIES) == OFFERED_QUERIES
    assert set(QUERIES["q4"].mechanisms) == set(QUERIES["q7"].mechanisms) == set(MECHANISMS) - {"watermarks-P"}


@pytest.mark.parametrize("query", ["q4", "q7"])
@pytest.mark.parametrize("way", OTHERS)
@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("pace", [{}, {"rate": 100_000}], ids=str)
def test_real_workers(staged: Path, query: str, way: str, workers: int, pace: dict[str, Any]) -> None:
    outcome = run(staged, query, mechanism=way, workers=workers, micro_batch_ns=10**8, **pace)
    assert outcome["result"] == expected(query, staged)
    assert (outcome["mechanism"], outcome["events"], outcome["dnf"]) == (way, EVENTS, False)
    assert (outcome["latency_ms"] is not None) == bool(pace)


@pytest.mark.parametrize("query", ["q4", "q7"])
@pytest.mark.parametrize("way", OTHERS)
def test_out_of_order_groups_and_tiny_queues(disordered: Path, query: str, way: str) -> None:
    sizes = {"queue_bytes": 4096, "ring_records": 64, "micro_batch_ns": 10**8}
    outcome = run(disordered, query, mechanism=way, workers=2, **sizes)
    assert outcome["result"] == expected(query, disordered)


@pytest.mark.parametrize("way", OTHERS)
@pytest.mark.parametrize("case", AUCTION_CASES)
def test_auctions_at_the_edges(tmp_path: Path, case: str, way: str) -> None:
    folder = hand_made(tmp_path / "events", *AUCTION_CASES[case], persons=3)
    for workers, block in itertools.product((1, 3), (1, 1000)):
        assert simulate(folder, "q4", workers, block, way=way) == expected("q4", folder)


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names for folders, since hypothesis calls a test many times."""
    return (tmp_path_factory.mktemp("random") / str(number) for number in itertools.count())


@pytest.mark.parametrize("way", OTHERS)
@settings(max_examples=examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    events=_events(),
    workers=st.integers(1, 3),
    block=st.sampled_from([1, 2, 5, 100]),
    outstanding=st.integers(1, 4),
    micro_batch_ns=st.sampled_from([1, 7, 10**6]),
    order=st.lists(st.integers(0, 2), max_size=60),
)
def test_random_events_under_random_schedules(
    numbered: Iterator[Path],
    way: str,
    events: tuple[list[dict[str, Any]], list[dict[str, Any]]],
    workers: int,
    block: int,
    outstanding: int,
    micro_batch_ns: int,
    order: list[int],
) -> None:
    folder = hand_made(next(numbered), *events)
    for query in ("q4", "q7"):
        got = simulate(folder, query, workers, block, order, outstanding, way, micro_batch_ns)
        assert got == expected(query, folder)


def test_a_pair_that_does_not_go_together_names_what_does(staged: Path) -> None:
    with raises(OptionError, "q7", "watermarks-P", "tokens", "notifications", "watermarks-X", "sequential"):
        prepare(Plan("q7", str(staged), mechanism="watermarks-P"))
    with raises(OptionError, "q0", "tokens", "notifications", "--mechanism", "q4", "q7"):
        prepare(Plan("q0", str(staged), mechanism="notifications"))


@pytest.mark.parametrize("width", [10**8, 10**9])
def test_one_micro_batch_is_under_way_at_once(staged: Path, width: int) -> None:
    """No row comes before all rows of the micro-batch before it have been taken, on all workers."""
    seen: list[tuple[int, int]] = []  # (message time, least row time)

    def declare(worker: Any, scope: Any) -> None:
        measurements = Measurements()
        measurements.start_ns = 0
        use(scope, "sequential")
        events = StagedEvents.open(staged)
        pace = Pace(2_000, 5, 4, micro_batch_ns=width)
        (stream,), attach = nexmark_source(worker, scope, events, {"bid": ("date_time",)}, pace, measurements)

        def construct(context: OperatorContext) -> Any:
            def logic(rows: InputPort) -> None:
                seen.extend((reference.time, batch["date_time"].min()) for reference, batch in rows)

            return logic

        attach(stream.sink("see", construct))

    with simulated(2) as group:
        build(group, declare)
        group.run([0] * 40 + [1] * 40)
    assert len(seen) > 100
    batches = [int(at) // width for _, at in seen]
    assert batches == sorted(batches) and len(set(batches)) > 3
    assert {time for time, _ in seen} == {batch * width for batch in batches}, "a micro-batch has one time"


def test_the_first_event_beyond_a_time(staged: Path) -> None:
    """By its definition: all rows ahead from there on are of that time or later, and the event before is not."""
    events = StagedEvents.open(staged)
    names = ("auction", "bid")
    cursors = Cursors([Cursor(events, name, ("date_time",)) for name in names])
    numbers = [events.stream(name).column("event") for name in names]
    times = [events.stream(name).column("date_time") for name in names]
    for start, time in itertools.product((0, 17, 4_000), (0, int(times[1][100]), int(times[1][9_000]), 2**62)):
        cursors.advance(start)
        before = [n[(n >= start) & (t < time)] for n, t in zip(numbers, times, strict=True)]
        all_before = all(len(b) == (n >= start).sum() for b, n in zip(before, numbers, strict=True))
        last = max((int(b[-1]) for b in before if len(b)), default=-1)
        assert cursors.first_event_beyond(time) == (NEVER if all_before else last + 1)
        cursors = Cursors([Cursor(events, name, ("date_time",)) for name in names])


def test_rows_keep_their_order_within_a_time() -> None:
    from tokenring.operators.mechanisms.notifications import by_time

    batch = Batch(Schema("at n"), {"at": [5, 3, 5, 3, 9], "n": [0, 1, 2, 3, 4]})
    assert [(at, piece["n"].tolist()) for at, piece in by_time(batch, "at")] == [(3, [1, 3]), (5, [0, 2]), (9, [4])]
