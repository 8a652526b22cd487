"""Operators that keep rows for their times, or the best of all, are cut and go on."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

from tests.operators.recovery.test_instants import Row, rows_of, source
from tests.operators.recovery.worlds import Job
from tokenring.engine import Batch, Exchange, Schema
from tokenring.operators import (
    Count,
    Last,
    Latest,
    Sum,
    Tumbling,
    aggregate,
    col,
    delay,
    exchange,
    filter,
    for_each,
    latest,
    limited,
    look_up,
    map_batches,
    scan,
    select,
    to_arrow_files,
    top,
)

STEPS = (0, 9, 16, 24, 70)
ROWS = [row for share in range(2) for row in rows_of(share)]


def live(job: Job, steps: int) -> None:
    """Three lives on different numbers of workers."""
    random = Random(steps)
    for workers in (2, 3):
        with job.world(workers, random) as world:
            world.step(steps)
            world.take(copied=True)
            world.step(5)
    with job.world(1, random) as world:
        world.finish()


@pytest.mark.parametrize("by", [0, 3, 100])
def test_rows_are_delayed_across_a_cut(tmp_path: Path, by: int) -> None:
    """And come at their later times: windows by these count them all, and have the right to send then."""

    def declare(scope: Any, results: Path) -> None:
        rows = delay(source(scope), by)
        to_arrow_files(rows, results / "rows")
        later = select(rows, t=col("at") + by)
        counts = aggregate(later, window=Tumbling("t", 4), n=Count())
        to_arrow_files(select(counts, "window_end", "n"), results / "counts")

    ends = Counter((at + by) // 4 * 4 + 4 for at, _, _ in ROWS)
    for steps in STEPS:
        job = Job(tmp_path / f"{steps}", declare)
        live(job, steps)
        assert job.rows("rows") == Counter(ROWS)
        assert job.rows("counts") == Counter({each: 1 for each in ends.items()})


def test_rows_are_looked_up_across_a_cut(tmp_path: Path) -> None:
    """Both sides of a time that is not finished wait, on all workers, and all of them are there afterwards."""

    def declare(scope: Any, results: Path) -> None:
        asked = select(source(scope), "at", "v")
        table = select(source(scope, "table"), key=col("v"), value=col("v") * 3 + 1)
        to_arrow_files(look_up(asked, "v", table, "found"), results / "rows")

    for steps in STEPS:
        job = Job(tmp_path / f"{steps}", declare)
        live(job, steps)
        assert job.rows("rows") == Counter((at, v, v * 3 + 1) for at, _, v in ROWS)


def _add(total: int, row: Any) -> Any:
    return total + row["v"], {"at": row["at"], "total": total + row["v"]}


@pytest.mark.parametrize(
    "totaled",
    [
        lambda rows: scan(rows, "k", _add, Schema("at total"), initial=0, order="at"),
        lambda rows: aggregate(rows, "k", emit="each", order="at", at=Last("at"), total=Sum("v")),
    ],
    ids=["scan", "aggregate"],
)
def test_rows_come_in_order_across_a_cut(tmp_path: Path, totaled: Callable[[Any], Any]) -> None:
    """Those of later times wait there, and what a key's rows come to is as if they had come in order."""

    def declare(scope: Any, results: Path) -> None:
        to_arrow_files(totaled(source(scope)), results / "totals")

    totals: Counter[str | None] = Counter()
    at_most: dict[tuple[str | None, int], int] = {}
    for at, k, v in sorted(ROWS, key=lambda row: row[0]):
        totals[k] += v
        at_most[k, at] = totals[k]
    for steps in STEPS:
        job = Job(tmp_path / f"{steps}", declare)
        live(job, steps)
        found: dict[tuple[str | None, int], int] = {}
        for k, at, total in job.rows("totals"):
            found[k, at] = max(found.get((k, at), total), total)
        assert job.rows("totals").total() == len(ROWS)
        assert found == at_most


@pytest.mark.parametrize("pact", [None, Exchange("k")])
def test_rows_are_given_out_in_order_at_least_once(tmp_path: Path, pact: Exchange | None) -> None:
    """The last life's calls are in order of time, and what it does not give out an earlier one did, whole."""
    calls: list[list[tuple[int, list[Row]]]] = []

    def declare(scope: Any, results: Path) -> None:
        mine: list[tuple[int, list[Row]]] = []
        calls.append(mine)

        def function(time: int, batch: Batch) -> None:
            mine.append((time, list(zip(*[batch[name].tolist() for name in ("at", "k", "v")], strict=True))))

        for_each(source(scope), function, in_order=True, pact=pact)

    for steps in STEPS:
        calls.clear()
        live(Job(tmp_path / f"{steps}", declare), steps)
        assert all([time for time, _ in mine] == sorted({time for time, _ in mine}) for mine in calls)
        assert {row for mine in calls for _, rows in mine for row in rows} == set(ROWS)
        assert all(at >= time for mine in calls for time, rows in mine for at, _, _ in rows)
        if pact is not None:
            for life in (calls[:2], calls[2:5]):
                keys = [key for mine in life for key in {row[1] for _, rows in mine for row in rows}]
                assert len(keys) == len(set(keys))


