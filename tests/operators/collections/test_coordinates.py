"""Collections at times of several coordinates: what there is at each, beside sums over all that came up to it."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.engine.declare.test_loops import run_in_any_order
from tests.engine.helpers import simulated
from tests.errors import raises
from tokenring.engine import SchemaError, TimeRegressionError
from tokenring.engine.worker.config import EXHAUSTIVE

NAMES = ("day", "version")
DAYS, VERSIONS = 4, 5
ROW = tr.Schema("k v")
Update = tuple[tuple[int, int], tuple[int, int], int]
"""(time, row, times)."""


def there(changes: list[Update], time: tuple[int, int]) -> Counter[Any]:
    """What has come up to a time, in each coordinate."""
    found: Counter[Any] = Counter()
    for at, row, times in changes:
        if at[0] <= time[0] and at[1] <= time[1]:
            found[row] += times
    return Counter({row: times for row, times in found.items() if times})


def totals(rows: Counter[Any]) -> Counter[Any]:
    keys = {k for k, _ in rows}
    return Counter({(k, sum(n for (of, _), n in rows.items() if of == k), _sum(rows, k)): 1 for k in keys})


def _sum(rows: Counter[Any], k: int) -> int:
    return sum([v * n for (of, v), n in rows.items() if of == k])


def joined(rows: Counter[Any]) -> Counter[Any]:
    found: Counter[Any] = Counter()
    for (k, v), n in rows.items():
        for (other, w), m in rows.items():
            if k == other:
                found[k, v, w] += n * m
    return found


def least(rows: Counter[Any]) -> Counter[Any]:
    return Counter({(k, min(v for of, v in rows if of == k)): 1 for k in {k for k, _ in rows}})


def reached(rows: Counter[Any]) -> Counter[Any]:
    """Nodes that are reached from 0 over edges (k, v)."""
    nodes = {0}
    while more := {v for k, v in rows if k in nodes} - nodes:
        nodes |= more
    return Counter({(node,): 1 for node in nodes})


EXPECTED: dict[str, Any] = {
    "totals": totals,
    "again": Counter,
    "least": least,
    "joined": joined,
    "reached": reached,
}


@pytest.mark.parametrize("seed", range(8))
def test_at_each_time_there_is_what_came_up_to_it(seed: int) -> None:
    random = Random(seed)
    workers = random.choice([1, 2, 3])
    sent: list[Update] = []
    told: dict[str, list[Update]] = {}

    def noted(name: str, stream: Any) -> None:
        def note(_: Any, batch: Any) -> None:
            columns = {column: batch[column].tolist() for column in batch.schema.names}
            ats, times = zip(columns.pop("day"), columns.pop("version"), strict=True), columns.pop("times")
            told.setdefault(name, []).extend(zip(ats, zip(*columns.values(), strict=True), times, strict=True))

        stream.changes().for_each(note)

    def declare(scope: Any) -> Any:
        handle, rows = scope.new_collection(ROW)
        noted("totals", rows.aggregate("k", n=tr.Count(), total=tr.Sum("v")))
        told_again = rows.changes().select("k", "v", "times").collection(times="times")  # at messages' times
        noted("again", told_again)
        noted("least", rows.aggregate("k", least=tr.Min("v")))
        noted("joined", rows.join(rows.select("k", w=tr.col("v")), "k"))
        start, zeros = scope.new_collection(tr.Schema("node"), "start")

        def further(nodes: Any, loop: Any) -> Any:
            edges = rows.select(node=tr.col("k"), to=tr.col("v")).enter(loop)
            return nodes.join(edges, "node").select(node=tr.col("to")).concat(zeros.enter(loop)).distinct("nodes")

        noted("reached", zeros.iterate(further))
        return handle, start

    with simulated(workers, worker_class=tr.Worker, checks=EXHAUSTIVE if workers < 3 else "") as group:
        made = []
        for worker in group.workers:
            with group.building(worker), worker.dataflow("pairs", coordinates=NAMES) as scope:
                made.append(declare(scope))
        made[0][1].insert({"node": [0]})
        for _, start in made:
            start.close()
        for _ in range(30):
            handle = random.choice(made)[0]
            at = random.randrange(handle.time[0], DAYS), random.randrange(handle.time[1], VERSIONS)
            ours = [row for time, row, times in sent if times > 0 and time[0] <= at[0] and time[1] <= at[1]]
            if ours and random.random() < 0.3:  # takes away what is there from then on
                row, times = random.choice(ours), -1
            else:
                row, times = (random.randrange(4), random.randrange(5)), 1
            if times < 0 and not all(
                there(sent, (day, version))[row] > 0 for day in range(at[0], DAYS) for version in range(at[1], VERSIONS)
            ):
                continue
            sent.append((at, row, times))
            handle.update({"k": [row[0]], "v": [row[1]]}, times, time=at)
            if random.random() < 0.3:
                which = random.randrange(2)
                time = list(handle.time)
                time[which] = min(time[which] + 1, (DAYS, VERSIONS)[which] - 1)
                handle.advance_to(tuple(time))
            for _ in range(random.randrange(9)):
                random.choice(group.workers).step()
        for handle, _ in made:
            handle.close()
        run_in_any_order(group, random)
    for day in range(DAYS):
        for version in range(VERSIONS):
            rows = there(sent, (day, version))
            for name, expected in EXPECTED.items():
                assert there(told.get(name, []), (day, version)) == expected(rows), (name, day, version)


def test_each_row_may_have_a_time_of_its_own() -> None:
    def program(worker: tr.Worker) -> list[Any]:
        found = []
        with worker.dataflow("pairs", coordinates=NAMES) as scope:
            handle, rows = scope.new_collection(tr.Schema(name="string", v="int64"))
            rows.changes(times="often").for_each(lambda _, batch: found.extend(batch.to_arrow().to_pylist()))
        handle.advance_to((1, 1))
        handle.insert({"name": ["a", "b"], "v": [1, 2]}, time=(np.array([1, 3]), 2))
        for time, said in (((1, 0), "(1, 0)"), ((np.array([1, 0]), 1), "(0, 1)")):
            with raises(TimeRegressionError, "'input'", f"rows at {said}", "stands at (1, 1)"):
                handle.insert({"name": ["a", "b"], "v": [1, 2]}, time=time)
        for wrong in (3, (3,), (1, 2, 3)):
            with raises(SchemaError, "'input'", "a tuple of 2"):
                handle.insert({"name": ["a"], "v": [1]}, time=wrong)
        handle.close()
        worker.run()
        return found

    (found,) = tr.execute(program, workers=1)
    assert sorted(found, key=lambda row: row["v"]) == [
        {"name": "a", "v": 1, "day": 1, "version": 2, "often": 1},
        {"name": "b", "v": 2, "day": 3, "version": 2, "often": 1},
    ]
