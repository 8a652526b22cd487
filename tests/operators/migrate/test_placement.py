"""Bins move as they are asked to, step by step, and each worker knows what became of it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.migrate.totals import ROWS, are_right, fed_until, totals
from tokenring.operators.migrate import Placement, Placements, use_bins

KEYS = 40


def facts(moves: Callable[[Placement], Any], worker: Any) -> Any:
    """What a worker knows after a run."""
    placement, seen, times = fed_until(worker, moves, KEYS)
    return placement.workers.tolist(), [tuple(one) for one in placement.history], seen, times, placement.rows_moved


def run(moves: Callable[[Placement], Any], workers: int) -> Any:
    """All workers' facts, the totals being right."""
    found = tr.execute(partial(facts, moves), workers=workers)
    assert are_right([row for worker in found for row in worker[2]], KEYS, found[0][3])
    return found


def everything_to_the_last(plan: str, placement: Placement) -> None:
    placement.move(np.full(16, placement.peers - 1), plan)


@pytest.mark.parametrize(("plan", "steps"), [("", 8), ("batched:3", 3), ("all_at_once", 1), ("optimized", 8)])
def test_a_target_is_come_to_in_the_steps_of_its_plan(plan: str, steps: int) -> None:
    found = run(partial(everything_to_the_last, plan), 2)
    assert all(workers == [1] * 16 for workers, *_ in found)
    history, others = found[0][1], found[1][1]
    assert len(history) == len(others) == steps
    assert sum(bins for _, bins, *_ in history) == 8 and not any(bins for _, bins, *_ in others)
    assert all(began < done for _, _, began, done, _, _ in history)
    assert sum(rows for *_, rows, _ in history) == found[0][4] > 0 and found[1][4] == 0
    assert sum(size for *_, size in history) == 8 * 2 * found[0][4]
    assert [time for time, *_ in history] == [time for time, *_ in others] == sorted(time for time, *_ in history)


def test_rows_go_to_the_new_worker_from_the_time_of_the_step() -> None:
    found = run(lambda placement: placement.move({number: 1 for number in range(8)}), 3)
    assert found[0][0] == [1] * 11 + [2] * 5
    (*_, last) = found[0][1]
    assert {row[3] for worker in found for row in worker[2] if row[0] >= last[0]} == {1, 2}
    assert 0 in {row[3] for worker in found for row in worker[2] if row[0] < last[0]}


def test_a_worker_is_drained_and_bins_are_evened_out_again() -> None:
    def drain_and_even(placement: Placement) -> None:
        assert placement.drain(1, "optimized") == 5  # the most that a worker sends
        assert np.bincount(placement.planned, minlength=3).tolist() == [8, 0, 8]
        placement.even("all_at_once")
        assert sorted(np.bincount(placement.planned, minlength=3).tolist()) == [5, 5, 6]
        assert placement.is_moving and placement.steps_left == 6

    workers = run(drain_and_even, 3)[0][0]
    assert sorted(np.bincount(workers, minlength=3).tolist()) == [5, 5, 6]


def test_what_was_forgotten_does_not_begin() -> None:
    def move_and_forget(placement: Placement) -> None:
        placement.move([{0: 1}, {1: 1}])
        assert placement.forget() == 2
        placement.move({2: 1})
        assert placement.move({2: 1}) == 0  # it is to be there already

    assert run(move_and_forget, 2)[0][0] == [0, 0, 1, *[0] * 5, *[1] * 8]


@pytest.mark.parametrize(
    ("move", "said"),
    [
        (lambda placement: placement.move({16: 0}), ("bin 16", "0 to 15")),
        (lambda placement: placement.move({3: 2}), ("bin 3", "worker 2", "0 to 1")),
        (lambda placement: placement.drain(2), ("worker 2", "0 to 1")),
        (lambda placement: placement.move({3: 1}, "flud"), ("'flud'", "did you mean 'fluid'")),
        (lambda placement: placement.move([{3: 1}], "fluid"), ("plan='fluid'", "leave it out")),
        (lambda placement: placement.move(np.zeros(4, np.int64)), ("(16,)", "not int64 (4,)", "{bin: worker}")),
        (lambda placement: placement.move({"3": 1}), ("integers", "'3': 1")),
        (lambda placement: placement.move("x"), ("{bin: worker}", "a list of such mappings", "'x' is none")),
        (lambda placement: placement.move([0, 1]), ("{bin: worker}", "a list of such mappings", "0 is none")),
        (lambda placement: placement.move(None), ("{bin: worker}", "a list of such mappings", "None is none")),
        (lambda placement: placement.steps_to("x"), ("{bin: worker}", "'x' is none")),
    ],
)
def test_what_cannot_be_moved_is_refused(move: Callable[[Placement], Any], said: Fact) -> None:
    placement = Placement()
    begin(placement, 0, 2)
    with raises(tr.UsageError, said):
        move(placement)
    assert not placement.is_moving


