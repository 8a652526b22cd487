"""How often rows are there: up to 2**63 - 1 times, and no answer beyond."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import tokenring as tr
from tests.errors import Fact, assert_named, raises
from tests.long_form import examples
from tests.operators.collections.harness import at, run
from tokenring.engine import MultiplicityOverflowError
from tokenring.operators.collections.updates import Sealed, Spine

MOST = 2**63 - 1
FACTOR = 7**2 * 73 * 127  # of MOST
Updates = list[tuple[int, int, int, int]]


def around(build: Callable[..., Any]) -> Callable[..., Any]:
    """The same in a loop, where operators are Python's."""

    def built(*rows: tr.Collection) -> tr.Collection:
        with rows[0].stream.scope.loop("around") as loop:
            return build(*[each.enter(loop) for each in rows]).leave(loop)

    return built


def self_join(rows: tr.Collection) -> tr.Collection:
    return rows.join(rows.rename(v="w"), "k", "pairs")


def joined(left: tr.Collection, right: tr.Collection) -> tr.Collection:
    return left.select("k").join(right.select("k"), "k", "pairs")


def beyond(build: Callable[..., Any], updates: list[Updates], said: Fact) -> None:
    for each in (build, around(build)):
        with raises(tr.OperatorError, said):
            run(updates, each, 1, 0)


@pytest.mark.parametrize(
    ("left", "right"),
    [(2**40, 2**40), (2**32, 2**31), (-(2**32), 2**31), (2**62, 2), (-MOST, -2), (MOST, MOST), (3, MOST // 2)],
)
def test_pairs_that_are_there_too_often_are_told_of(left: int, right: int) -> None:
    updates = [[(3, 0, 0, left)], [(3, 0, 1, right)]]
    beyond(joined, updates, ("'pairs' on worker 0", "MultiplicityOverflowError", {"at 1", "at (1"}))


@pytest.mark.parametrize(
    ("left", "right"),
    [(FACTOR, MOST // FACTOR), (-FACTOR, MOST // FACTOR), (-MOST, -1), (2**31, -(2**31)), (2**32 - 1, 2**31), (0, 5)],
)
@pytest.mark.parametrize("build", [joined, around(joined)])
def test_as_often_as_can_be_said_is_right(build: Callable[..., Any], left: int, right: int) -> None:
    updates = [[(3, 0, 0, left)], [(3, 0, 1, right)]]
    assert at(run(updates, build, 1, 0), 1) == ({(3,): left * right} if left else {})


def test_a_batch_with_itself() -> None:
    beyond(self_join, [[(3, 0, 0, 2**40)]], ("'pairs' on worker 0", "MultiplicityOverflowError"))


CONSOLIDATING: dict[str, Callable[..., Any]] = {
    "consolidate": lambda left, right: left.concat(right).consolidate("added"),
    "arrange": lambda left, right: left.concat(right).arrange("k", "added").collection(),
}


@pytest.mark.parametrize("build", CONSOLIDATING.values(), ids=CONSOLIDATING)
@pytest.mark.parametrize("sign", [1, -1])
def test_updates_of_one_time_that_add_up_to_too_many(build: Callable[..., Any], sign: int) -> None:
    updates: list[Updates] = [[(3, 1, 2, sign * MOST), (4, 1, 2, 1)], [(3, 1, 2, sign)]]
    beyond(build, updates, ("'added' on worker 0", "MultiplicityOverflowError", {"at 2", "at (2"}))


@pytest.mark.parametrize("build", [each for of in CONSOLIDATING.values() for each in (of, around(of))])
def test_what_fits_in_the_end_is_right_in_any_order(build: Callable[..., Any]) -> None:
    updates: list[Updates] = [[(3, 1, 2, MOST), (3, 1, 2, MOST), (4, 1, 0, -MOST)], [(3, 1, 2, -MOST), (4, 1, 1, MOST)]]
    assert at(run(updates, build, 1, 3), 2) == {(3, 1): MOST}


COUNTING: dict[str, Callable[..., Any]] = {
    "count": lambda rows: rows.count("k", "told"),
    "count and sum": lambda rows: rows.aggregate("k", "told", n=tr.Count(), s=tr.Sum(tr.col("v") * 0)),
    "count and least": lambda rows: rows.aggregate("k", "told", n=tr.Count(), low=tr.Min("v")),
}


@pytest.mark.parametrize("build", COUNTING.values(), ids=COUNTING)
def test_rows_that_are_too_many_to_be_counted(build: Callable[..., Any]) -> None:
    beyond(
        build,
        [[(3, 0, 0, MOST), (3, 1, 1, 1)]],
        ("'told'", "MultiplicityOverflowError", {"at 1 key k=3", "at (1, 0) key k=3"}),
    )
    assert [row[:2] for row in run([[(3, 0, 0, MOST - 1), (3, 1, 0, 1)]], build, 1, 0)] == [(3, MOST)]


@pytest.mark.parametrize("made", ["each", "first", "function"])
def test_a_row_that_is_too_often_there_to_be_looked_at(made: str) -> None:
    def build(rows: tr.Collection) -> tr.Collection:
        if made == "each":
            return rows.distinct("told")
        if made == "first":
            return rows.top("k", "v", name="told")
        return rows.reduce("k", lambda batch, times: {"n": times}, tr.Schema("n"), "told")

    beyond(
        build,
        [[(3, 0, 0, MOST), (3, 0, 1, MOST)]],
        ("'told'", "MultiplicityOverflowError", {"at 1", "at (1"}, "key k=3"),
    )


def test_a_sum_of_rows_that_are_there_very_often_is_right_or_told_of() -> None:
    def build(rows: tr.Collection) -> tr.Collection:
        return rows.aggregate("k", "told", s=tr.Sum("v"))

    for each in (build, around(build)):
        assert run([[(3, 5, 0, 2**30), (3, -7, 0, 2**30)]], each, 1, 0) == [(3, -(2**31), 0, 1)]
        assert run([[(3, 5, 0, 2**40)]], each, 1, 0) == [(3, 5 * 2**40, 0, 1)]
    beyond(build, [[(3, 2**31, 0, 2**40)]], ("told", {"at 0", "at (0"}, {"sum", "times"}))
    beyond(build, [[(3, 2**62, 0, 2**2)]], ("told", {"at 0", "at (0"}, {"sum", "times"}))


@pytest.mark.parametrize("others", [{}, {"most": tr.Max("f")}], ids=["by parts", "by rows"])
def test_a_sum_of_floats_is_exact_of_so_many_rows_and_told_of_beyond(others: dict[str, Any]) -> None:
    """It was told that rows are there more often than 2**63 - 1 times, or to cast the floats to float64."""

    def build(rows: tr.Collection) -> tr.Collection:
        rows = rows.select("k", f=tr.col("v") / 10)
        return rows.aggregate("k", "told", s=tr.Sum("f"), **others).select("k", s=tr.col("s"))

    for number in (1, -(2**62), 2**53 - 1):
        assert run([[(3, number, 0, 2**30)]], build, 1, 0) == [(3, number / 10 * 2**30, 0, 1)]
    beyond(build, [[(3, 1, 0, 2**33)]], ("told", {"at 0", "at (0"}, "2**30", "a column say how many each stands for"))


def test_a_view_of_a_row_that_is_too_often_there() -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema("k"))
            view = rows.arrange("k").export("rows", history=1)
        handle.update({"k": [3]}, MOST)
        handle.update({"k": [3]}, 1, time=1)
        handle.advance_to(2)
        worker.step_while(lambda: view.upper < 2)
        assert view.at(0).to_pylist() == [{"k": 3, "times": MOST}]
        with raises(MultiplicityOverflowError, "'rows' at 1", "2**63 - 1"):
            view.at(1)
        handle.close()
        worker.run()

    tr.execute(program, workers=1)


@pytest.mark.parametrize("times", [2**63, -(2**63), np.array([1, 2**63], np.uint64)])
def test_more_than_can_be_said_cannot_be_sent(times: Any) -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            handle, _ = scope.new_collection(tr.Schema("k"))
        with raises(MultiplicityOverflowError, "operator 'input' output 0", "worker 0", "multiplicities", "2**63 - 1"):
            handle.update({"k": [3, 4]}, times)
        handle.close()
        worker.run()

    tr.execute(program, workers=1)


@pytest.mark.parametrize("times", [2**63, 2**64 - 1])
def test_a_function_cannot_say_more_than_can_be_said(times: int) -> None:
    def build(rows: tr.Collection) -> tr.Collection:
        return rows.threshold(lambda counts: np.full(len(counts), times, np.uint64), "often")

    beyond(build, [[(3, 0, 0, 1)]], ("'often.function'", "MultiplicityOverflowError"))


ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 3), st.sampled_from([MOST, -MOST, 1, -1])), max_size=12)


