"""What is asked of a group and given up before it is decided leaves no trace; and who asks nothing more is not told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.engine.helpers import simulated
from tests.operators.migrate.totals import ROWS, totals
from tokenring.operators import fluent
from tokenring.operators.leaving.answering import Leaving
from tokenring.operators.migrate import Placements, Rebalance
from tokenring.operators.migrate.answering import Migrating


def _declare(group: Any) -> list[Any]:
    placements = []
    for worker in group.workers:
        with group.building(worker), worker.dataflow("totals", bins=8, rebalance=Rebalance()) as scope:
            totals(scope.new_input(ROWS)[1]).probe()
        placements.append(worker.kept(Placements)[-1])
    return placements


def test_the_end_of_a_worker_that_is_given_up(tmp_path: Path) -> None:
    with simulated(2, worker_class=fluent.Worker) as group:
        first, _ = _declare(group)
        asked = {"worker": 1, "timeout_s": 9, "only_checks": False, "plan": "fluid"}
        leaving = Leaving(group.workers[0], tmp_path, asked)
        assert first.balancing.is_paused
        assert {*first.planned} == {0}, "all bins are to go"
        leaving.leave()
        assert not first.balancing.is_paused
        assert {*first.planned} == {0, 1}, "they stay"


def test_a_move_that_nobody_waits_for_is_not_looked_at_again(tmp_path: Path) -> None:
    with simulated(2, worker_class=fluent.Worker) as group:
        _declare(group)
        asked = {"dataflow": None, "wait": False, "target": "even", "plan": "fluid"}
        for worker in group.workers:
            assert Migrating(worker, tmp_path, asked).look() == 0
