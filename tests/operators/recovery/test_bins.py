"""State in bins that move, and snapshots meanwhile: wherever a run is cut, it comes to what one does that was not."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tokenring as tr
from tests.operators.recovery.test_goes_on import EVERY, ROWS, counts, expected, found
from tests.operators.recovery.test_instants import expected_windows, rows_of, source, windows
from tests.operators.recovery.worlds import Job, Rows, World
from tests.random_programs.streams import at_own_times
from tokenring.operators import (
    Count,
    Sum,
    aggregate,
    col,
    filter,
    join,
    no_op,
    select,
    to_arrow_files,
    top,
    with_columns,
)

BINS = 8


def joined_and_topped(scope: Any, results: Path) -> None:
    """Operators of several inputs, whose output may be pending, and running ones."""
    rows, few = source(scope), source(scope, "few", until=9, every=3)
    both = join(rows, select(few, "k", other=col("v")), on="k")
    to_arrow_files(aggregate(both, "k", n=Count(), total=Sum("other"), emit="final", name="joined"), results / "joined")
    found = top(filter(rows, col("v") >= 0), "k", order="v", k=2, emit="final")
    to_arrow_files(select(found, "k", "v"), results / "top")


def joined_of(shares: int) -> Rows:
    rows = [row for share in range(shares) for row in rows_of(share)]
    few = [row for share in range(shares) for row in rows_of(share, 9, 3)]
    found: dict[Any, list[int]] = {}
    for _, k, _ in rows:
        for _, other, v in few:
            if k == other and k is not None:
                found.setdefault(k, []).append(v)
    return Rows([(k, len(values), sum(values)) for k, values in found.items()])


def top_of(shares: int) -> Rows:
    found: dict[Any, list[int]] = {}
    for share in range(shares):
        for _, k, v in rows_of(share):
            found.setdefault(k, []).append(v)
    return Rows([(k, v) for k, values in found.items() for v in sorted(values)[-2:]])


@pytest.mark.parametrize("seed", range(24))
def test_state_that_moves_is_saved_wherever_it_is(tmp_path: Path, seed: int) -> None:
    random = Random(seed)

    def declared(scope: Any, results: Path) -> None:
        windows(scope, results, more=True)
        joined_and_topped(scope, results)

    job = Job(tmp_path, declared)
    shares = workers = random.choice([2, 3])
    for _ in range(3):
        job.bins = random.choice([BINS, BINS, 0])
        with job.world(workers, random) as world:
            for _ in range(random.choice([1, 3])):
                world.step(random.randrange(40))
                world.move_some(random)
            if random.random() < 0.5:
                world.take(copied=True)
                world.step(random.randrange(30))
            world.take(until=random.choice(["", "", "rest", "manifest", "results"]))
        workers = random.choice([1, 2, 3])
    with job.world(workers, random) as world:
        world.finish()
    assert job.rows("windows") == expected_windows(shares)
    assert job.rows("joined") == joined_of(shares)
    assert job.rows("top") == top_of(shares)


def require_all_pass(path: Path, seed: int, sent: Callable[[Any], Any], deed: Callable[[World, Random], None]) -> None:
    """All rows of a source go through an operator whose state is in bins; `sent(scope)`: as they are sent there; deed:
    what is done time and again meanwhile."""
    random = Random(seed)

    def declared(scope: Any, results: Path) -> None:
        to_arrow_files(select(no_op(sent(scope), "v"), "k", "v"), results / "rows")

    job = Job(path, declared)
    job.bins = BINS
    with job.world(2, random) as world:
        for _ in range(20):
            deed(world, random)
        world.finish()
    assert job.rows("rows") == Rows([(k, v) for share in range(2) for _, k, v in rows_of(share)])


@pytest.mark.parametrize("seed", range(4))
def test_bursts_of_one_time_rest_where_state_is(tmp_path: Path, seed: int) -> None:
    """Rows that are sent at their own times, later ones than those they came at, do not wait, while a snapshot is
    taken, until it is known where all bins are then."""

    def sent(scope: Any) -> Any:
        return at_own_times(with_columns(source(scope, at_once=1), later=col("at") + 2), "later")

    def deed(world: World, random: Random) -> None:
        world.step(random.randrange(40))
        world.take(copied=True)

    require_all_pass(tmp_path, seed, sent, deed)


@pytest.mark.parametrize("seed", range(4))
def test_bursts_wait_whole_for_bins_that_move(tmp_path: Path, seed: int) -> None:
    """A burst at one time is several messages: none of its rows goes on before all can."""

    def deed(world: World, random: Random) -> None:
        world.step(random.randrange(9))
        world.move_some(random)

    require_all_pass(tmp_path, seed, lambda scope: at_own_times(source(scope, at_once=6), "v", timed=False), deed)


def test_a_worker_dies_while_state_is_spread_anew(tmp_path: Path) -> None:
    """In processes: bins go back and forth all the time, and a snapshot waits for those that are on their way."""
    moves = [(at, at // 50 % 16, at // 800 % 2) for at in range(0, ROWS, 50)]

    def program(worker: tr.Worker) -> None:
        with worker.dataflow("counts", bins=16, moves=moves) as scope:
            counts(scope, tmp_path)

    tr.execute(program, workers=2, recovery=tr.Recovery(tmp_path / "job", every=EVERY))
    assert (tmp_path / "died").exists()
    assert found(tmp_path / "out") == expected()
