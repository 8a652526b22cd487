"""Every example program runs as its first lines say, and prints what it should."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tests.errors import raises
from tests.examples.programs import FOLDER, Run, run, run_again
from tokenring.nexmark.events.generator import Generator, GeneratorConfig


def test_each_example_is_tested_and_says_how_to_run_it() -> None:
    tests = "".join(path.read_text() for path in Path(__file__).parent.glob("test_*example*.py"))
    for path in FOLDER.glob("*.py"):
        assert f"    python examples/{path.name}" in path.read_text(), path
        assert f'"{path.stem}"' in tests or f'"{path.name}"' in tests, f"nothing runs {path.name}"


def test_hello() -> None:
    lines = run("hello")
    for worker in range(2):
        expected = []
        for time in range(3):
            expected.append(f"worker {worker}: time {time}: [{(10 * time + worker) ** 2}]")
            expected.append(f"worker {worker}: the squares of time {time} are shown on all workers")
        assert [line for line in lines if line.startswith(f"worker {worker}")] == expected


def test_average() -> None:
    assert run("average") == [
        "input at  0: frontier of the averages 0",
        "input at  5: frontier of the averages 5",
        "input at 20: frontier of the averages 20",
        "input closed: frontier of the averages complete",
        f"window 0..10: {(70 + 30 + 90) / 3}",
        "window 10..20: 120.0",
        "window 20..30: 230.0",
    ]


def test_breakpoint() -> None:
    *first, holder, last = run("breakpoint")
    assert first == [
        "held at 15; the frontier behind the query is 15",
        "open windows: {20: 15, 30: 15, 40: 15}",
        "operator 'windows' input 0 of dataflow 'clicks': its frontier is 15, held back by",
        "  operator 'input' output 0, time 15:",
    ]
    assert re.fullmatch(r"    1 hold on worker 0, taken at examples/breakpoint\.py:\d+ \(program\)", holder)
    assert last == "released: {10: 15, 20: 15, 30: 15, 40: 15}"


@pytest.mark.parametrize(("workers", "runs"), [("1", run), ("3", run_again)])
def test_word_count(workers: str, runs: Run) -> None:
    lines = runs("word_count", "--workers", workers, *"to be or not to be to".split())
    assert lines == ["be: 2", "not: 1", "or: 1", "to: 3"]


def test_own_operator() -> None:
    assert run("own_operator") == [
        "rows sent: 20000, users seen: 4000, distinct: 4000",
        "every worker had some: True",
    ]


def test_own_aggregate() -> None:
    lines = run("own_aggregate")
    assert lines[:3] == [
        "an hour, worker 0, time 60:",
        "  window_start  window_end  shop  mean  dearest",
        "             0          60     1  10.0      100",
    ]
    assert lines[-1] == "           120         240     2   2.0        2"


def test_own_source() -> None:
    lines = run("own_source", "--ticks", "7", "--every-ms", "1")
    assert lines == [f"worker {worker}: 7 ticks, in order: True" for worker in range(2)]


def test_two_dataflows() -> None:
    *first, last = run("two_dataflows")
    assert sorted(first) == [
        f"worker {worker}: the first dataflow is done, the second still at time 0" for worker in range(2)
    ]
    assert last == f"parts add up: {sum(range(200))}; every worker's total: {[sum(range(200))] * 2}"


def winning_prices(events: int) -> dict[int, list[int]]:
    """category -> winning prices, one auction and one bid at a time."""
    generator = Generator(GeneratorConfig(events=events))
    auctions = generator.columns("auction", 0, generator.rows("auction"))
    bids = generator.columns("bid", 0, generator.rows("bid"))
    of_auction = defaultdict(list)
    for auction, price, time in zip(*(bids[name].tolist() for name in ("auction", "price", "date_time")), strict=True):
        of_auction[auction].append((price, time))
    names = ("id", "category", "reserve", "date_time", "expires")
    prices = defaultdict(list)
    for auction, category, reserve, start, end in zip(*(auctions[name].tolist() for name in names), strict=True):
        valid = [price for price, time in of_auction[auction] if price >= reserve and start <= time < end]
        if valid:
            prices[category].append(max(valid))
    return prices


@pytest.mark.parametrize(("workers", "runs"), [("1", run_again), ("2", run)])
def test_nexmark_q4(workers: str, runs: Run) -> None:
    expected = winning_prices(30_000)
    assert len(expected) == 5
    assert runs("nexmark_q4", "--events", "30000", "--workers", workers) == [
        f"category {category}: average {sum(prices) // len(prices)} over {len(prices)} auctions"
        for category, prices in sorted(expected.items())
    ]


def test_probe_latency() -> None:
    (line,) = run("probe_latency", "--rounds", "50")
    figures = re.fullmatch(r"50 rounds on 2 workers: p50 ([\d.]+) us, p99 ([\d.]+) us, max ([\d.]+) us", line)
    assert figures
    p50, p99, longest = map(float, figures.groups())
    assert 0 < p50 <= p99 <= longest


def test_what_is_run_again_is_held_to_end_well() -> None:
    with raises(AssertionError, "--nonsense"):
        run_again("nexmark_q4", "--nonsense")
