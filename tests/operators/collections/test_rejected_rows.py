"""Rows that operators fail at: errors of the views that lack them, until they are removed."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal
from typing import Any

import numpy as np
import pyarrow as pa
import pytest

import tokenring as tr
from tests.errors import raises
from tests.operators.collections.feed import Feed, Update, as_rows
from tests.operators.collections.harness import Rows, at
from tokenring import col

# v is 0 in rows that nothing can be divided by
UPDATES: list[Update] = [
    *[(1, 5, 0, 1), (2, 0, 1, 1), (3, 2, 1, 1), (4, 0, 2, 1)],
    *[(2, 0, 3, -1), (4, 0, 5, -1), (1, 5, 6, -1)],
]


def quotients(rows: tr.Collection) -> tr.Collection:
    return rows.select(k=col("k"), v=100 // col("v"))


def in_a_filter(rows: tr.Collection) -> tr.Collection:
    return rows.filter(100 // col("v") > 0).select("k", v=100 // col("v"))


def by_python(rows: tr.Collection) -> tr.Collection:
    def divided(batch: tr.Batch) -> dict[str, Any]:
        return {"k": batch["k"], "v": [100 // v for v in batch["v"].tolist()]}

    return rows.map_batches(tr.Schema("k v"), divided)


def with_texts(rows: tr.Collection) -> tr.Collection:
    named = rows.with_columns(name=tr.when(col("v") == 0).then(tr.lit("none")).otherwise(tr.lit("4")))
    return named.select("k", v=100 // col("v"), name=col("name"))


def read_at_each_time(
    make: Callable[[tr.Collection], tr.Collection], updates: list[Update], workers: int
) -> list[list[tuple[Any, list[dict[str, Any]]]]]:
    """Of each worker at each time what can be read, or why not, and the errors."""

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            feed = Feed(worker, scope, updates)
            view = make(feed.collection).arrange("k").export("made")
        found = []
        for time in range(1, 9):
            feed.go_to(time)
            worker.step_while(lambda time=time: view.upper < time)
            errors = view.errors().to_pylist()
            try:
                rows: Any = as_rows(view.at())
            except tr.RejectedRowsError as error:
                rows = str(error)
            found.append((rows, errors))
        return found

    return tr.execute(program, workers=workers)


def expected(updates: list[Update], time: int) -> tuple[Rows, Rows]:
    """What there is at a time of quotients, and of rows that have none."""
    there = at(updates, time)
    made = Rows()
    for (k, v), times in there.items():
        if v:
            made[k, 100 // v] += times
    return made, Rows({row: times for row, times in there.items() if row[1] == 0})


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("make", [quotients, in_a_filter, by_python, with_texts])
def test_a_view_says_which_rows_it_lacks_until_they_are_removed(
    make: Callable[[tr.Collection], tr.Collection], workers: int
) -> None:
    for time, parts in enumerate(zip(*read_at_each_time(make, UPDATES, workers), strict=True)):
        rows, bad = expected(UPDATES, time)
        for each, errors in parts:  # each worker says what any of them failed at
            assert {error["row"]: error["times"] for error in errors} == {
                str({"k": k, "v": v}): times for (k, v), times in bad.items()
            }
            assert isinstance(each, str) == bool(bad)
            if bad:
                assert errors[0]["operator"] in each and errors[0]["row"] in each and "zero" in each
        if not bad:
            found = sum([each for each, _ in parts], Rows())
            assert Rows({row[:2]: times for row, times in found.items()}) == rows


def test_a_row_that_comes_and_goes_at_once_is_no_error() -> None:
    updates: list[Update] = [(1, 0, 0, 1), (1, 0, 0, -1), (2, 4, 0, 1)]
    ((rows, errors), *_) = read_at_each_time(quotients, updates, 1)[0]
    assert (rows, errors) == (Rows({(2, 25): 1}), [])


@pytest.mark.parametrize("called", ["select", "with_columns"])
def test_the_operator_is_called_as_in_the_program(called: str) -> None:
    updates: list[Update] = [(1, 0, 0, 1)]
    (_, errors), *_ = read_at_each_time(lambda rows: getattr(rows, called)(k=col("v"), v=1 // col("v")), updates, 1)[0]
    assert [error["operator"] for error in errors] == [called]


def test_of_many_bad_rows_all_are_found() -> None:
    random = np.random.default_rng(7)
    updates: list[Update] = [(number, int(random.integers(3)), number % 3, 1) for number in range(5_000)]
    found = read_at_each_time(quotients, updates, 1)[0]
    for time, (rows, errors) in enumerate(found):
        _, bad = expected(updates, time)
        assert isinstance(rows, str) and f"and {len(bad) - 3:,} more" in rows
        assert {error["row"] for error in errors} == {str({"k": k, "v": v}) for k, v in bad}


def test_where_changes_are_handed_out_the_run_ends() -> None:
    def program(worker: tr.Worker) -> None:
        with worker.dataflow() as scope:
            feed = Feed(worker, scope, UPDATES)
            made = quotients(feed.collection)
            made.arrange("k").export("made")
            made.changes().collect()
        feed.go_to(9)
        worker.run()

    with pytest.raises(tr.OperatorError) as raised:
        tr.execute(program, workers=1)
    assert "select" in str(raised.value) and "division by zero" in str(raised.value)


def test_a_view_that_does_not_depend_on_it_can_be_read() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            feed = Feed(worker, scope, UPDATES)
            made = quotients(feed.collection).arrange("k").export("made")
            plain = feed.collection.arrange("k").export("plain")
        with worker.dataflow("importing") as scope:
            again = scope.import_arrangement("made").collection().count("k").arrange("k").export("again")
        feed.go_to(3)
        worker.step_while(lambda: made.upper < 3 or plain.upper < 3 or again.upper < 3)
        return as_rows(plain.at(2)), made.errors(2).num_rows, again.errors(2).num_rows

    plain, made, again = tr.execute(program, workers=1)[0]
    assert plain == at(UPDATES, 2) and (made, again) == (2, 2)


def test_what_imports_a_view_and_hands_it_out_ends_the_run() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            feed = Feed(worker, scope, UPDATES)
            view = quotients(feed.collection).arrange("k").export("made")
        with worker.dataflow("importing") as scope:
            scope.import_arrangement("made").collection().changes().collect()
        feed.go_to(3)
        worker.step_while(lambda: view.upper < 3)

    with pytest.raises(tr.OperatorError) as raised:
        tr.execute(program, workers=1)
    assert "division by zero" in str(raised.value)


def there(updates: list[Update], time: int) -> dict[int, Rows]:
    found: dict[int, Rows] = {}
    for (k, v), times in at(updates, time).items():
        found.setdefault(k, Rows())[v,] = times
    return found


BIG = 2**62
BY_KEY: list[Update] = [
    *[(1, 5, 0, 1), (2, 7, 0, -1), (3, BIG, 0, 1), (4, 1, 0, 1)],  # of 2, a row is taken away before it is added
    *[(3, BIG + 1, 1, 1), (5, -BIG, 1, 3)],  # sums beyond 64 bits, both ways
    *[(2, 7, 2, 1), (3, BIG, 3, -1), (5, -BIG, 4, -1)],
    *[(4, 1, 4, -2), (4, 1, 5, 1), (5, -BIG, 5, -2), (2, 7, 5, 1)],
]


def smallest_by_function(rows: tr.Collection) -> tr.Collection:
    def least(batch: tr.Batch, times: np.ndarray) -> dict[str, Any]:
        if 5 in batch["v"].tolist():
            raise KeyError("five")
        return {"made": [min(batch["v"].tolist())]}

    return rows.reduce("k", least, tr.Schema("made"), name="total")


MADE: dict[str, tuple[Callable[[tr.Collection], tr.Collection], Callable[[Rows], Any]]] = {
    "sum": (
        lambda rows: rows.aggregate("k", name="total", made=tr.Sum("v")),
        lambda rows: sum([v * times for (v,), times in rows.items()]),
    ),
    "sum and least": (
        lambda rows: rows.aggregate("k", name="total", made=tr.Sum("v"), least=tr.Min("v")).select("k", "made"),
        lambda rows: sum([v * times for (v,), times in rows.items()]),
    ),
    "greatest": (lambda rows: rows.top("k", "v", name="total").rename(v="made"), lambda rows: max(rows)[0]),
    "function": (smallest_by_function, lambda rows: None if (5,) in rows else min(rows)[0]),
    "in a loop": (
        lambda rows: rows.iterate(
            lambda inner, loop: inner.aggregate("k", name="total", v=tr.Sum("v"), w=tr.Min("v")).select("k", "v")
        ).rename(v="made"),
        lambda rows: sum([v * times for (v,), times in rows.items()]),
    ),
}


def made_of(rows: Rows, function: Callable[[Rows], Any]) -> int | None:
    """What is made of a key's rows; None if nothing can be."""
    if min(rows.values()) < 0:
        return None
    made = function(rows)
    return made if made is not None and -(2**63) <= made < 2**63 else None


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize("what", MADE)
def test_a_key_that_nothing_can_be_made_of_is_an_error_until_it_is_right(what: str, workers: int) -> None:
    make, function = MADE[what]
    for time, parts in enumerate(zip(*read_at_each_time(make, BY_KEY, workers), strict=True)):
        expected = {k: made_of(rows, function) for k, rows in there(BY_KEY, time).items()}
        bad = {k for k, made in expected.items() if made is None}
        for each, errors in parts:
            assert {error["row"] for error in errors} == {f"key k={k}" for k in bad}, (time, errors)
            assert isinstance(each, str) == bool(bad)
        if not bad:
            assert sum([each for each, _ in parts], Rows()) == Rows({row: 1 for row in expected.items()})