@pytest.mark.parametrize("moves", [5, [(5, 0)], ["abc"], [("a", 0, 1)], [(5.5, 0, 1)], [(1, 2, None)], [(True, 0, 0)]])
def test_changes_that_are_none_are_refused(moves: Any) -> None:
    change = moves[0] if isinstance(moves, list) else moves
    with raises(tr.UsageError, "dataflow 'x'", "moves=", "(time, bin, worker)", f"{change!r} is none"):
        use_bins(tr.engine.Scope("x"), 0, 2, 16, moves)


@pytest.mark.parametrize("bins", ["x", 1.0, True, 3, None])
def test_a_number_of_bins_that_is_none_is_refused(bins: Any) -> None:
    with raises(tr.UsageError, f"bins={bins!r}", "power of two"):
        use_bins(tr.engine.Scope("x"), 0, 2, bins)


def begin(placement: Placement, index: int, peers: int) -> None:
    """Let it belong to a dataflow."""
    scope = tr.engine.Scope("moving")
    placement.begin(scope, index, peers, 16)


def test_other_workers_and_groups_of_one_do_not_move_bins() -> None:
    other = Placement()
    begin(other, 1, 2)
    with raises(tr.UsageError, "worker 0", "this is worker 1"):
        other.move({3: 1})
    alone = Placement()
    begin(alone, 0, 1)
    with raises(tr.UsageError, "worker 0", "alone"):
        alone.drain(0)
    assert alone.even() == 0


def test_while_rows_stand_still_it_says_what_is_waited_for() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("totals", bins=4) as scope:
            handle, rows = scope.new_input(ROWS)
            probe = totals(rows).probe()
            placement = scope.placement
        said = None
        handle.advance_to(7)
        if worker.index == 0:
            handle.send({"key": [1], "value": [1]})
            worker.step_while(lambda: probe.less_than(7))
            placement.move({0: 1})
            worker.step_while(lambda: placement.waiting is None)
            waiting = placement.waiting
            assert waiting is not None and placement.is_moving and not placement.history
            said = waiting.operator, waiting.frontier, waiting.time > 7
        worker.barrier()
        return said

    assert tr.execute(program, workers=2)[0] == ("totals", 7, True)


def test_what_had_not_begun_when_all_rows_had_come_is_left() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("totals", bins=4) as scope:
            handle, rows = scope.new_input(ROWS)
            probe = totals(rows).probe()
            placement = scope.placement
        steps = [{0: 1}, {}, {1: 1}]
        handle.advance_to(5)
        if worker.index == 0:
            handle.send({"key": [1], "value": [1]})
            worker.step_while(lambda: probe.less_than(5))
            assert placement.move(steps) == 2 and placement.left_of(steps) == 2
            worker.step_while(lambda: placement.waiting is None)
            assert placement.steps_left == 2  # the first waits for rows of its time
        worker.barrier()
        handle.close()
        worker.run()
        if worker.index == 0:
            assert not placement.is_moving and placement.is_over
            assert placement.move([{1: 0}]) == 0
        return placement.left_of(steps)

    assert tr.execute(program, workers=2)[0] == 1


def test_placements_of_dataflows_that_are_done_are_forgotten() -> None:
    def program(worker: tr.Worker) -> list[str]:
        for name in ("first", "second"):
            with worker.dataflow(name, bins=4) as scope:
                handle, rows = scope.new_input(ROWS)
                totals(rows)
            assert list(worker.kept(Placements).named()) == [name]
            if name == "first":
                handle.close()
                worker.step_while(lambda running=scope.running: not running.done)  # type: ignore[misc]
        return [placement.scope.graph.name for placement in worker.kept(Placements)]

    assert tr.execute(program, workers=2) == [["second"]] * 2


def beside(sink: Callable[[Any], Any], worker: Any) -> int:
    """How many moves were done before the inputs were closed."""
    with worker.dataflow("d", bins=8, moves=[(10, number, 1) for number in range(8)]) as scope:
        handle, rows = scope.new_input(tr.Schema("key"))
        counts = rows.aggregate("key", n=tr.Count())
        sink(counts)
        probe = counts.probe()
    for time in range(40):
        handle.advance_to(time)
        if worker.index == 0:
            handle.send({"key": list(range(50))})
        worker.step_while(lambda: probe.less_than(time))  # noqa: B023
    for _ in range(200):
        worker.step_or_park(0.001)
    done = len(scope.placement.history)
    handle.close()
    worker.run()
    return done


@pytest.mark.parametrize("sink", ["to_parquet", "to_arrow_files", "to_csv", "to_json_lines"])
def test_bins_move_beside_a_sink_whose_folder_appears_in_the_end(tmp_path: Path, sink: str) -> None:
    """Whose publisher waits for all rows."""
    done = tr.execute(partial(beside, lambda rows: getattr(rows, sink)(tmp_path / "out")), workers=2)
    assert min(done) == 1
    assert sum(1 for _ in (tmp_path / "out").iterdir()) == 2
