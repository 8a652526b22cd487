"""Every query answers the same, row for row, while the bins of its state move at random times to random workers."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.engine.helpers import simulated
from tests.nexmark.helpers import seal_generated, tokenring
from tokenring.nexmark.events.generator import GeneratorConfig
from tokenring.nexmark.queries import QUERIES
from tokenring.nexmark.run import Measurements, Pace, Plan, declare, run_query
from tokenring.nexmark.run.result_rows import kept_rows
from tokenring.nexmark.staging import StagedEvents

EVENTS, RATE = 4_000, 100
"""Of forty seconds: windows of ten end in it."""
BINS = 16


@pytest.fixture(scope="module")
def staged(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return seal_generated(tmp_path_factory.mktemp("moves") / "events", GeneratorConfig(EVENTS, rate=RATE, seed=5))


def moves_of(folder: Path, random: Random, workers: int) -> tuple[tuple[int, int, int], ...]:
    """Changes at random instants of the events."""
    times = StagedEvents.open(folder).stream("bid").column("date_time")
    first, last = int(times[0]), int(times[-1])
    return tuple(
        (random.randint(first, last), random.randrange(BINS), random.randrange(workers)) for _ in range(40)
    )  # fmt: skip


def rows_of(folder: Path, query: str, workers: int, seed: object, rows: Path, **plan: Any) -> Counter[Any]:
    """The answer of simulated workers that step in a random order."""
    random = Random(f"{query} {seed}")
    chosen = QUERIES[query]
    if query == "q12":  # a clock on the wall would begin another window between two runs
        chosen = replace(chosen, build=partial(chosen.build, clock=lambda: 5))
    staged = StagedEvents.open(folder, check=chosen.checked)
    asked, pace = Plan(query, str(folder), **plan), Pace(staged.events, random.choice([50, 300]), 4)
    rows.mkdir()
    results = []
    with simulated(workers) as group:
        for worker in group.workers:
            measurements = Measurements()
            measurements.start_ns = 0
            with group.building(worker):
                results.append(declare(worker, asked, chosen, staged, pace, measurements, rows))
        group.run([random.randrange(workers) for _ in range(200)])
        parts = [result() for result in results]
    found = chosen.merge(parts) if chosen.is_small else kept_rows(rows, chosen.key).to_pylist()
    return Counter([tuple(row.items()) for row in found])


@pytest.mark.parametrize("query", list(QUERIES))
def test_answers_are_those_without_moves(staged: Path, tmp_path: Path, query: str) -> None:
    random = Random(query)
    workers = random.choice([2, 3, 4])
    expected = rows_of(staged, query, workers, 0, tmp_path / "without")
    moves = moves_of(staged, random, workers)
    found = rows_of(staged, query, workers, 1, tmp_path / "with", bins=BINS, moves=moves)
    assert found == expected
    assert expected, "a test with an empty answer proves little"


@pytest.mark.parametrize(
    ("options", "words"),
    [("--bins 3", "power of two"), ("--bins 0", "--bins"), ("--bins 4 --mechanism notifications", "among tokens")],
)
def test_bins_that_cannot_be_are_refused(
    capsys: pytest.CaptureFixture[str], staged: Path, options: str, words: str
) -> None:
    done = tokenring(capsys, "run", "q4", "--input", staged, *options.split())
    assert done.status == 2
    assert words in done.err


@pytest.mark.parametrize(("query", "rate"), [("q4", None), ("q8", 20_000.0)])
def test_in_processes_and_at_a_rate(staged: Path, query: str, rate: float | None) -> None:
    moves = moves_of(staged, Random(query), 2)
    without = _whole(Plan(query, str(staged), 2, rate=rate))
    moved = _whole(Plan(query, str(staged), 2, rate=rate, bins=BINS, moves=moves))
    assert (moved["result"], moved["result_rows"]) == (without["result"], without["result_rows"])


def _whole(plan: Plan) -> dict[str, Any]:
    """What comes of all events: a run that falls behind its pace by a second, as on a busy machine, sends no more."""
    for _ in range(20):
        if not (found := run_query(plan))["dnf"]:
            return found
    raise AssertionError("this machine is too busy for any pace")