def serve(worker: tr.Worker) -> None:
    with worker.dataflow() as scope:
        feed = Feed(worker, scope, UPDATES, "feed")
        feed.collection.arrange("k").export("rows")
    feed.go_to(3)
    while not worker.stopping:
        worker.step(wait_ns=1_000_000)


def quotients_of_rows(scope: Any) -> tr.Collection:
    return quotients(scope.import_arrangement("rows").collection())


def test_an_installed_dataflow_fails_alone() -> None:
    with tr.start(serve, workers=2) as group:
        group.install(quotients_of_rows, "quotients")
        with pytest.raises(tr.RejectedRowsError) as raised:
            group.query("quotients")
        assert "'v': 0" in str(raised.value) and "division by zero" in str(raised.value)
        _, rows = group.query("rows")
        assert as_rows(rows) == at(UPDATES, 2)
        group.remove("quotients")


def test_who_has_subscribed_hears_of_it_and_goes_on_when_it_is_gone() -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            feed = Feed(worker, scope, UPDATES)
            view = quotients(feed.collection).arrange("k").export("made")
        feed.go_to(1)
        worker.step_while(lambda: view.upper < 1)
        told, failed = [], []
        with view.subscribe() as subscription:
            for time in range(1, 9):
                feed.go_to(time)
                worker.step_while(lambda time=time: view.upper < time)
                try:
                    told += [(answer.time, as_rows(answer.rows)) for answer in subscription.take()]
                except tr.RejectedRowsError:
                    failed.append(time - 1)
        return told, failed

    told, failed = tr.execute(program, workers=1)[0]
    assert failed == [1, 2, 3, 4]  # until (4, 0) is taken away
    assert told == [(0, Rows({(1, 20): 1})), (1, Rows({(3, 50): 1})), (6, Rows({(1, 20): -1}))]


