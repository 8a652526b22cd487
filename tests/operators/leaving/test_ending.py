"""Workers end in a group that goes on: the answers are the same, and what comes later does without them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from itertools import count
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.engine.background.test_started import own_names
from tests.errors import Fact, raises
from tests.operators.collections.harness import UPDATE
from tests.operators.migrate.totals import ROWS, totals
from tokenring.engine.ask import Group, ask, group_of
from tokenring.operators.leaving import end_worker
from tokenring.operators.migrate import bins_of
from tokenring.shm.memory import process_start_ticks
from tokenring.tools.commands.migrate import migrate
from tokenring.tools.errors import OptionError

WATCHDOG_S = 60
KEYS = 100


Result = tuple[int, dict[int, int], bool, int]
"""How many times there were, what came last of each key here, whether this worker was ended, and how many there are."""


def feeding(worker: tr.Worker, meet: int = 1, **bins: Any) -> Result:
    """Totals of a row of each key at each time, which worker 0 sends until the group is to stop. The first `meet`
    workers then meet at a barrier; all others are in `run`."""
    seen: dict[int, int] = {}
    with worker.dataflow("totals", **bins or {"bins": 32}) as scope:
        handle, rows = scope.new_input(ROWS)
        made = totals(rows)
        made.for_each(lambda _, batch: seen.update(zip(batch["key"].tolist(), batch["total"].tolist(), strict=True)))
        probe = made.probe()
    if worker.index > 0:
        handle.close()
    at = 0
    for at in count() if worker.index == 0 else ():
        if worker.stopping:
            break
        handle.send({"key": list(range(KEYS)), "value": [1] * KEYS})
        handle.advance_to(at + 1)
        worker.step_while(lambda now=at: probe.less_than(now - 3) and not worker.stopping)  # type: ignore[misc]
        worker.step_or_park(0.0005)
    if worker.index < meet > 1:
        worker.step_while(lambda: not worker.stopping)
        worker.barrier()
    worker.run()
    return at, seen, worker.parting.has_left, worker.peers


def meeting(worker: tr.Worker) -> Result:
    """The same; two meet."""
    return feeding(worker, 2)


def require_right(results: list[Result], ended: list[bool]) -> None:
    """All totals are those of one worker alone."""
    assert [left for _, _, left, _ in results] == ended
    last = np.zeros(KEYS, np.int64)
    for _, seen, _, _ in results:
        for key, total in seen.items():
            last[key] = max(last[key], total)
    assert {*last.tolist()} == {results[0][0]}


def of_keys(scope: tr.Scope) -> Any:
    """Rows 0 to 99 of each worker that shares in sources, as a collection that is spread by key; and -1 ever after."""
    times = count()

    def poll() -> Any:
        time = next(times)
        keys = [*range(KEYS)] if time == 0 else [-1]
        return {"k": keys, "v": [0] * len(keys), "time": [time] * len(keys), "times": [1] * len(keys)}

    rows = scope.from_callback(UPDATE, poll, time="time", per_worker=True).collection("time", "times")
    return rows.aggregate("k", n=tr.Count())


def test_workers_end_and_the_group_goes_on_without_them() -> None:
    before = own_names()
    with tr.start(meeting, workers=4) as group:
        first = group.asked(WATCHDOG_S)
        for worker, why in ((0, "end the run"), (4, "0 to 3"), (2, "worker 3")):
            with raises(tr.UsageError, f"worker {worker}", why):
                group.end_worker(worker, timeout_s=WATCHDOG_S)
        group.end_worker(3, "all_at_once", WATCHDOG_S)
        group.end_worker(2, "batched:8", WATCHDOG_S)
        gone = {*first.workers} - {*group.asked(WATCHDOG_S).workers}
        assert len(gone) == 2 and not any(process_start_ticks(pid) for pid in gone)
        with raises(tr.UsageError, "worker 1", "program", "worker.run()"):
            group.end_worker(1, timeout_s=WATCHDOG_S)
        found = bins_of(group.asked(WATCHDOG_S), timeout_s=WATCHDOG_S)
        assert {*found["bins"]} == {0, 1} and len(found["rows"]) == 2 and found["steps_left"] == 0, "nothing moved"
        with raises(tr.UsageError, "worker 2", "0 to 1"):
            bins_of(group.asked(WATCHDOG_S), target={0: 2}, timeout_s=WATCHDOG_S)
        assert [*ask(first.launcher).at] == [0, 1]
        name = group.install(of_keys, timeout_s=WATCHDOG_S)
        rows = next(rows for rows in answers(group, name) if 0 in rows)
        assert rows == dict.fromkeys(range(KEYS), 2) | {-1: rows.get(-1)}, "of two sources, and all keys of them"
        group.remove(name, WATCHDOG_S)
        group.stop()
        results = group.wait()
    require_right(results, [False, False, True, True])
    assert [peers for *_, peers in results[:2]] == [2, 2]
    assert own_names() <= before


def answers(group: tr.RunningGroup, view: str) -> Iterator[dict[int, int]]:
    """How many rows there are of each key, again and again."""
    while True:
        yield {-1: None} | {row["k"]: row["n"] for row in group.query(view, timeout_s=WATCHDOG_S).rows.to_pylist()}


def test_all_but_one_end_under_every_check_and_while_loads_are_balanced() -> None:
    def balanced(worker: tr.Worker) -> Any:
        return feeding(worker, bins=16, rebalance=tr.Rebalance(every_ms=1))

    with tr.start(balanced, config=tr.Config(workers=3, idle=1, checks="exhaustive", ring_records=128)) as group:
        group.end_worker(2, timeout_s=WATCHDOG_S)
        group.end_worker(1, "optimized", WATCHDOG_S)
        with raises(tr.UsageError, "worker 0", "end the run"):
            group.end_worker(0, timeout_s=WATCHDOG_S)
    require_right(group.wait(), [False, True, True])


def test_the_command_ends_a_worker(capsys: pytest.CaptureFixture[str]) -> None:
    def command(*arguments: str) -> str:
        migrate.main([str(os.getpid()), *arguments], standalone_mode=False)
        return capsys.readouterr().out

    with tr.start(feeding, workers=1, max_workers=2) as group:
        group.asked(WATCHDOG_S)
        with raises(OptionError, "--end", "--drain 1 --end"):
            command("--end")
        command("--even", "--wait", "--timeout", str(WATCHDOG_S))
        assert command("--drain", "1", "--end", "--timeout", str(WATCHDOG_S)) == "worker 1 has ended\n"
        group.poll()
        assert command().startswith("totals: 32 bins on 1 worker\n")
    results = group.wait()
    require_right(results, [False, True])
    assert results[1][1], "the idle worker had bins for a while"


def unbinned(worker: tr.Worker) -> Any:
    """A dataflow whose rows are spread by hash."""
    return feeding(worker, bins=0)


def sourced(worker: tr.Worker) -> None:
    """A live source on each worker."""
    with worker.dataflow("live") as scope:
        rows = scope.from_callback(tr.Schema("n"), lambda: None, per_worker=True, idle_ns=100_000)
        rows.for_each(lambda _, batch: None)


def stays(worker: tr.Worker) -> None:
    """Keyed state in bins, and some that stays."""
    with worker.dataflow("both", bins=4) as scope:
        _, rows = scope.new_input(UPDATE)
        rows.aggregate("k", n=tr.Count()).for_each(lambda _, batch: None)
        rows.collection("time", "times").arrange("k")
    if worker.index == 0:
        worker.step_while(lambda: not worker.stopping)


def scheduled(worker: tr.Worker) -> Any:
    """Moves that are known beforehand."""
    return feeding(worker, bins=4, moves=[(2**60, 0, 1)])


@pytest.mark.parametrize(
    ("program", "why"),
    [
        (unbinned, ("dataflow 'totals'", "no bins", "worker.dataflow(name, bins=256)")),
        (stays, ("operator 'arrange' of dataflow 'both'", "bins")),
        (sourced, ("operator 'from_callback'", "tokens", "closed")),
        (scheduled, ("dataflow 'totals'", "moves=")),
    ],
)
def test_a_worker_with_work_is_not_ended(program: Callable[[tr.Worker], Any], why: Fact) -> None:
    with tr.start(program, workers=3) as group:
        with raises(tr.UsageError, "worker 2", why):
            group.end_worker(2, timeout_s=WATCHDOG_S)
        assert len(group.asked(WATCHDOG_S).workers) == 3


def lingering(worker: tr.Worker) -> Any:
    """As `feeding`; who has been ended says so, and stays."""
    result = feeding(worker)
    if worker.parting.has_left:
        worker.report(os.getpid())
        time.sleep(WATCHDOG_S)
    return result


def test_a_worker_that_is_killed_while_its_bins_go_ends_the_run() -> None:
    def killing() -> None:
        os.kill(group.asked(WATCHDOG_S).workers[1], signal.SIGKILL)
        group.poll()

    with raises(tr.WorkerError, "worker 1", "SIGKILL"), tr.start(feeding, workers=2) as group:
        end_worker(group.asked(WATCHDOG_S), 1, timeout_s=WATCHDOG_S, meanwhile=killing)
    assert not own_names()


def test_who_has_left_and_is_killed_before_its_program_returns_ends_the_run() -> None:
    def left(_: int, process: int) -> None:
        os.kill(process, signal.SIGKILL)

    with (
        raises(tr.WorkerError, "worker 1", "SIGKILL", "run is void"),
        tr.start(lingering, workers=2, on_note=left) as group,
    ):
        group.end_worker(1, timeout_s=WATCHDOG_S)


def going_on(worker: tr.Worker) -> None:
    """Declares something after `run`."""
    feeding(worker)
    with worker.dataflow("next") as scope:
        scope.new_input(ROWS)


def test_a_program_that_goes_on_after_its_worker_was_ended_is_told() -> None:
    with (
        raises(tr.UsageError, "worker 1", "ended", "worker.run()"),
        tr.start(going_on, workers=2) as group,
    ):
        group.end_worker(1, timeout_s=WATCHDOG_S)


@contextmanager
def standing_still() -> Iterator[Group]:
    """A group whose rows stand still, while worker 1 has bins."""

    def program(worker: tr.Worker) -> None:
        with worker.dataflow("still", bins=4) as scope:
            _, rows = scope.new_input(ROWS)
            totals(rows).for_each(lambda _, batch: None)
        if worker.index == 0:
            worker.step_while(lambda: not worker.stopping)
        worker.run()

    with tr.start(program, workers=2) as group:
        yield group_of(group.asked(WATCHDOG_S).launcher)


def test_where_rows_stand_still_it_says_so_and_the_worker_stays() -> None:
    with standing_still() as group:
        with raises(tr.UsageError, "worker 1", "dataflow 'still'", "time 2", "at 0"):
            end_worker(group, 1, timeout_s=0.3)
        assert 1 in bins_of(group, timeout_s=WATCHDOG_S)["bins"] and len(group.workers) == 2
