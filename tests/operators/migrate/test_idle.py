"""Workers that begin idle: no share of sources, and no bins until some are moved to them."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.migrate.totals import ROWS, totals

_ROWS = 4_000


def _program(worker: Any, moves: list[tuple[int, int, int]]) -> tuple[int, int, list[tuple[int, int, int]], list[int]]:
    table = pa.table({"at": [*range(_ROWS)], "key": [at % 13 for at in range(_ROWS)]})
    taken, folded = [0], [0]
    with worker.dataflow("counts", bins=8, moves=moves) as scope:
        rows = scope.read_arrow(table, time="at", batch_rows=100)
        rows.for_each(lambda _, batch: taken.__setitem__(0, taken[0] + batch.rows))
        counts = rows.aggregate("key", window=tr.Tumbling("at", 100), count=tr.Count())
        counts.for_each(lambda _, batch: folded.__setitem__(0, folded[0] + batch.rows))
        collected = counts.select("window_end", "key", "count").collect()
        placement = scope.placement
    at_first = placement.workers.tolist()
    worker.run()
    found = collected.columns()
    rows_ = [*zip(*[found[name].tolist() for name in ("window_end", "key", "count")], strict=True)]
    return taken[0], folded[0], rows_, at_first


def test_idle_workers_get_no_rows_and_no_bins_until_some_are_moved_to_them() -> None:
    alone = sorted(tr.execute(lambda worker: _program(worker, []), 1)[0][2])
    without = tr.execute(lambda worker: _program(worker, []), workers=2, max_workers=3)
    assert {*without[0][3]} == {0, 1}
    assert [taken > 0 for taken, *_ in without] == [True, True, False]
    assert [folded > 0 for _, folded, *_ in without] == [True, True, False]
    there_and_back = [(1_000, number, 2) for number in range(8)] + [(3_000, number, number % 2) for number in range(8)]
    moved = tr.execute(lambda worker: _program(worker, there_and_back), workers=2, max_workers=3)
    assert [taken > 0 for taken, *_ in moved] == [True, True, False], "sources stay where they were"
    assert moved[2][1] > 200, "all windows of two thousand times"
    for parts in (without, moved):
        assert sorted(row for *_, rows, _ in parts for row in rows) == alone


def test_live_sources_are_polled_where_there_is_work_alone() -> None:
    def program(worker: Any) -> int:
        polled = 0

        def poll() -> Any:
            nonlocal polled
            polled += 1
            return tr.END_OF_STREAM

        with worker.dataflow() as scope:
            scope.from_callback(tr.Schema("n"), poll, per_worker=True).probe()
        worker.run()
        return polled

    assert tr.execute(program, workers=1, max_workers=3) == [1, 0, 0]


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"workers": 3, "max_workers": 2}, ("max_workers=2", "workers=3")),
        ({"max_workers": 2, "config": tr.Config(workers=2)}, ("max_workers=", "config=", "Config(workers=4, idle=2)")),
    ],
)
def test_what_cannot_be_is_refused(settings: dict[str, Any], said: Fact) -> None:
    with raises(tr.ConfigError, said):
        tr.execute(lambda worker: None, **settings)


@pytest.mark.parametrize("idle", [-1, 2, 3])
def test_somebody_has_work(idle: int) -> None:
    with raises(tr.ConfigError, f"idle is {idle}", "2 workers", "at least one"):
        tr.Config(workers=2, idle=idle)


def test_an_idle_worker_is_not_woken_for_what_others_publish() -> None:
    def program(worker: Any) -> int:
        sent = 0

        def poll() -> Any:
            nonlocal sent
            sent += 1
            return {"n": [sent]} if sent < 20_000 else tr.END_OF_STREAM

        with worker.dataflow() as scope:
            scope.from_callback(tr.Schema("n"), poll, time="n").probe()
        before = worker.steps
        worker.run()
        return int(worker.steps - before)

    busy, idle = tr.execute(program, workers=1, max_workers=2)
    assert busy >= 20_000
    assert 0 < idle < busy / 2, "it sleeps for moments, but at first"


def test_a_worker_that_was_drained_naps_as_an_idle_one_does_and_parks_once_it_has_bins_again() -> None:
    """Sleeping in moments, it says nothing of it in the flags of those who sleep."""

    def program(worker: Any) -> list[bool]:
        napped = []

        def naps() -> bool:
            return worker.step_or_park.__self__ is worker.dozing

        with worker.dataflow("totals", bins=8) as scope:
            handle, rows = scope.new_input(ROWS)
            probe = totals(rows).for_each(lambda _, batch: napped.append(naps()))
            placement = scope.placement
        handle.advance_to(1)
        at, was_moved = 1, [False, False]
        if worker.index == 0:
            while not (all(was_moved) and not placement.is_moving and at > 200):
                if at > 20 and not was_moved[0]:
                    was_moved[0] = bool(placement.drain(1, "all_at_once"))
                elif at > 100 and not placement.is_moving and not was_moved[1]:
                    napped.append(naps())
                    was_moved[1] = bool(placement.even("all_at_once"))
                handle.send({"key": list(range(40)), "value": [1] * 40})
                at += 1
                handle.advance_to(at)
                worker.step_while(lambda now=at: probe.less_than(now))
            napped.append(naps())
        else:
            handle.close()
            worker.step_while(lambda: not naps())
            seen = len(napped)
            worker.step_while(lambda: len(napped) == seen or naps())
            napped.append(naps())
        worker.run()
        return napped

    first, second = tr.execute(program, workers=2)
    assert not any(first) and not any(second[-1:]), "who has bins parks"
    assert len(second) > 20