LEAST = -(2**63)


def round_of_each(rows: tr.Collection) -> tr.Collection:
    begin = rows.filter(tr.lit(False))
    return begin.iterate(lambda inner, loop: rows.enter(loop, col("v")).concat(inner).distinct())


def otherwise_each_time(rows: tr.Collection) -> tr.Collection:
    calls = iter(range(1_000))

    def positive(batch: tr.Batch) -> dict[str, Any]:
        if (batch["v"] < 0).any():
            raise ValueError(f"call {next(calls)}")
        return {"k": batch["k"], "v": batch["v"]}

    return rows.map_batches(rows.schema, positive)


@pytest.mark.parametrize("workers", [1, 2])
@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows.with_columns(v=tr.when(col("v") > 0).then(col("v"))).as_schema(rows.schema),
        lambda rows: rows.as_schema(tr.Schema(k="int64", v="int64?")),
        lambda rows: rows.select("k").left_join(rows, "k"),
        round_of_each,
        lambda rows: rows.delay(by=col("v")),
        lambda rows: rows.delay(by=2**62 - 3 + col("v") % 7),
        otherwise_each_time,
    ],
    ids=["a null", "a number that is null", "a pair", "a round", "a span", "a time", "a function"],
)  # fmt: skip
def test_what_a_rows_values_are_at_fault_for_is_an_error_until_it_is_removed(
    make: Callable[[tr.Collection], tr.Collection], workers: int
) -> None:
    """It ended the run, or was there for ever where the error was said otherwise when the row was removed."""
    updates: list[Update] = [(1, 2, 0, 1), (2, LEAST, 1, 1), (2, LEAST, 4, -1)]
    for parts in read_at_each_time(make, updates, workers):
        assert [bool(errors) for _, errors in parts] == [False, True, True, True, *[False] * 4]
        assert [isinstance(rows, str) and "'k': 2" in rows for rows, _ in parts] == [
            bool(errors) for _, errors in parts
        ]


