"""Arrangements that are read at a time: beside recomputation."""

from __future__ import annotations

from collections import Counter
from typing import Any

import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.collections.feed import Feed, as_rows, one_view
from tests.operators.collections.harness import TIMES, Rows, at, made_up
from tokenring.engine import COMPLETE


@pytest.mark.parametrize("workers", [1, 2])
def test_any_time_that_is_kept_can_be_read(workers: int) -> None:
    updates = made_up(5, 60)

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            feed = Feed(worker, scope, updates)
            view = feed.collection.arrange("k").export("rows", history=2)
        found = []
        for time in range(1, TIMES + 1):
            feed.go_to(time)
            worker.step_while(lambda time=time: view.upper < time)
            found += [(when, as_rows(view.at(when))) for when in range(max(0, time - 3), time)]
            found += [(time - 1, as_rows(view.at())), (time - 1, {k: as_rows(view.at(key=k)) for k in range(4)})]
        return found

    parts = tr.execute(program, workers=workers)
    for each in zip(*parts, strict=True):
        time, expected = each[0][0], at(updates, each[0][0])
        if isinstance(each[0][1], Counter):
            assert sum([rows for _, rows in each], Rows()) == expected
        else:
            for key in range(4):
                found = sum([by_key[key] for _, by_key in each], Rows())
                assert found == Rows({row: times for row, times in expected.items() if row[0] == key}), (time, key)


def test_a_time_that_cannot_be_read_says_which_can() -> None:
    def program(worker: tr.Worker) -> Any:
        feed, view = one_view(worker)
        said = []

        def ask(time: int | None) -> None:
            try:
                said.append(view.at(time).num_rows)
            except tr.ReadTimeError as error:
                said.append(str(error))

        ask(None)
        feed.go_to(4)
        worker.step_while(lambda: view.upper < 4)
        ask(4), ask(2)
        with view.keep_since(3):
            feed.go_to(7)
            worker.step_while(lambda: view.upper < 7)
            ask(3), ask(6)
        ask(3)
        return said

    before, early, late, *kept, after = tr.execute(program, workers=1)[0]
    assert "no time is finished" in before and "up to 3" in early
    assert "before 3 is forgotten" in late and "keep_since(2)" in late
    assert kept == [2, 1]
    assert "before 6 is forgotten" in after


@pytest.mark.parametrize("time", ["x", None, 1.5, True, -1, 2**70])
def test_nothing_is_kept_since_what_is_no_time(time: Any) -> None:
    def program(worker: tr.Worker) -> None:
        one_view(worker)[1].keep_since(time)

    with raises(tr.UsageError, "view 'rows'", "keep_since", "whole number", f"not {time!r}"):
        tr.execute(program, workers=1)


def test_what_is_complete_can_be_read_as_of_its_last_change() -> None:
    def program(worker: tr.Worker) -> Any:
        feed, view = one_view(worker)
        with view.keep_since(0):
            feed.go_to(9)
            worker.run()
            assert view.upper == COMPLETE and view.latest == 4
            return view.at().to_pylist(), view.at(10**9).num_rows, view.at(3).num_rows

    assert tr.execute(program, workers=1) == [([{"k": 2, "v": 6, "times": 1}], 1, 2)]


def test_texts_floats_and_nulls_are_read_as_they_came() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            feed, stream = scope.new_input(tr.Schema(name="string", price="float64?", note="string?"))
            view = stream.collection().arrange("name").export("prices")
        feed.send({"name": ["a", "b", "b"], "price": [1.5, None, 2.5], "note": ["x", None, "a longer note"]})
        feed.advance_to(1)
        worker.step_while(lambda: view.upper < 1)
        with worker.dataflow("second") as scope:
            found = scope.import_arrangement("prices").collection().changes().collect()
        worker.run()
        return view.at(key="b").to_pylist(), view.at(key="c").num_rows, len(view.at()), found.to_arrow().to_pylist()

    ((of_b, of_c, rows, found),) = tr.execute(program, workers=1)
    b = [{"name": "b", "price": None, "note": None}, {"name": "b", "price": 2.5, "note": "a longer note"}]
    assert sorted(of_b, key=lambda row: row["price"] or 0) == [{**row, "times": 1} for row in b]
    assert (of_c, rows, len(found)) == (0, 3, 3)
    assert all({**row, "time": 0, "times": 1} in found for row in b)


def test_null_is_a_key_like_others() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            feed, stream = scope.new_input(tr.Schema(name="string?", n="int64"))
            view = stream.collection().arrange("name").export("names")
        feed.send({"name": ["a", None, None], "n": [1, 2, 3]})
        feed.advance_to(1)
        worker.step_while(lambda: view.upper < 1)
        feed.close()
        worker.run()
        return [view.at(key=None)["n"].to_pylist(), view.at(key=(None,))["n"].to_pylist(), len(view.at())]

    assert tr.execute(program, workers=1) == [[[2, 3], [2, 3], 3]]


def test_rows_that_were_removed_before_they_came_are_no_answer() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            feed = Feed(worker, scope, [(1, 5, 0, -1), (2, 6, 0, 1), (1, 5, 2, 2)])
            view = feed.collection.arrange("k").export("rows", history=5)
        feed.go_to(4)
        worker.step_while(lambda: view.upper < 4)
        said = []
        for ask in (lambda: view.at(0), lambda: view.at(1, key=1)):
            with pytest.raises(tr.NegativeMultiplicityError) as raised:
                ask()
            said.append(str(raised.value))
        feed.handle.close()
        worker.run()
        return said, as_rows(view.at(0, key=2)), as_rows(view.at(2))

    ((said, of_others, later),) = tr.execute(program, workers=1)
    assert ["'rows' at 0" in said[0], "'rows' at 1" in said[1], "'times': -1" in said[0]] == [True] * 3
    assert of_others == {(2, 6): 1} and later == {(1, 5): 1, (2, 6): 1}


def test_what_is_kept_can_be_inspected() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow("base") as scope:
            feed = Feed(worker, scope, [(1, 5, 0, 1), (2, 6, 3, 1)])
            view = feed.collection.arrange("k").export("rows")
        feed.go_to(5)
        worker.step_while(lambda: view.upper < 5)
        return scope.running.inspect("export rows")

    (facts,) = tr.execute(program, workers=1)
    columns = {"k": "int64", "v": "int64"}
    assert facts.pop("batches") > 0 and facts.pop("bytes") > 0
    assert facts == {
        "name": "rows", "dataflow": "base", "columns": columns, "key": ["k"], "rows": 2, "since": 4, "upper": 5,
        "readers": [], "mapped_bytes": 0,
    }  # fmt: skip
