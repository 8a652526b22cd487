"""temporal_join and enrich with a table that changes: like a search through all versions, whatever comes first."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from operator import itemgetter
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tests.operators.joins.reference import (
    COLUMNS,
    LEFT,
    LEFT_ROW,
    ON,
    RIGHT,
    RIGHT_ROW,
    Row,
    as_columns,
    equal,
    feed,
    kept,
    messages,
)
from tokenring.engine import GraphError, OperatorError, Schema, SchemaError, Stream
from tokenring.operators import Tumbling, enrich, interval_join, join, temporal_join
from tokenring.operators.joins.kept.side import Side
from tokenring.operators.joins.kept.versions import Version, add_versions, find_versions
from tokenring.operators.state import LEAST

OURS = COLUMNS | {"code": "left.key"}
A, B = Schema("at k a"), Schema("since k b", name="string")


def found(left: Row, seen: list[Row], how: str) -> list[Row]:
    """The result of a row that sees these versions, the valid one last."""
    if seen:
        return [(left[0], left[1], left[2], left[3], seen[-1][0], seen[-1][3])]
    return [(left[0], left[1], left[2], left[3], None, None)] if how == "left" else []


@settings(max_examples=examples(40))
@given(
    sent=messages(),
    size=st.integers(1, 12),
    workers=st.integers(1, 2),
    lag=st.sampled_from([0, 5]),
    how=st.sampled_from(["inner", "left"]),
)
def test_like_a_search(sent: list[tuple[int, Row]], size: int, workers: int, lag: int, how: str) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        return temporal_join(left, right, on=ON, time="at", version_time="at", columns=OURS, how=how)

    lefts, rights = ([row for side, row in sent if side == at] for at in (0, 1))
    rights.sort(key=lambda row: row[0])
    with bench([LEFT, RIGHT], declare, workers, queue_bytes=1 << 16) as made:
        feed(made, sent, size, workers, lag)
        made.close()
        expected = [
            row
            for left in lefts
            for row in found(left, [one for one in rights if equal(left, one) and one[0] <= left[0]], how)
        ]
        assert all(row[1] <= row[2] for row in made.rows), "a message's time is a lower bound of its rows' own"
        assert sorted([row[2:] for row in made.rows], key=repr) == sorted(expected, key=repr)


@settings(max_examples=examples(40))
@given(
    rows=st.lists(st.tuples(st.integers(0, 9), LEFT_ROW), max_size=15),
    changes=st.lists(st.tuples(st.integers(0, 9), RIGHT_ROW), max_size=15),
    table_first=st.booleans(),
    workers=st.integers(1, 2),
    how=st.sampled_from(["inner", "left"]),
)
def test_enrich_sees_what_is_known_up_to_a_rows_time(
    rows: list[tuple[int, Row]], changes: list[tuple[int, Row]], table_first: bool, workers: int, how: str
) -> None:
    rows.sort(key=lambda one: one[0])
    changes.sort(key=lambda one: one[0])

    def declare(left: Stream, right: Stream) -> Stream:
        return enrich(left, right, on=ON, columns=OURS, how=how)

    with bench([LEFT, RIGHT], declare, workers, queue_bytes=1 << 16) as made:
        sent = [(time, table_first, 1, row) for time, row in changes]
        sent += [(time, not table_first, 0, row) for time, row in rows]
        for number, (time, _, side, row) in enumerate(sorted(sent, key=lambda one: one[:2])):
            for inputs in made.inputs:
                inputs[side].advance_to(time)
            made.send(as_columns((LEFT, RIGHT)[side], [row]), worker=number % workers if side == 0 else 0, to=side)
            if number % 3:
                made.settle()
        made.close()
        expected = [
            (time, *row)
            for time, left in rows
            for row in found(left, [one for then, one in changes if then <= time and equal(left, one)], how)
        ]
        assert sorted([row[1:] for row in made.rows], key=repr) == sorted(expected, key=repr)


def declare(left: Stream, right: Stream, **more: Any) -> Any:
    return temporal_join(left, right, on="k", time="at", version_time="since", columns="at k a b name", **more)


def test_of_one_message_the_rows_that_are_certain_are_answered_at_once() -> None:
    with bench([A, B], declare, 2, queue_bytes=1 << 16) as made:
        made.send({"since": [1], "k": [7], "b": [1], "name": ["first"]}, to=1, time=1)
        for inputs in made.inputs:
            inputs[1].advance_to(5)
        made.settle()
        made.send({"at": [6, 3, 8], "k": [7, 7, 7], "a": [20, 10, 30]}, time=3)
        made.settle()
        assert made.sent() == [(3, 3, 7, 10, 1, "first")]
        made.close()
        assert made.sent() == [(6, 6, 7, 20, 1, "first"), (6, 8, 7, 30, 1, "first")]


def test_rows_wait_for_versions_and_old_versions_go() -> None:
    with bench([A, B], declare, 2, queue_bytes=1 << 16) as made:
        made.send({"since": [1], "k": [7], "b": [1], "name": ["first"]}, to=1, time=1)
        made.send({"at": [3, 6], "k": [7, 7], "a": [10, 20]}, time=3)
        made.settle()
        assert made.sent() == []
        for inputs in made.inputs:
            inputs[1].advance_to(5)
        made.settle()
        assert made.sent() == [(3, 3, 7, 10, 1, "first")]
        made.send({"since": [6, 5], "k": [7, 7], "b": [3, 2], "name": ["third", "second"]}, to=1, worker=1)
        made.settle()
        assert made.sent() == []
        assert kept(made, "temporal_join") == (1, 3)
        made.advance(9)
        assert made.sent() == [(6, 6, 7, 20, 3, "third")]
        for at in range(9, 40):
            made.send({"since": [at], "k": [7], "b": [at], "name": [f"at {at}"]}, to=1)
            made.send({"at": [at], "k": [7], "a": [at]}, worker=1)
            made.advance(at + 1)
            assert made.sent() == [(at, at, 7, at, at, f"at {at}")]
            assert kept(made, "temporal_join")[1] <= 2
        made.close()


def test_late_rows_and_versions() -> None:
    late: list[Any] = []

    def with_late(left: Stream, right: Stream) -> Stream:
        results, *others = declare(left, right, late=True)
        for stream, column in zip(others, ("at", "since"), strict=True):
            assert stream.schema == (A if column == "at" else B)
            stream.sink(f"late {column}", lambda _, column=column: lambda port: late.extend(
                [(column, *batch[column].tolist()) for _, batch in port]))  # fmt: skip
        return results  # type: ignore[no-any-return]

    with bench([A, B], with_late, queue_bytes=1 << 16) as made:
        made.send({"since": [4, 3], "k": [1, 1], "b": [1, 2], "name": ["x", "y"]}, to=1, time=4)
        made.send({"at": [5, 4], "k": [1, 1], "a": [1, 2]}, time=5)
        made.close()
        assert made.sent() == [(5, 5, 1, 1, 1, "x")]
        assert sorted(late) == [("at", 4), ("since", 3)]
    with bench([A, B], declare, queue_bytes=1 << 16) as made:
        made.send({"since": [3], "k": [1], "b": [1], "name": ["x"]}, to=1, time=4)
        with raises(OperatorError, "operator 'temporal_join'", "worker 0", "time 4", "at 3", "late=True"):
            made.settle()


@pytest.mark.parametrize("unique", ["left", "right", "neither"])
def test_keys_are_not_said_to_come_once(unique: str) -> None:
    def refused(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, "operator 'rates'", "unique=", "join and interval_join"):
            temporal_join(  # type: ignore[call-overload]
                left, right, on="k", time="at", version_time="since", unique=unique, name="rates"
            )
        return left

    with bench([A, B], refused):
        pass


@pytest.mark.parametrize("swapped", [False, True])
def test_instants_and_bare_numbers_are_not_compared(swapped: bool) -> None:
    """By no join that goes by rows' own times."""
    mine, theirs = ("since", "at") if swapped else ("at", "since")
    upper: Any = 1 if swapped else "1s"

    def refused(*sides: Stream) -> Stream:
        left, right = sides[::-1] if swapped else sides
        declared: list[Callable[[], Any]] = [
            lambda: temporal_join(left, right, on="k", time=mine, version_time=theirs, name="j"),
            lambda: interval_join(left, right, on="k", left_time=mine, right_time=theirs, upper=upper, name="j"),
            lambda: join(left, right, on="k", window=Tumbling(mine, upper), right_time=theirs, name="j"),
        ]
        said = ("operator 'j'", "'at' for ", "'since' for ", "since=col('since').cast(\"timestamp\")")
        for declare in declared:
            with raises(SchemaError, *said):
                declare()
        both = sides[0]
        with raises(SchemaError, "'last' of the left side for upper= is int64", "last=col('last').cast"):
            interval_join(both, both, on="k", left_time="at", right_time="at", upper="last")
        return left

    with bench([Schema(k="int64", at="timestamp", last="int64"), Schema(k="int64", since="int64")], refused):
        pass


