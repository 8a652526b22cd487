"""join within windows: like nested loops; rows go when their windows have closed, and late ones are told."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tests.operators.joins.reference import COLUMNS, LEFT, ON, RIGHT, Row, equal, feed, kept, messages
from tokenring.engine import MAX_TIME, OperatorError, Schema, SchemaError, Stream
from tokenring.operators import Sliding, Tumbling, join

A, B = Schema("at k a"), Schema("when k b")


def windows(window: Any, at: int) -> list[tuple[int, int]]:
    every = getattr(window, "every", window.width)
    starts = range(-20 * every + window.offset, at + 1, every)
    return [(start, start + window.width) for start in starts if at < start + window.width]


def expected(sent: list[tuple[int, Row]], window: Any, how: str) -> list[Row]:
    lefts, rights = ([row for side, row in sent if side == at] for at in (0, 1))
    found = []
    for left in lefts:
        for each in windows(window, left[0]):
            with_each = [row for row in rights if equal(left, row) and each in windows(window, row[0])]
            found += [(*each, left[0], left[1], left[2], left[3], row[0], row[3]) for row in with_each]
            if not with_each and how == "left":
                found.append((*each, left[0], left[1], left[2], left[3], None, None))
    return sorted(found, key=repr)


@settings(max_examples=examples(40))
@given(
    sent=messages(),
    size=st.integers(1, 12),
    workers=st.integers(1, 2),
    lag=st.sampled_from([0, 5]),
    window=st.sampled_from([Tumbling("at", 10), Tumbling("at", 7, 3), Sliding("at", 10, 4, 1)]),
    how=st.sampled_from(["inner", "left"]),
)
def test_like_nested_loops(
    sent: list[tuple[int, Row]], size: int, workers: int, lag: int, window: Any, how: str
) -> None:
    columns = COLUMNS | {"code": "left.key"}
    with bench(
        [LEFT, RIGHT],
        lambda left, right: join(left, right, on=ON, columns=columns, window=window, how=how),
        workers,
        queue_bytes=1 << 16,
    ) as made:
        feed(made, sent, size, workers, lag)
        made.advance(60)
        assert kept(made, "join") == (0, 0)
        made.close()
        assert all(row[1] <= row[3] for row in made.rows), "a message's time is a lower bound of its rows' own"
        assert sorted([row[2:] for row in made.rows], key=repr) == expected(sent, window, how)


def declare(left: Stream, right: Stream, **more: Any) -> Any:
    return join(left, right, on="k", window=Tumbling("at", 10), right_time="when", columns="k a b", **more)


def test_nulls_are_sent_at_the_windows_end_once_the_other_side_has_passed_it() -> None:
    with bench([A, B], lambda left, right: declare(left, right, how="left"), 2) as made:
        made.send({"at": [3, 12, 5], "k": [1, 2, 3], "a": [10, 20, 30]}, time=2)
        made.send({"when": [8], "k": [1], "b": [5]}, to=1, time=4)
        for inputs in made.inputs:
            inputs[0].advance_to(25)
        made.settle()
        assert made.sent() == [(4, 0, 10, 1, 10, 5)]
        for inputs in made.inputs:
            inputs[1].advance_to(10)
        made.settle()
        assert made.sent() == [(10, 0, 10, 3, 30, None)]
        made.send({"when": [19], "k": [2], "b": [6]}, to=1, worker=1)
        made.settle()
        assert made.sent() == [(10, 10, 20, 2, 20, 6)]
        made.close()
        assert made.sent() == []


def test_rows_go_with_their_windows() -> None:
    with bench([A, B], declare, 2) as made:
        for start in range(0, 200, 10):
            made.send({"at": [start] * 5, "k": range(5), "a": range(5)}, worker=0)
            made.send({"when": [start + 9] * 3, "k": range(3, 6), "b": range(3)}, to=1, worker=1)
            made.settle()
            assert kept(made, "join") == (5, 3)
            made.advance(start + 10)
            assert kept(made, "join") == (0, 0)
        assert len(made.rows) == 40
        made.close()


@pytest.mark.parametrize("how", ["inner", "left", "semi", "anti"])
@pytest.mark.parametrize(("start", "end"), [("since", None), (None, "until"), (None, None), ("since", "until")])
def test_a_windows_bounds_are_called_as_it_says(start: str | None, end: str | None, how: str) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        window = Tumbling("at", 10, start=start, end=end)
        made = join(left, right, on="k", window=window, right_time="when", how=how, columns=["k"])
        assert made.schema.names == (*[name for name in (start, end) if name is not None], "k")
        return made

    with bench([A, B], declare) as made:
        made.send({"at": [12], "k": [1], "a": [5]}, to=0)
        made.send({"when": [13 if how != "anti" else 40], "k": [1], "b": [6]}, to=1)
        made.close()
        bounds = [bound for name, bound in ((start, 10), (end, 20)) if name is not None]
        assert [row[2:] for row in made.rows] == [(*bounds, 1)]


@pytest.mark.parametrize("called", ["window_start", "window_end"])
def test_a_column_may_be_called_as_a_windows_bound_that_is_called_otherwise(called: str) -> None:
    schemas = [Schema.of({"at": "int64", "k": "int64", other: "int64"}) for other in (called, "b")]

    def declare(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, "operator 'join'", f"column {called!r} already", "start=", "end="):
            join(left, right, on="k", window=Tumbling("at", 10), columns=[called])
        return join(left, right, on="k", window=Tumbling("at", 10, start="since", end="until"), columns=[called, "b"])

    with bench(schemas, declare) as made:
        made.send({"at": [12], "k": [1], called: [5]})
        made.send({"at": [13], "k": [1], "b": [6]}, to=1)
        made.close()
        assert [row[2:] for row in made.rows] == [(10, 20, 5, 6)]


def test_a_window_has_no_column_of_the_results() -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, "operator 'join'", "column 'a' already", "start=", "end="):
            join(left, right, on="k", window=Tumbling("at", 10, start="a"), right_time="when")
        return left

    with bench([A, B], declare):
        pass


def test_a_window_of_many_rows() -> None:
    """More than go at a time."""
    many = 40_000
    with bench([A, B], lambda left, right: declare(left, right, how="left"), queue_bytes=1 << 20) as made:
        made.send({"at": [5] * many, "k": range(many), "a": range(many)})
        made.send({"when": [6], "k": [many - 1], "b": [7]}, to=1)
        made.advance(10)
        assert kept(made, "join") == (0, 0)
        assert {row[4] for row in made.rows} == set(range(many)) and len(made.rows) == many
        assert [row for row in made.rows if row[-1] is not None] == [(0, 0, 0, 10, many - 1, many - 1, 7)]
        made.close()


def test_the_last_window_there_is() -> None:
    with bench([A, B], lambda left, right: declare(left, right, how="left")) as made:
        made.send({"at": [MAX_TIME, MAX_TIME], "k": [1, 2], "a": [1, 2]})
        made.send({"when": [MAX_TIME], "k": [1], "b": [7]}, to=1)
        made.close()
        end = (MAX_TIME // 10 + 1) * 10
        assert made.sent() == [(0, end - 10, end, 1, 1, 7), (MAX_TIME, end - 10, end, 2, 2, None)]


def test_late_rows_have_streams_of_their_own() -> None:
    late: list[Any] = []

    def with_late(left: Stream, right: Stream) -> Stream:
        pairs, *others = declare(left, right, late=True)

        def construct(side: int) -> Any:
            return lambda context: (
                lambda port: late.extend(
                    [(side, reference.time, *row) for reference, batch in port for row in zip(*batch, strict=True)]
                )
            )

        for side, stream in enumerate(others):
            assert stream.schema == (A, B)[side]
            stream.sink(f"late {side}", construct(side))
        return pairs  # type: ignore[no-any-return]

    with bench([A, B], with_late, 2) as made:
        made.send({"at": [9, 10], "k": [1, 1], "a": [1, 2]}, time=10)
        made.send({"when": [19, 9], "k": [1, 1], "b": [1, 2]}, to=1, time=12)
        made.settle()
        made.close()
        assert made.sent() == [(12, 10, 20, 1, 2, 1)]
        assert sorted(late) == [(0, 10, 9, 1, 1), (1, 12, 9, 1, 2)]


@pytest.mark.parametrize("side", [0, 1])
def test_a_late_row_is_never_lost_in_silence(side: int) -> None:
    with bench([A, B], declare) as made:
        made.send({("at", "when")[side]: [12, 9], "k": [1, 1], "ab"[side]: [1, 2]}, to=side, time=10)
        with raises(OperatorError, "operator 'join'", "worker 0", "time 10", "at 10", "late=True"):
            made.settle()


@pytest.mark.parametrize(
    ("more", "says"),
    [
        ({"window": Tumbling("then", 10)}, ("operator 'join'", "column 'then'", "window's time", "at, k, a")),
        ({"right_time": ""}, ("operator 'join'", "column ''", "right side's time", "when, k, b")),
        ({"right_time": "at"}, ("operator 'join'", "column 'at'", "right side's time", "when, k, b")),
        ({"window": Sliding("at", 5, 7)}, ("every=7", "windows of 5")),
        ({"window": 5, "right_time": None}, ("operator 'join'", "Tumbling or Sliding", "not int")),
        ({"unique": "left"}, ("unique=", "without a window")),
        ({"columns": "window_end"}, ("two columns", "'window_end'", "columns=")),
    ],
)
def test_mistakes(more: dict[str, Any], says: Fact) -> None:
    def refused(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, says):
            join(left, right, **({"on": "k", "window": Tumbling("at", 10), "right_time": "when"} | more))
        return left

    with bench([A, B], refused):
        pass
