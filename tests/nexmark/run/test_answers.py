"""Q4 and Q7 on real workers answer what DuckDB answers, whatever the workers, batches, queues, pace and order."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tests.nexmark.helpers import seal_generated
from tests.nexmark.run_helpers import expected, hand_made, run, simulate
from tokenring.nexmark.events.generator import GeneratorConfig

pytestmark = pytest.mark.usefixtures("answers_alone_count")

EVENTS = 200_003
FEW = 3_000
SECOND_NS = 10**9


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Several windows of Q7, thousands of auctions that close."""
    return seal_generated(tmp_path_factory.mktemp("run") / "events", GeneratorConfig(EVENTS, rate=5_000, seed=3))


@pytest.fixture(scope="module")
def disordered(tmp_path_factory: pytest.TempPathFactory) -> Path:
    config = GeneratorConfig(EVENTS // 4, rate=1_000, seed=4, out_of_order_group_size=100)
    return seal_generated(tmp_path_factory.mktemp("run") / "disordered", config)


def _check(folder: Path, query: str, **plan: Any) -> dict[str, Any]:
    outcome = run(folder, query, **plan)
    answer = expected(query, folder, outcome["events"])
    assert outcome["result"] == answer
    assert answer, "a test with an empty answer proves little"
    assert outcome["events"] == outcome["planned_events"]
    assert not outcome["dnf"]
    return outcome


@pytest.mark.parametrize("workers", [1, 2, 3, 4])
@pytest.mark.parametrize("query", ["q4", "q7"])
def test_closed_loop(staged: Path, query: str, workers: int) -> None:
    outcome = _check(staged, query, workers=workers)
    assert (outcome["events"], outcome["workers"]) == (EVENTS, workers)


@pytest.mark.parametrize(("query", "workers"), [("q4", 1), ("q4", 2), ("q4", 3), ("q7", 2), ("q7", 4)])
def test_open_loop(staged: Path, query: str, workers: int) -> None:
    outcome = _check(staged, query, workers=workers, rate=1_000_000)
    assert outcome["latency_ms"]["p50"] > 0


@pytest.mark.parametrize("query", ["q4", "q7"])
@pytest.mark.parametrize(
    ("block", "workers", "events"),
    [(1, 2, FEW), (7, 3, FEW), (1_000, 4, None), (10**9, 2, None)],
)
def test_any_batch_size(staged: Path, query: str, block: int, workers: int, events: int | None) -> None:
    outcome = _check(staged, query, workers=workers, block=block, events=events)
    assert outcome["block_events"] == block


@pytest.mark.parametrize(("query", "block"), [("q4", 1), ("q4", 50), ("q7", 1), ("q7", 50)])
def test_small_batches_in_an_open_loop(staged: Path, query: str, block: int) -> None:
    _check(staged, query, workers=2, block=block, rate=20_000, events=4_000)


@pytest.mark.parametrize(("query", "workers"), [("q4", 3), ("q7", 4)])
def test_tiny_queues(staged: Path, query: str, workers: int) -> None:
    """4 KiB a pair: a batch of 16384 events passes in many pieces, and workers wait for each other's room."""
    _check(staged, query, workers=workers, queue_bytes=4096, ring_records=64)


@pytest.mark.parametrize("query", ["q4", "q7"])
@pytest.mark.parametrize(
    "plan",
    [{"workers": 3}, {"workers": 2, "block": 7}, {"workers": 1, "rate": 200_000}, {"workers": 3, "rate": 200_000}],
    ids=str,
)
def test_out_of_order_groups(disordered: Path, query: str, plan: dict[str, Any]) -> None:
    """Many batches may be within one group: their times are passed only once the group has been sent."""
    _check(disordered, query, **plan)


def test_more_workers_than_cores_and_than_blocks(staged: Path) -> None:
    _check(staged, "q4", workers=9, events=20_000)
    _check(staged, "q7", workers=9, events=20_000)
    _check(staged, "q7", workers=6, events=5, block=1)


def test_only_the_first_events(staged: Path) -> None:
    for events in (16_384, 16_385, EVENTS + 1):
        assert _check(staged, "q4", workers=2, events=events)["events"] == min(events, EVENTS)


HUGE = 2**63 - 1
AUCTION_CASES: dict[str, tuple[list[dict[str, Any]], list[dict[str, Any]]]] = {
    "start counts, expiry does not": (
        [{"id": 1, "date_time": 100, "expires": 200}, {"id": 2, "date_time": 100, "expires": 200}],
        [{"auction": 1, "date_time": at} for at in (99, 100, 200)] + [{"auction": 2, "date_time": 199, "price": 400}],
    ),
    "only bids at expiry or before the start": (
        [{"id": 1, "date_time": 100, "expires": 200}],
        [{"date_time": 99}, {"date_time": 200}, {"date_time": 201}],
    ),
    "reserve counts": ([{"id": 1, "reserve": 300}, {"id": 2, "reserve": 301}], [{"price": 300}, {"auction": 2}]),
    "expiry at the start": (
        [{"id": 1, "date_time": 50, "expires": 50}, {"id": 2, "date_time": 50}],
        [{"date_time": 50}, {"auction": 2, "date_time": 50}],
    ),
    "an auction that expires at its start, whose id is used once more": (
        [{"id": 1, "date_time": 5, "expires": 6}, {"id": 2, "date_time": 5, "expires": 5}],
        [{"date_time": 5}, {"auction": 2, "date_time": 5}],
    ),
    "bids without an auction": ([{"id": 5}], [{"auction": 6}, {"auction": 5, "price": 777}]),
    "auctions without bids": ([{"id": at, "category": at % 3} for at in range(50)], [{"auction": 7}]),
    "all at one instant": (
        [{"id": at, "date_time": 10, "expires": 11, "category": at % 4} for at in range(40)],
        [{"auction": at % 40, "date_time": 10, "price": 200 + at} for at in range(200)],
    ),
    "huge and negative ids and categories": (
        [
            {"id": key, "category": category}
            for key, category in ((HUGE, HUGE), (-HUGE - 1, -HUGE - 1), (0, 0), (-1, -5), (-2, HUGE))
        ],
        [{"auction": key, "price": 500 + at} for at, key in enumerate((HUGE, -HUGE - 1, 0, -1, -2, 1, -3, HUGE))],
    ),
    "gaps of centuries": (
        [{"id": at, "date_time": at * 10**17, "expires": at * 10**17 + 10} for at in range(40)],
        [{"auction": at, "date_time": at * 10**17 + 9} for at in range(40)],
    ),
    "open until the last time there is": (
        [{"id": 1, "expires": 2**62 - 1}, {"id": 2, "expires": 2**62 - 2, "category": 3}],
        [{"auction": 1, "date_time": 2**62 - 2}, {"auction": 2, "date_time": 2**62 - 2}, {"auction": 2, "price": 210}],
    ),
    "negative averages round down": (
        [{"id": at, "reserve": -(10**9), "category": at % 2} for at in range(3)],
        [{"auction": 0, "price": -3}, {"auction": 2, "price": -4}, {"auction": 1, "price": -1}],
    ),
    "one big auction": ([{"id": 1, "reserve": 0}], [{"price": at * 7919 % 5000} for at in range(3000)]),
}


@pytest.mark.parametrize("case", AUCTION_CASES)
def test_auctions_at_the_edges(tmp_path: Path, case: str) -> None:
    auctions, bids = AUCTION_CASES[case]
    # Both stand in the order of their times, so bids may be far ahead of their auctions, or the other way round.
    folders = [hand_made(tmp_path / "auctions first", auctions, bids, persons=3)]
    after = len(bids)
    folders.append(
        hand_made(
            tmp_path / "bids first",
            [{"event": after + at, **row} for at, row in enumerate(auctions)],
            [{"event": at, **row} for at, row in enumerate(bids)],
        )
    )
    for folder in folders:
        answer = expected("q4", folder)
        for workers, block in itertools.product((1, 2, 3), (1, 5, 1000)):
            assert simulate(folder, "q4", workers, block) == answer
    assert run(folders[0], "q4", workers=2)["result"] == answer


def test_windows_at_their_edges(tmp_path: Path) -> None:
    window = 10 * SECOND_NS
    times = [0, 1, window - 1, window, window + 1, 3 * window - 1, 3 * window, 2**62 - 1, 5 * window]
    prices = [3, -9, 5, -7, -8, 0, HUGE, -HUGE - 1, 4]
    folder = hand_made(
        tmp_path / "events", (), [{"date_time": t, "price": p} for t, p in zip(times, prices, strict=True)]
    )
    for workers, block in itertools.product((1, 2, 3), (1, 2, 1000)):
        assert simulate(folder, "q7", workers, block) == expected("q7", folder)
    assert run(folder, "q7", workers=2, block=2)["result"] == expected("q7", folder)


def test_streams_without_rows(tmp_path: Path) -> None:
    folders = {
        "no bids": hand_made(tmp_path / "no bids", [{"id": at} for at in range(5)]),
        "no auctions": hand_made(tmp_path / "no auctions", (), [{"price": at} for at in range(5)]),
        "persons only": hand_made(tmp_path / "persons only", persons=5),
        "one bid": hand_made(tmp_path / "one bid", (), [{}]),
    }
    for name, folder in folders.items():
        for query in ("q4", "q7"):
            for workers in (1, 3):
                assert simulate(folder, query, workers, 2) == expected(query, folder), name


@st.composite
def _events(draw: st.DrawFn) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Auctions and bids over few ids and few instants, so that they meet, in one arbitrary order of arrival."""
    times = st.one_of(st.integers(0, 60), st.sampled_from([10 * SECOND_NS - 1, 10 * SECOND_NS, 2**62 - 2]))
    ids = draw(st.lists(st.one_of(st.integers(-6, 6), st.sampled_from([HUGE, -HUGE - 1])), unique=True, max_size=12))
    auctions: list[dict[str, Any]] = []
    for key in ids:
        start = draw(times)
        length, reserve, category = draw(st.integers(0, 40)), draw(st.integers(-5, 5)), draw(st.integers(-1, 1))
        expires = min(start + length, 2**62 - 1)
        auctions.append({"id": key, "date_time": start, "expires": expires, "reserve": reserve, "category": category})
    bid = st.fixed_dictionaries({"auction": st.integers(-6, 7), "date_time": times, "price": st.integers(-9, 9)})
    bids = draw(st.lists(bid, min_size=1, max_size=40))
    order = draw(st.permutations(range(len(auctions) + len(bids))))
    for event, row in zip(order, [*auctions, *bids], strict=True):
        row["event"] = event
    return auctions, bids


@pytest.fixture(scope="module")
def numbered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Names for folders, since hypothesis calls a test many times."""
    return (tmp_path_factory.mktemp("random") / str(number) for number in itertools.count())


@settings(max_examples=examples(40), suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
@given(
    events=_events(),
    workers=st.integers(1, 3),
    block=st.sampled_from([1, 2, 5, 100]),
    outstanding=st.integers(1, 4),
    order=st.lists(st.integers(0, 2), max_size=60),
)
def test_random_events_under_random_schedules(
    numbered: Iterator[Path],
    events: tuple[list[dict[str, Any]], list[dict[str, Any]]],
    workers: int,
    block: int,
    outstanding: int,
    order: list[int],
) -> None:
    folder = hand_made(next(numbered), *events)
    for query in ("q4", "q7"):
        assert simulate(folder, query, workers, block, order, outstanding) == expected(query, folder)