def test_not_in_loops() -> None:
    def refused(left: Stream, right: Stream) -> Stream:
        with left.scope.loop("loop") as loop, raises(GraphError, "operator 'enrich'", "loop 'loop'", "leave"):
            enrich(loop.enter(left), loop.enter(right), on="k", columns="a b")
        return left

    with bench([A, B], refused):
        pass


@given(st.integers(0, 10_000), st.sampled_from([1, 3, 50, 10_000]))
def test_versions_come_in_any_order_and_go_behind_a_horizon(seed: int, spread: int) -> None:
    """Kernels' chains of one key against a sorted list."""
    rng, side, horizon = np.random.default_rng(seed), Side(None, False, Version.size), 0
    model: list[tuple[int, int]] = []  # (time, place), of equal times the last to come behind the others
    for _ in range(12):
        times = horizon + np.sort(rng.integers(0, spread, 40))
        times[rng.random(40) < 0.2] = horizon + rng.integers(-spread, spread)
        side.reserve(len(times))
        heads, links, free, meta, _ = side.tables
        slots, places = np.zeros(40, np.int64), np.empty(40, np.int64)
        add_versions(heads, links, free, meta, slots, times, horizon, horizon, places)
        for time, place in zip(times.tolist(), places.tolist(), strict=True):
            model.insert(bisect_right(model, time, key=itemgetter(0)), (time, place))
        model = model[max(bisect_right(model, horizon, key=itemgetter(0)) - 1, 0) :]
        assert len(side) == len(model)
        asked = horizon + rng.integers(0, spread + 1, 40)
        find_versions(heads, links, slots, asked, places)
        before = [bisect_right(model, time, key=itemgetter(0)) - 1 for time in asked.tolist()]
        assert places.tolist() == [-1 if at < 0 else model[at][1] for at in before]
        horizon += int(rng.integers(0, spread))


def test_a_version_among_many_is_found_in_few_steps() -> None:
    count = 5000
    side, times, places = Side(None, False, Version.size), np.arange(count), np.empty(count, np.int64)
    side.reserve(count)
    heads, links, free, meta, _ = side.tables
    add_versions(heads, links, free, meta, np.zeros(count, np.int64), times, LEAST, LEAST, places)
    versions = Version.of_table(links)
    for time in range(0, count, 7):
        at, steps = int(heads[0]) - 1, 0
        while versions[at]["time"] > time:
            at, steps = int(versions[at]["jump" if versions[at]["jump_time"] > time else "next"]), steps + 1
        assert versions[at]["time"] == time
        assert steps < 3 * count.bit_length()
