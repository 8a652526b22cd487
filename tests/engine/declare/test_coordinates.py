"""Times of several coordinates in a root scope, as a program names them: what waits for what, and what is refused."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import Any

import pytest

import tokenring as tr
from tests.engine.declare.loops import EXCHANGE, Witness
from tests.engine.declare.test_loops import run_in_any_order
from tests.engine.helpers import VALUE, settle, simulated
from tests.errors import Fact, raises
from tokenring.engine import (
    MAX_TIME,
    GraphError,
    InputPort,
    OperatorContext,
    OutputPort,
    PathSummary,
    TimeRegressionError,
    Token,
    TokenError,
    UsageError,
)
from tokenring.engine.worker.config import EXHAUSTIVE
from tokenring.operators import union

NAMES = ("day", "version")


def declared(group: Any, declare: Callable[[Any], Any], coordinates: tuple[str, ...] = NAMES) -> list[Any]:
    """What `declare(scope)` returns on each worker."""
    made = []
    for worker in group.workers:
        with group.building(worker), worker.dataflow("pairs", coordinates=coordinates) as scope:
            made.append(declare(scope))
    return made


def later(time: tuple[int, int], random: Random) -> tuple[int, int]:
    return time[0] + random.choice([0, 0, 1, 2]), time[1] + random.choice([0, 0, 1, 3])


@pytest.mark.parametrize("seed", range(6))
def test_a_time_is_finished_when_nothing_less_or_equal_can_come(seed: int) -> None:
    """Two inputs a worker, each of which advances now by one coordinate, now by the other: rows of incomparable times
    side by side, each at its own, and none at a time of which it was said that it is over."""
    random = Random(seed)
    workers = random.choice([1, 2, 3])
    sent: Counter[tuple[tuple[int, int], int]] = Counter()
    watched = [(day, version) for day in range(12) for version in range(12)]

    def declare(scope: Any) -> Any:
        (first, ones), (second, others) = scope.new_input(VALUE, "first"), scope.new_input(VALUE, "second")
        witness = Witness(watched)
        probe = union(ones, others).unary("witness", VALUE, witness.construct, EXCHANGE).probe()
        return (first, second), witness, probe

    with simulated(workers, worker_class=tr.Worker, checks=EXHAUSTIVE) as group:
        made = declared(group, declare)
        for _ in range(60):
            handle = random.choice(random.choice(made)[0])
            at, value = later(handle.time, random), random.randrange(9)
            handle.send({"value": [value]}, time=at)
            sent[at, value] += 1
            if random.random() < 0.4:
                handle.advance_to(later(handle.time, random))
            for _ in range(random.randrange(6)):
                random.choice(group.workers).step()
        settle(group)
        held = [handle.time for handles, *_ in made for handle in handles]
        for _, _, probe in made:
            for time in watched:
                assert probe.less_equal(time) == any([one[0] <= time[0] and one[1] <= time[1] for one in held])
        for handles, *_ in made:
            for handle in handles:
                handle.close()
        run_in_any_order(group, random)
        settle(group)
        for _, witness, probe in made:
            assert witness.finished == {*watched}
            assert probe.done()
    assert Counter([row for _, witness, _ in made for row in witness.rows]) == sent


@pytest.mark.parametrize("workers", [1, 2])
def test_rows_go_round_by_each_coordinate(workers: int) -> None:
    """A row goes round once for each binary digit of its value: a day later for a 1, two versions later for a 0."""

    def declare(scope: Any) -> Any:
        handle, rows = scope.new_input(VALUE)
        days, versions = scope.feedback(VALUE, (1, 0), "days"), scope.feedback(VALUE, (0, 2), "versions")
        witness = Witness([])
        all_rows = union(rows, days.stream, versions.stream).unary("witness", VALUE, witness.construct, EXCHANGE)
        half = all_rows.filter(tr.col("value") > 1)
        days.connect(half.filter(tr.col("value") % 2 == 1).with_columns(value=tr.col("value") // 2))
        versions.connect(half.filter(tr.col("value") % 2 == 0).with_columns(value=tr.col("value") // 2))
        return handle, witness

    with simulated(workers, worker_class=tr.Worker, checks=EXHAUSTIVE) as group:
        made = declared(group, declare)
        made[0][0].send({"value": [0b1101, 0b100]}, time=(5, 7))
        for handle, _ in made:
            handle.close()
        run_in_any_order(group, Random(1))
    assert sorted([row for _, witness in made for row in witness.rows]) == [
        ((5, 7), 4), ((5, 7), 13), ((5, 9), 2), ((5, 11), 1), ((6, 7), 6), ((6, 9), 3), ((7, 9), 1),
    ]  # fmt: skip


def test_tokens_of_incomparable_times_and_summaries() -> None:
    """A source holds rights at two times, neither of which is before the other; behind an operator that sends two
    versions later, so much less can come."""
    kept: list[Token] = []

    def begin(context: OperatorContext, token: Token) -> Callable[[OutputPort], None]:
        other = token.clone()
        token.downgrade((0, 3))
        other.downgrade((2, 0))
        kept.extend([token, other])
        return lambda output: None

    def behind(context: OperatorContext, token: Token) -> Callable[..., None]:
        token.drop()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                output.give(reference, batch)

        return logic

    def declare(scope: Any) -> Any:
        (rows,) = scope.source("held", VALUE, begin)
        builder = scope.operator("later")
        builder.input(rows)
        late = builder.output(VALUE, {0: PathSummary(0, 2)})
        builder.build(behind)
        with scope.loop("rounds") as loop:
            inner = loop.enter(rows).probe()
        return rows.probe(), late.probe(), inner

    with simulated(1, worker_class=tr.Worker, checks=EXHAUSTIVE) as group:
        ((before, after, inner),) = declared(group, declare)
        settle(group)
        assert sorted(before.frontier) == [(0, 3), (2, 0)]
        assert sorted(after.frontier) == [(0, 5), (2, 2)]
        assert sorted(inner.frontier) == [(0, 3, 0), (2, 0, 0)]
        kept[1].drop()
        settle(group)
        assert sorted(after.frontier) == [(0, 5)]
        kept[0].drop()
        settle(group)
        assert before.done()
        assert after.done()


def test_an_input_moves_on_in_each_coordinate() -> None:
    def declare(scope: Any) -> Any:
        handle, rows = scope.new_input(VALUE)
        return handle, rows.probe()

    with simulated(1, worker_class=tr.Worker) as group:
        ((handle, probe),) = declared(group, declare)
        handle.advance_to((3, 1))
        settle(group)
        assert handle.time == (3, 1)
        assert [probe.less_equal(time) for time in ((3, 1), (2, 9), (9, 0), (4, 1))] == [True, False, False, True]
        with raises(TimeRegressionError, "'input'", "(3, 1)", "back to (4, 0)"):
            handle.advance_to((4, 0))
        with raises(TimeRegressionError, "'input'", "(3, 1)", "back to (4, -2)"):
            handle.advance_to((4, -2))
        with raises(TimeRegressionError, "'input'", f"({MAX_TIME + 1}, 1)", "close()"):
            handle.advance_to((MAX_TIME + 1, 1))
        wrong: tuple[Any, ...] = (4, (4,), (4, 1, 0), ("4", 1), None)
        for time in wrong:
            with raises(TokenError, "'input'", "a tuple of 2 integers" if time != ("4", 1) else "'4'"):
                handle.advance_to(time)
        with raises(TimeRegressionError, "(4, 0)"):
            handle.send({"value": [1]}, time=(4, 0))
        with raises(GraphError, "'input'", "tuples"):
            tr.InputGroup([handle])
        assert handle.time == (3, 1)


def _first(scope: Any) -> Any:
    return scope.new_input(tr.Schema("k v at"))[1]


REFUSED: dict[str, tuple[Callable[[Any], Any], tuple[Fact, ...]]] = {
    "a running aggregate": (lambda scope: _first(scope).aggregate("k", n=tr.Count()), ("'aggregate'", "collection")),
    "distinct": (lambda scope: _first(scope).distinct("k"), ("'distinct'", "collection")),
    "windows": (
        lambda scope: _first(scope).aggregate("k", window=tr.Tumbling("at", 4), n=tr.Count()), ("'aggregate", "order"),
    ),
    "a join": (lambda scope: _first(scope).join(_first(scope).select("k"), on="k"), ("'join'", "order")),
    "rows in order": (lambda scope: _first(scope).for_each(print, in_order=True), ("'for_each'", "order")),
    "a file": (lambda scope: _first(scope).to_parquet("never"), ("'to_parquet'",)),
    "a source": (lambda scope: scope.from_generator(VALUE, list, time="value"), ("'from_generator'", "tuples")),
    "rows by key": (lambda scope: scope.new_collection(tr.Schema("k v"), key="k"), ("'input'", "order")),
    "an export": (lambda scope: _first(scope).collection().arrange("k").export("kept"), ("'kept'", "tuples")),
    "no way around": (lambda scope: scope.feedback(VALUE, (1, 0, 0)), ("feedback", "(1, 0, 0)", "have 2 coordinate")),
}  # fmt: skip


@pytest.mark.parametrize("what", REFUSED)
def test_what_needs_one_order_is_refused_when_it_is_declared(what: str) -> None:
    declare, facts = REFUSED[what]
    with simulated(1, worker_class=tr.Worker) as group, raises(GraphError, "day, version", *facts):
        declared(group, declare)


def test_a_cycle_has_to_advance_one_coordinate() -> None:
    def declare(scope: Any) -> None:
        back = scope.feedback(VALUE, (0, 0), "around")
        back.connect(union(_value(scope), back.stream))

    with simulated(1, worker_class=tr.Worker) as group, raises(GraphError, "around"):
        declared(group, declare)


def _value(scope: Any) -> Any:
    return scope.new_input(VALUE)[1]


WRONG: dict[str, tuple[Any, type[Exception], tuple[Fact, ...]]] = {
    "one": ({"coordinates": ("day",)}, GraphError, ("('day',)", "several")),
    "a text": ({"coordinates": "day"}, GraphError, ("'day'", "not names")),
    "numbers": ({"coordinates": (1, 2)}, GraphError, ("(1, 2)", "not names")),
    "alike": ({"coordinates": ("day", "day")}, GraphError, ("'day', 'day'", "its own")),
    "five": ({"coordinates": tuple("abcde")}, GraphError, ("4 coordinates", "not 5")),
    "bins": ({"coordinates": NAMES, "bins": 8}, UsageError, ("bins=", "coordinates")),
    "a mechanism": ({"coordinates": NAMES, "mechanism": "notifications"}, UsageError, ("notifications", "coordinates")),
}


@pytest.mark.parametrize("what", WRONG)
def test_names_that_are_none_and_options_that_need_one_order(what: str) -> None:
    options, kind, facts = WRONG[what]
    with simulated(1, worker_class=tr.Worker) as group:
        (worker,) = group.workers
        with raises(kind, "'pairs'", *facts), group.building(worker), worker.dataflow("pairs", **options):
            pass


def test_recovery_needs_one_order(tmp_path: Path) -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow("pairs", coordinates=NAMES):
            pass

    with raises(UsageError, "'pairs'", "recovery=", "coordinates"):
        tr.execute(program, workers=1, recovery=tr.Recovery(tmp_path / "job"))


def test_a_loop_more_than_times_carry() -> None:
    def declare(scope: Any) -> None:
        _value(scope).probe()
        with scope.loop("a") as a, a.loop("b"):
            pass

    with simulated(1, worker_class=tr.Worker) as group:
        declared(group, declare)
        with raises(GraphError, "loop 'b'", "5 coordinates", "carry 4"):
            declared(group, declare, (*NAMES, "place"))



def test_a_stop_says_up_to_where_all_is_whole(tmp_path: Path) -> None:
    """Of several coordinates: times that are less in one than what it stood at."""

    def program(worker: tr.Worker) -> None:
        with worker.dataflow("pairs", coordinates=NAMES) as scope:
            first, ones = scope.new_input(VALUE, "first")
            second, others = scope.new_input(VALUE, "second")
            ones.union(others).for_each(lambda at, batch: None)
        first.advance_to((3, 1))
        second.advance_to((2, 5))
        worker.barrier()
        (tmp_path / "ready").touch()
        while not worker.stopping:
            worker.step_or_park()
        for handle in (first, second):
            handle.close()
        worker.run()

    with tr.start(program, workers=2) as group:
        while not (tmp_path / "ready").exists():
            time.sleep(0.01)
        group.stop()
        (stopped,) = group.wait().stopped.dataflows
    assert stopped.whole_before == (2, 1)