NO_UTF8 = pa.Array.from_buffers(
    pa.string(), 1, [None, pa.py_buffer(np.array([0, 2], np.int32).tobytes()), pa.py_buffer(b"a\xff")]
)


@pytest.mark.parametrize(("v", "times"), [(0, 1), (1, -1)], ids=["at which an operator fails", "taken away too often"])
def test_a_row_whose_text_is_not_utf_8_is_an_error_of_the_view(v: int, times: int) -> None:
    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema(s="string", v="int64"))
            view = rows.with_columns(w=1 // col("v")).arrange("w").export("made")
        handle.update({"s": NO_UTF8, "v": [v]}, [times])
        handle.advance_to(1)
        worker.step_while(lambda: view.upper < 1)
        with raises((tr.RejectedRowsError, tr.NegativeMultiplicityError), "'s': 'a\ufffd', 'v'"):
            view.at(0)

    tr.execute(program, workers=1)


@pytest.mark.parametrize("null", ["", "?"])
@pytest.mark.parametrize(
    "make",
    [
        lambda rows: rows.aggregate("k", made=tr.Sum("d")),
        lambda rows: rows.aggregate("k", made=tr.Sum("d"), least=tr.Min("d")).select("k", "made"),
        lambda rows: rows.iterate(
            lambda inner, loop: inner.aggregate("k", d=tr.Sum("d")).as_schema(inner.schema)
        ).rename(d="made"),
    ],
    ids=["sums", "sums and least", "in a loop"],
)
def test_a_sum_of_decimals_with_a_nineteenth_digit_is_an_error_of_the_view(
    make: Callable[[tr.Collection], tr.Collection], null: str
) -> None:
    """It could not be read, and no error named the key. A mean has no such bound."""
    most, last = Decimal("9999999999999999.99"), Decimal("0.01")

    def program(worker: tr.Worker) -> Any:
        with worker.dataflow() as scope:
            handle, rows = scope.new_collection(tr.Schema.of({"k": "int64", "d": f"decimal(18, 2){null}"}))
            view = make(rows).arrange("k").export("sums")
            means = rows.aggregate("k", mean=tr.Mean("d")).arrange("k").export("means")
        handle.insert({"k": [1, 1, 2], "d": [most, last, -most]})
        handle.advance_to(1)
        worker.step_while(lambda: view.upper < 1 or means.upper < 1)
        with raises(tr.RejectedRowsError, "operator 'aggregate'", "key k=1", "cast it to float64"):
            view.at(0)
        ((_, mean, _),) = [row.values() for row in means.at(0, key=1).to_pylist()]
        handle.remove({"k": [1], "d": [last]})
        handle.advance_to(2)
        worker.step_while(lambda: view.upper < 2)
        return mean, sorted(row["made"] for row in view.at(1).to_pylist())

    assert tr.execute(program, workers=1)[0] == (float((most + last) / 2), [-most, most])
