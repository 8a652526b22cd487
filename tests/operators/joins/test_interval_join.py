"""interval_join: like nested loops, rows that go as frontiers pass, nulls once they are certain, late rows."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tests.operators.joins.reference import COLUMNS, LEFT, ON, RIGHT, Row, equal, feed, kept, messages, pairs
from tokenring.engine import MAX_TIME, OperatorError, Schema, SchemaError, Stream
from tokenring.operators import interval_join

A, B = Schema("at k last"), Schema("when k b")


@settings(max_examples=examples(40))
@given(
    sent=messages(),
    size=st.integers(1, 12),
    workers=st.integers(1, 2),
    lag=st.sampled_from([0, 5]),
    bounds=st.sampled_from([(0, 5), (-4, 4), (-9, -3), (2, 2), (3, 30)]),
    how=st.sampled_from(["inner", "left"]),
)
def test_like_nested_loops(
    sent: list[tuple[int, Row]], size: int, workers: int, lag: int, bounds: tuple[int, int], how: str
) -> None:
    lower, upper = bounds

    def matches(left: Row, right: Row) -> bool:
        return left[0] + lower <= right[0] <= left[0] + upper

    def declare(left: Stream, right: Stream) -> Stream:
        columns = COLUMNS | {"code": "left.key"}
        more = {"lower": lower, "upper": upper, "columns": columns, "how": how}
        return interval_join(left, right, on=ON, left_time="at", right_time="at", **more)

    with bench([LEFT, RIGHT], declare, workers, queue_bytes=1 << 16) as made:
        feed(made, sent, size, workers, lag)
        made.advance(80)
        assert kept(made, "interval_join") == (0, 0)
        made.close()
        expected = pairs(sent, matches)
        if how == "left":
            rights = [row for side, row in sent if side == 1]
            for left in [row for side, row in sent if side == 0]:
                if not any(equal(left, right) and matches(left, right) for right in rights):
                    expected.append((left[0], left[1], left[2], left[3], None, None))
        assert sorted([row[2:] for row in made.rows], key=repr) == sorted(expected, key=repr)
        joined = [row for row in made.rows if row[6] is not None]
        assert all(row[1] <= max(row[2], row[6]) for row in joined), "at a time not after the later of its rows'"


def declare(left: Stream, right: Stream, **more: Any) -> Any:
    arguments = {"upper": "last", "columns": "k at when b"} | more
    return interval_join(left, right, on="k", left_time="at", right_time="when", **arguments)


def test_bounds_in_a_column_and_rows_that_go() -> None:
    with bench([A, B], declare) as made:
        made.send({"at": [10, 10], "k": [1, 2], "last": [12, 90]}, time=10)
        made.send({"when": [10, 13, 11], "k": [1, 1, 2], "b": [5, 6, 7]}, to=1, time=9)
        made.settle()
        assert made.sent() == [(10, 1, 10, 10, 5), (10, 2, 10, 11, 7)]
        assert kept(made, "interval_join") == (2, 3)
        made.advance(12)
        assert kept(made, "interval_join") == (2, 3)
        made.advance(13)
        assert kept(made, "interval_join") == (1, 3)
        made.advance(14)
        assert kept(made, "interval_join") == (1, 0)
        made.send({"when": [90, 91], "k": [2, 2], "b": [8, 9]}, to=1, time=80)
        made.settle()
        assert made.sent() == [(80, 2, 10, 90, 8)]
        made.advance(91)
        assert kept(made, "interval_join") == (0, 2)
        made.advance(92)
        assert kept(made, "interval_join") == (0, 0)
        made.close()


def test_nulls_are_sent_once_nothing_can_match_any_more() -> None:
    with bench([A, B], lambda left, right: declare(left, right, how="left")) as made:
        made.send({"at": [3, 4, 5], "k": [1, 2, 3], "last": [8, 6, MAX_TIME + 5]}, time=2)
        made.send({"when": [4], "k": [2], "b": [5]}, to=1)
        made.inputs[0][0].close()
        made.settle()
        assert made.sent() == [(2, 2, 4, 4, 5)]
        made.inputs[0][1].advance_to(8)
        made.settle()
        assert made.sent() == []
        made.inputs[0][1].advance_to(9)
        made.settle()
        assert made.sent() == [(9, 1, 3, None, None)]
        made.inputs[0][1].close()
        made.settle()
        assert made.sent() == [(MAX_TIME, 3, 5, None, None)]
        assert made.group.workers[0].complete


def test_late_rows() -> None:
    late: list[Any] = []

    def with_late(left: Stream, right: Stream) -> Stream:
        joined, *others = declare(left, right, late=True)

        def construct(context: Any) -> Any:
            return lambda port: late.extend([row for _, batch in port for row in zip(*batch, strict=True)])

        for number, stream in enumerate(others):
            stream.sink(f"late {number}", construct)
        return joined  # type: ignore[no-any-return]

    with bench([A, B], with_late) as made:
        made.send({"at": [10, 9], "k": [1, 1], "last": [20, 20]}, time=10)
        made.send({"when": [12, 11], "k": [1, 1], "b": [1, 2]}, to=1, time=12)
        made.close()
        assert made.sent() == [(12, 1, 10, 12, 1)]
        assert sorted(late) == [(9, 1, 20), (11, 1, 2)]
    with bench([A, B], declare) as made:
        made.send({"when": [12, 11], "k": [1, 1], "b": [1, 2]}, to=1, time=12)
        with raises(OperatorError, "operator 'interval_join'", "worker 0", "time 12", "at 11", "late=True"):
            made.settle()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"upper": "b"}, ("operator 'interval_join'", "column 'b' of the left side", "upper=", "at, k, last")),
        ({"upper": 2.5}, ("upper", "'1h'", "integer", "not 2.5")),
        ({"upper": 1, "lower": 2}, ("lower=2", "upper=1")),
        ({"how": "rigt"}, ("'anti'", "not 'rigt'", "did you mean 'right'")),
    ],
)
def test_mistakes(more: dict[str, Any], says: Fact) -> None:
    def refused(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, says):
            declare(left, right, **more)
        return left

    with bench([A, B], refused):
        pass


def test_a_time_that_may_be_null_is_refused_with_its_cure() -> None:
    said = ("operator 'interval_join'", "'when'", "right side", "int64?", "when=col('when').fill_null(...)")

    def refused(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, said):
            declare(left, right)
        return left

    with bench([A, Schema("k b", when="int64?")], refused):
        pass
