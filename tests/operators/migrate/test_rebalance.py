"""Bins move by themselves until no worker has much more than the others, and then stay; or it is said why not."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import tokenring as tr
from tests.errors import Fact, raises
from tests.operators.migrate.totals import ROWS, rows_of, totals
from tokenring.operators.migrate import Bins, Rebalance
from tokenring.operators.migrate.rebalance import rebalanced
from tokenring.operators.migrate.versions import SAMPLED, is_sampled

BINS = 256
LOADS = st.integers(2, 5).flatmap(
    lambda peers: st.tuples(
        st.just(peers),
        st.lists(st.tuples(st.integers(0, 50), st.integers(0, peers - 1)), min_size=1, max_size=60),
    )
)


def greatest(load: np.ndarray, workers: np.ndarray, peers: int) -> float:
    by_worker = np.bincount(workers, load, peers)
    return float(by_worker.max() * peers / by_worker.sum())


@given(LOADS)
def test_bins_move_only_where_it_helps_and_once(loads: tuple[int, list[tuple[int, int]]]) -> None:
    peers, (load, workers) = loads[0], np.array(loads[1], np.int64).T
    assume(load.sum() > 0)
    target = rebalanced(load.astype(float), workers, peers, 1.2)
    before, after = greatest(load, workers, peers), greatest(load, target, peers)
    assert after <= before
    if before <= 1.2:
        assert (target == workers).all()
    again = rebalanced(load.astype(float), target, peers, 1.2)
    assert (again == target).all() or greatest(load, again, peers) < after
    if after > 1.2:  # no bin of who has most can go anywhere without making that one as busy
        by_worker = np.bincount(again, load, peers)
        most = int(np.argmax(by_worker))
        left = load[(again == most) & (load > 0)]
        gain = np.minimum(left, by_worker[most] - by_worker.min() - left)
        assert (gain <= 0.1 * np.maximum(by_worker - 1.2 * by_worker.mean(), 0).sum() + 1e-9).all() or len(left) == 0


@given(st.lists(st.integers(1, 9), min_size=200, max_size=300), st.integers(2, 6))
def test_many_bins_on_one_worker_are_evened_out(load: list[int], peers: int) -> None:
    target = rebalanced(np.array(load, float), np.zeros(len(load), np.int64), peers, 1.2)
    assert greatest(np.array(load), target, peers) <= 1.2


def keys_of_bins(numbers: Sequence[int]) -> list[int]:
    """A key in each of these bins."""
    bins = Bins(BINS).of_words(np.arange(100_000))
    return [int(np.argmax(bins == number)) for number in numbers]


def fed(worker: Any, keys: Sequence[int], is_done: Any, after: int) -> Any:
    """Feed a row of each of the keys at each time, until `is_done(placement)` on worker 0, and so many times more."""
    said: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: said.append(record.getMessage())  # type: ignore[method-assign]
    logging.getLogger("tokenring").addHandler(handler)
    seen: list[tuple[int, ...]] = []
    with worker.dataflow("skewed", bins=BINS, rebalance=Rebalance(within=1.2, every_ms=1, plan="batched:16")) as scope:
        handle, rows = scope.new_input(ROWS)
        placement = scope.placement
        made = totals(rows)
        made.for_each(lambda time, batch: seen.extend(rows_of(time, batch)))
        probe = made.probe()
    time, left = 0, after
    while worker.index == 0 and left:
        handle.send({"key": list(keys), "value": list(keys)})
        time += 1
        handle.advance_to(time)
        worker.step_while(lambda now=time: probe.less_than(now))
        left -= is_done(placement)
    workers, moved, balance = placement.workers, len(placement.history), placement.balance
    handle.close()
    worker.run()
    return seen, time, workers, moved, None if balance is None else tuple(balance), said


def all_answers(found: Any) -> list[tuple[int, ...]]:
    return [row for worker in found for row in worker[0]]


def test_bins_that_are_all_with_worker_0_are_evened_out_and_then_stay() -> None:
    keys = keys_of_bins(range(80))  # of bins that begin with worker 0, whose are the first half

    def is_even(placement: Any) -> bool:
        counts = np.bincount(placement.workers[:80], minlength=2)
        return bool(counts.max() <= 1.2 * counts.mean() and not placement.is_moving)

    found = tr.execute(lambda worker: fed(worker, keys, is_even, 500), workers=2)
    seen = all_answers(found)
    times = found[0][1]
    assert len(seen) == times * len(keys)
    assert {row[:3] for row in seen} == {(time, key, key * (time + 1)) for time in range(times) for key in keys}
    counts = np.bincount(found[0][2][:80], minlength=2)
    assert counts.max() <= 1.2 * counts.mean()
    assert found[0][3] <= 3  # 40 bins, 16 a step: nothing went to and fro
    assert found[0][4][0] <= 1.2 and found[0][4][2] == "" and found[0][5] == []
    assert found[1][4] is None


def test_one_bin_that_is_too_hot_is_named_once() -> None:
    hot, *cold = keys_of_bins([5, *range(6, 30)])
    keys = [hot] * 200 + cold

    def has_said(placement: Any) -> bool:
        return bool(placement.balance.problem and not placement.is_moving)

    found = tr.execute(lambda worker: fed(worker, keys, has_said, 500), workers=2)
    (said,) = found[0][5]
    hottest, *others = found[0][2][[5, *range(6, 30)]].tolist()
    assert set(others) == {1 - hottest}  # it is alone, which is as far as it goes
    assert f"dataflow 'skewed': worker {hottest} keeps 1.79 times the mean" in said
    assert "its bin 5 alone has 89%" in said and "bins=256" in said and "in two steps" in said
    assert found[0][4][0] == pytest.approx(1.79, abs=0.01) and found[0][4][2][:20] == said[:20]
    assert found[1][5] == []


def test_an_even_load_moves_nothing() -> None:
    keys = keys_of_bins(range(0, BINS, 4))
    found = tr.execute(lambda worker: fed(worker, keys, lambda placement: True, 600), workers=2)
    assert found[0][3] == 0 and found[0][4][1] > 0 and found[0][4][0] == 1
    assert len(all_answers(found)) == 600 * len(keys)


def test_messages_that_take_turns_are_sampled_alike() -> None:
    sampled = [number for number in range(1, 16 * 1000 + 1) if is_sampled(number)]
    assert len(sampled) == pytest.approx(1000, rel=0.01)
    for period in (2, 3, 7, 8, SAMPLED, 32):
        counts = np.bincount(np.array(sampled) % period, minlength=period)
        assert counts.min() > 0.8 * counts.mean()


@pytest.mark.parametrize(
    ("make", "said"),
    [
        (lambda: Rebalance(within=1.0), ("within=1.0", "mean", "1.2")),
        (lambda: Rebalance(every_ms=0), ("every_ms=0", "more than 0")),
        (lambda: Rebalance(within=float("inf")), ("within=inf", "1.2")),
        (lambda: Rebalance(within=None), ("within=None", "1.2")),
        (lambda: Rebalance(every_ms=1e308), ("every_ms=1e+308", "no more than 1e+09")),
        (lambda: Rebalance(every_ms=True), ("every_ms=True", "more than 0")),
        (lambda: Rebalance(plan="fliud"), ("'fliud'", "did you mean 'fluid'")),
    ],
)
def test_what_cannot_be_is_refused(make: Any, said: Fact) -> None:
    with raises(tr.UsageError, said):
        make()


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"rebalance": Rebalance()}, ("rebalance=", "bins=256")),
        ({"rebalance": "fluid", "bins": 4}, ("rebalance=", "Rebalance(within=1.2)", "not 'fluid'")),
        ({"rebalance": Rebalance(), "bins": 4, "moves": [(0, 0, 0)]}, ("moves=", "rebalance=")),
    ],
)
def test_a_dataflow_without_bins_or_with_moves_has_no_balance(settings: dict[str, Any], said: Fact) -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow("x", **settings):
            pass

    with raises(tr.UsageError, "dataflow 'x'", said):
        tr.execute(program, workers=1)


def test_where_no_rows_come_nothing_runs() -> None:
    def program(worker: tr.Worker) -> bool:
        with worker.dataflow("idle", bins=BINS, rebalance=Rebalance(every_ms=0.001)) as scope:
            handle, rows = scope.new_input(ROWS)
            probe = totals(rows).probe()
        for time in range(40):
            handle.send({"key": list(range(50)), "value": list(range(50))})
            handle.advance_to(time + 1)
            worker.step_while(lambda now=time: probe.less_than(now + 1))  # type: ignore[misc]
        quiet = 0
        while quiet < 2000:  # else this does not end
            quiet = 0 if worker.step() else quiet + 1
        worker.barrier()
        return True

    assert tr.execute(program, workers=2) == [True, True]
