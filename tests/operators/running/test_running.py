"""Running aggregates: every kind, nulls, conditions, keys of text, several workers, overflow, mistakes."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.aggregates.reference import ROW, ROWS, Rows, aggregates, as_columns, expected, groups, without_nan
from tests.operators.helpers import bench
from tokenring.engine import OperatorError, Schema, SchemaError, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Sum,
    Tumbling,
    aggregate,
    col,
    with_columns,
)

EACH_TIME_ONCE = st.lists(ROW, min_size=1, max_size=25, unique_by=lambda row: row[0])


@settings(max_examples=examples(25))
@given(rows=EACH_TIME_ONCE, workers=st.integers(1, 2), size=st.integers(1, 25))
def test_the_last_change_of_each_key_is_its_aggregate(rows: Rows, workers: int, size: int) -> None:
    def declare(stream: Stream) -> Stream:
        return aggregate(stream, ("key", "side"), **aggregates(merging=False))

    with bench([ROWS], declare, workers, queue_bytes=1 << 16) as made:
        for number, start in enumerate(range(0, len(rows), size)):
            made.send(as_columns(rows[start : start + size]), worker=number % workers)
            made.settle()
        made.close()
        messages = [groups(rows[start : start + size], 1, 2) for start in range(0, len(rows), size)]
        if workers == 1:
            assert len(made.rows) == sum(map(len, messages)), "a row for each key of each message"
        last = {row[2:4]: without_nan(row[4:]) for row in made.rows}
        assert last == {key: expected(some, merging=False) for key, some in groups(rows, 1, 2).items()}


@settings(max_examples=examples(15))
@given(rows=EACH_TIME_ONCE, workers=st.integers(1, 2), size=st.integers(1, 25))
def test_of_all_rows(rows: Rows, workers: int, size: int) -> None:
    with bench([ROWS], lambda stream: aggregate(stream, **aggregates()), workers, queue_bytes=1 << 16) as made:
        for number, start in enumerate(range(0, len(rows), size)):
            made.send(as_columns(rows[start : start + size]), worker=number % workers)
            made.settle()
        made.close()
        assert without_nan(made.rows[-1][2:]) == expected(rows)


@pytest.mark.parametrize("by", ["", "side"])
@pytest.mark.parametrize("workers", [1, 2])
def test_at_the_end(by: str, workers: int) -> None:
    rows: Rows = [(at, "a", at % 3 == 0, at, 0.5, at, "x") for at in range(20)]

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, by, emit="final", **aggregates(merging=bool(by)))

    with bench([ROWS], declare, workers, queue_bytes=1 << 16) as made:
        for worker in range(workers):
            made.send(as_columns(rows[worker::workers]), worker=worker)
        made.advance(1_000)
        assert made.sent() == []
        made.close()
        found = {row[2:]: None for row in made.rows}
        expects = groups(rows, 2) if by else {(): rows}
        assert found == {(*key, *expected(some, merging=bool(by))): None for key, some in expects.items()}


def test_first_and_last_by_arrival() -> None:
    def declare(stream: Stream) -> Stream:
        return aggregate(stream, "key", first=First("value"), last=Last("value"))

    with bench([Schema("key value")], declare) as made:
        made.send({"key": [1, 1, 2], "value": [5, 6, 7]})
        made.send({"key": [2, 1], "value": [8, 4]})
        made.close()
        assert [row[2:] for row in made.rows] == [(1, 5, 6), (2, 7, 7), (2, 7, 8), (1, 5, 4)]


@pytest.mark.parametrize("kind", ["int64", "uint64"])
@pytest.mark.parametrize("by", ["", "key"])
def test_a_sum_that_overflows_is_refused(kind: str, by: str) -> None:
    most = 2**63 - 1 if kind == "int64" else 2**64 - 1
    with bench([Schema("key", value=kind)], lambda stream: aggregate(stream, by, total=Sum("value"))) as made:
        made.send({"key": [1, 1], "value": np.array([most - 3, 2], kind)})
        made.send({"key": [1], "value": np.array([1], kind)})
        made.settle()
        assert made.sent()[-1][-1] == most
        made.send({"key": [1], "value": np.array([1], kind)})
        with raises(OperatorError, "operator 'aggregate'", "OverflowError", "sum of 'value'", "64 bits", "float64"):
            made.settle()


WRONG: list[tuple[dict[str, Any], Fact]] = [
    (
        {"by": "nowhere", "n": Count()},
        ("operator 'aggregate'", "column 'nowhere'", "at, key, side, value, share, wide, name"),
    ),
    ({"total": Sum("nowhere")}, ("operator 'aggregate', total", "column 'nowhere'")),
    (
        {"total": Sum("name")},
        ("operator 'aggregate', total", "Sum", "column 'name'", "string?", "int64, uint64, float64, bool"),
    ),
    (
        {"mean": Mean("key")},
        ("operator 'aggregate', mean", "Mean", "column 'key'", "string?", "int64, uint64, float64, bool"),
    ),
    ({"by": "at", "at": Count()}, ("operator 'aggregate'", "'at'", "group by")),
    ({"total": sum}, ("operator 'aggregate'", "total=<built-in function sum>", "total=Count()")),
    ({}, ("operator 'aggregate'", "n=Count()")),
    ({"n": Count(), "emit": "sometimes"}, ("operator 'aggregate'", "'each', 'batch' or 'final'", "not 'sometimes'")),
    ({"n": Count(), "late": True}, ("operator 'aggregate'", "late", "window")),
    ({"n": Count(where=col("at") + 1)}, ("operator 'aggregate'", "where=(at + 1)", "int64", "bool")),
    ({"n": Count(where=col("nowhere") > 1)}, ("operator 'aggregate'", "column 'nowhere'")),
    ({"n": CountDistinct("at")}, ("operator 'aggregate'", "CountDistinct", "by=", "emit='final'")),
    ({"n": First("at")}, ("operator 'aggregate'", "First and Last", "order='column'")),
    (
        {"n": First("at", order="share")},
        ("operator 'aggregate', n", "order='share'", "int64, timestamp", ".fill_null(...)"),
    ),
    (
        {"n": Count(), "window": Tumbling("name", 5)},
        ("operator 'aggregate'", "'name' is string?", "int64 or timestamp"),
    ),
    ({"n": Count(), "window": Tumbling("at", 0)}, ("operator 'aggregate'", "width", "at least 1", "not 0")),
    (
        {"window_end": Count(), "window": Tumbling("at", 5)},
        ("operator 'aggregate'", "column 'window_end' already", "start=", "end="),
    ),
]


@pytest.mark.parametrize(("arguments", "message"), WRONG, ids=str)
def test_mistakes(arguments: dict[str, Any], message: Fact) -> None:
    def declare(stream: Stream) -> Stream:
        with raises(SchemaError, message):
            aggregate(stream, **arguments)
        return stream

    with bench([ROWS], declare):
        pass


@pytest.mark.parametrize("kind", ["int64", "timestamp"])
def test_a_time_that_may_be_null_is_cured_as_the_message_says(kind: str) -> None:
    window = Tumbling("at", 10 if kind == "int64" else timedelta(microseconds=1))
    said = ("operator 'aggregate'", f"'at' is {kind}?", "with_columns(at=col('at').fill_null(...))")

    def declare(stream: Stream) -> Stream:
        with raises(SchemaError, said):
            aggregate(stream, n=Count(), window=window)
        with raises(SchemaError, "operator 'aggregate', last", "order='at'", "int64, timestamp", ".fill_null(...)"):
            aggregate(stream, last=Last("x", order="at"))
        filled = with_columns(stream, at=col("at").fill_null(np.datetime64(0, "ns") if kind == "timestamp" else 0))
        return aggregate(filled, n=Count(), last=Last("x", order="at"), window=window)

    with bench([Schema("x", at=f"{kind}?")], declare) as made:
        made.send({"x": [1, 2, 3], "at": [None, 5, 3]})
        made.close()
        assert [row[-2:] for row in made.rows] == [(3, 2)]


def test_a_text_is_no_time_however_it_is_filled() -> None:
    def declare(stream: Stream) -> Stream:
        with raises(SchemaError, "operator 'aggregate'", "'at' is string?", "int64 or timestamp") as caught:
            aggregate(stream, n=Count(), window=Tumbling("at", 10))
        assert "fill_null" not in str(caught.value)
        return stream

    with bench([Schema("x", at="string?")], declare):
        pass


def test_a_condition_that_is_none() -> None:
    facts = "operator 'aggregate.where'", "where=", "int64 of shape (1,)", "bool of shape (1,)"
    with (
        bench([Schema("x")], lambda stream: aggregate(stream, n=Max("x", where=lambda batch: batch["x"]))) as made,
        raises(OperatorError, *facts),
    ):
        made.send({"x": [1]})