@pytest.mark.parametrize("k", [1, 4])
@pytest.mark.parametrize("emit", ["batch", "each"])
def test_the_best_of_all_rows_so_far_are_kept(tmp_path: Path, k: int, emit: str) -> None:
    """In order of descending values, so that those that were best before are lost if the state is."""

    def declare(scope: Any, results: Path) -> None:
        rows = select(source(scope), "at", "v", w=1_000 - col("v"))
        best = top(rows, order="w", k=k, ties="at", emit=emit)
        to_arrow_files(select(best, "at", "v", "rank"), results / "best")

    best = sorted([(v, at) for at, _, v in ROWS])[:k]
    for steps in STEPS:
        job = Job(tmp_path / f"{steps}", declare)
        live(job, steps)
        ranks: dict[int, int] = {}
        found = job.rows("best")
        for at, v, rank in found:
            ranks[rank] = min(ranks.get(rank, v), v)
            assert (v, at) in {(one[2], one[0]) for one in ROWS}
        assert ranks == {rank: v for rank, (v, _) in enumerate(best, 1)}


@pytest.mark.parametrize(("per", "most"), [("rows", 5), ("rows", 1000), ("bytes", 100), ("times", 1)])
def test_a_region_whose_content_is_bounded_is_empty_in_a_snapshot(tmp_path: Path, per: str, most: int) -> None:
    """Rows that may not go in yet do so while sources stand."""

    def five_of_each(batch: Batch) -> dict[str, list[Any]]:
        return {name: np.repeat(batch[name], 5).tolist() for name in batch.schema.names}

    def declare(scope: Any, results: Path) -> None:
        def region(rows: Any) -> Any:
            many = exchange(map_batches(rows, rows.schema, five_of_each), "v")
            return aggregate(many, "at", window=Tumbling("at", 4), n=Count())

        rows = select(source(scope, at_once=6), "at", "v")
        found = limited(rows, region, most=most, per=per)
        to_arrow_files(select(found, "at", "n"), results / "counts")

    for steps in STEPS:
        job = Job(tmp_path / f"{steps}", declare)
        live(job, steps)
        assert job.rows("counts") == Counter({(at, 10): 1 for at in range(22)})


@pytest.mark.parametrize("key", ["k", "v"])
def test_the_latest_row_of_each_key_is_kept(tmp_path: Path, key: str) -> None:
    made: list[Latest] = []

    def declare(scope: Any, results: Path) -> None:
        rows = filter(source(scope), col("v") % 2 == 0)  # of one share, so that they come in order
        rows = select(rows, "at", "k", v=col("at") % 5, **{"#time": col("k")})  # which is the operator's own name, too
        made.append(latest(rows, key))

    rows = [(row[0], row[1] if key == "k" else row[0] % 5) for row in rows_of(0)]
    for steps in STEPS:
        made.clear()
        live(Job(tmp_path / f"{steps}", declare), steps)
        assert len(made) == 2 + 3 + 1
        found = made[-1].columns()
        assert dict(zip(found[key].tolist(), found["at"].tolist(), strict=True)) == {of: at for at, of in rows}


def test_the_latest_update_is_the_last_to_come(tmp_path: Path) -> None:
    """Which may have an earlier time: a worker that is behind sends a row of a key that was counted ahead."""
    made: list[tuple[Any, Latest]] = []

    class ByHand(Job):
        def _build(self, group: Any) -> Any:
            def program(worker: Any) -> None:
                worker.save("nothing", lambda: None)
                with group.building(worker), worker.dataflow("job") as scope:
                    handle, rows = scope.new_input(Schema("key"), "by hand")
                    made.append((handle, latest(aggregate(rows, "key", n=Count()), "key")))

            return program

    with ByHand(tmp_path, lambda scope, results: None).world(2, Random(0)) as world:
        for worker, time in [(0, 10), (1, 5)]:
            made[worker][0].advance_to(time)
            made[worker][0].send({"key": [1, 2, 3]})
            world.step(200)
        found: dict[int, int] = {}
        for _, kept in made:
            columns = kept.columns()
            found |= dict(zip(columns["key"].tolist(), columns["n"].tolist(), strict=True))
    assert found == {1: 2, 2: 2, 3: 2}