@settings(max_examples=examples(200))
@given(ROWS)
@example([(0, 0, MOST), (0, 1, 1), (0, 2, -MOST), (0, 3, -1)])
def test_merges_keep_apart_what_does_not_fit(rows: list[tuple[int, int, int]]) -> None:
    spine = Spine(1, 1)
    spine.new_reader(2**63 - 2)
    for row in sorted(rows, key=lambda row: row[1]):
        spine.add(Sealed.of(np.array([row], np.int64).T).words)
    spine.readers[0]["since"] = 3
    for word in (7, 8, 9):
        spine.add(Sealed.of(np.array([[word, 3, 1]], np.int64).T).words)
        while spine.work(100):
            pass
    for word in (0, 1):
        kept, _ = spine.rows_of_keys(1, np.array([[word]], np.int64))
        assert sum(kept[-1].tolist()) == sum(times for k, _, times in rows if k == word)


@pytest.mark.parametrize(
    ("updates", "said"),
    [([(3, 2**62, 0, 4)], "sum beyond"), ([(3, 1, 0, -1)], "fewer times than not at all")],
)
@pytest.mark.parametrize("key", ["", "k"])
def test_what_is_wrong_of_all_rows_is_said_of_no_column(key: str, updates: Updates, said: str) -> None:
    """A key of the library's own was shown, and the end as a number."""
    with pytest.raises(tr.OperatorError) as raised:
        run([updates], lambda rows: rows.aggregate(key, "told", s=tr.Sum("v"), low=tr.Min("v")), 1, 0)
    assert_named(raised.value, "operator 'told'", "at 0", said, "key k=3" if key else "the key of all rows")
    assert "@" not in str(raised.value) and str(2**63 - 1) not in str(raised.value)
