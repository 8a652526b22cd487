"""Windows whose rows each worker folds first: before a snapshot is taken, that goes to the owners of the keys."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from random import Random
from typing import Any

import pytest

from tests.operators.recovery.test_instants import rows_of, source
from tests.operators.recovery.worlds import Job, Rows, World
from tokenring.engine.explain import left_open
from tokenring.operators import Count, Max, Sliding, Sum, Tumbling, aggregate, select, to_arrow_files

Width = tuple[int, int]
"""How wide windows are, and how far from each other; all of time is (0, 0)."""
WIDTHS = [(6, 6), (9, 3), (0, 0)]


def declared(scope: Any, results: Path, by: str, width: Width) -> None:
    """Of messages of five rows, one after the other worker's, so that there are rows in each first stage."""
    span, every = width
    window = None if not span else Tumbling("at", span) if span == every else Sliding("at", span, every)
    emit = None if span else "final"
    rows = source(scope, at_once=5)
    found = aggregate(rows, by, window=window, emit=emit, n=Count(), total=Sum("v"), most=Max("v"))
    names = [*([by] if by else []), *(["window_end"] if span else []), "n", "total", "most"]
    to_arrow_files(select(found, *names), results / "windows")


def expected(by: str, width: Width) -> Rows:
    span, every = width
    kept: dict[tuple[Any, ...], list[int]] = {}
    for at, k, v in [row for share in range(2) for row in rows_of(share)]:
        first = at // every * every + every if every else 0
        for end in range(first, first + span, every) if span else (0,):
            kept.setdefault((*([k] if by else []), *([end] if span else [])), []).append(v)
    return Counter({(*key, len(values), sum(values), max(values)): 1 for key, values in kept.items()})


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("by", ["k", ""])
def test_windows_are_folded_by_each_worker_first(tmp_path: Path, by: str, width: Width) -> None:
    for steps in (0, 9, 16, 24, 70):
        job = Job(tmp_path / f"{steps}", lambda scope, results: declared(scope, results, by, width))
        random = Random(steps)
        with job.world(2, random) as world:
            stages = [one for one in world.group.workers[0].inspection.operators if one.name.startswith("aggr")]
            assert [one.name for one in stages] == ["aggregate.local", "aggregate.restored", "aggregate"]
            assert [one.compiled >= 0 for one in stages] == [True, False, True]
            world.step(steps)
            world.take(copied=True)
            world.step(random.choice([0, 3, 8]))
            world.take(copied=True)
            world.step(5)
        with job.world(3, random) as world:
            world.step(steps // 2)
            world.take(checked=steps == 16)
        with job.world(1, random) as world:
            world.finish()
        assert job.rows("windows") == expected(by, width)


def is_kept(world: World, name: str) -> bool:
    """Whether an operator has a token, on some worker."""
    for worker in world.group.workers:
        for running in worker.dataflows.running:
            if any(one.operator == name and one.tokens for one in left_open(worker.inspection, running, ()).open):
                return True
    return False


def test_rows_are_folded_again_once_the_snapshot_is_taken(tmp_path: Path) -> None:
    job = Job(tmp_path, lambda scope, results: declared(scope, results, "k", (6, 6)))
    with job.world(2, Random(1)) as world:
        for _ in range(2):
            steps = 0
            while not is_kept(world, "aggregate.local"):
                world.step()
                steps += 1
                assert steps < 200, "nothing is folded"
            world.take(copied=True, goes_on=False)
            assert not is_kept(world, "aggregate.local")
