"""Ways to join: inner, left, right, full, semi and anti, at any times, by window and within bounds, as DuckDB does."""

from __future__ import annotations

from typing import Any

import duckdb
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tests.operators.joins.reference import LEFT, ON, RIGHT, Row, feed, kept, messages
from tokenring.engine import OperatorError, Schema, SchemaError, Stream
from tokenring.operators import Sliding, Tumbling, interval_join, join

HOWS = ["inner", "left", "right", "full", "semi", "anti"]
BOTH = {"at": "left.at", "key": "key", "n": "n", "name": "name", "then": "right.at", "text": "text"}
ONE = {"at": "at", "key": "key", "n": "n", "name": "name"}
A, B = Schema("k a"), Schema("k b")


def columns(how: str) -> dict[str, str]:
    return {name: f"left.{name}" for name in ONE} if how in ("semi", "anti") else BOTH


def windows(window: Any, at: int) -> list[tuple[int, int]]:
    if window is None:
        return [(0, 0)]
    every = getattr(window, "every", window.width)
    starts = range(-20 * every + window.offset, at + 1, every)
    return [(start, start + window.width) for start in starts if at < start + window.width]


def oracle(sent: list[tuple[int, Row]], how: str, window: Any = None, where: str = "true") -> list[Row]:
    tables = []
    for at, schema in enumerate((LEFT, RIGHT)):
        rows = [(*row, *each) for side, row in sent if side == at for each in windows(window, row[0])]
        whole = Schema.of(schema.spec() | {"s": "int64", "e": "int64"})
        arrays = {name: [row[number] for row in rows] for number, name in enumerate(whole.names)}
        tables.append(pa.table(arrays, pa.schema([(field.name, field.type) for field in whole.to_arrow()])))
    span = (
        ""
        if window is None
        else "l.s, l.e, "
        if how in ("semi", "anti")
        else "coalesce(l.s, r.s), coalesce(l.e, r.e), "
    )
    both = "l.at, coalesce(l.key, r.code), coalesce(l.n, r.n), l.name, r.at, r.text"
    chosen = "l.at, l.key, l.n, l.name" if how in ("semi", "anti") else both
    with duckdb.connect() as connection:
        connection.register("lefts", tables[0])
        connection.register("rights", tables[1])
        connection.execute("set threads = 1")
        found = connection.execute(
            f"select {span}{chosen} from lefts l {how} join rights r "
            f"on l.key = r.code and l.n = r.n and l.s = r.s and l.e = r.e and {where}"
        ).fetchall()
    return sorted(found, key=repr)


@settings(max_examples=examples(40))
@given(
    sent=messages(),
    size=st.integers(1, 12),
    workers=st.integers(1, 3),
    how=st.sampled_from(HOWS),
    first=st.sampled_from([None, 0, 1]),
)
def test_at_any_times(sent: list[tuple[int, Row]], size: int, workers: int, how: str, first: int | None) -> None:
    """Also where one side is finished before the other."""
    with bench(
        [LEFT, RIGHT],
        lambda left, right: join(left, right, on=ON, columns=columns(how), how=how),
        workers,
        queue_bytes=1 << 16,
    ) as made:
        if first is None:
            feed(made, sent, size, workers, 0)
        else:
            for side in (first, 1 - first):
                feed(made, [each for each in sent if each[0] == side], size, workers, 0)
                for inputs in made.inputs:
                    inputs[side].close()
                made.settle()
        made.close()
        assert sorted([row[2:] for row in made.rows], key=repr) == oracle(sent, how)
        if how in ("left", "anti"):
            assert all(row[1] <= row[2] for row in made.rows if how == "anti" or row[6] is None)


@settings(max_examples=examples(40))
@given(
    sent=messages(),
    size=st.integers(1, 12),
    workers=st.integers(1, 2),
    lag=st.sampled_from([0, 5]),
    window=st.sampled_from([Tumbling("at", 10), Sliding("at", 10, 4, 1)]),
    how=st.sampled_from(HOWS),
)
def test_by_window(sent: list[tuple[int, Row]], size: int, workers: int, lag: int, window: Any, how: str) -> None:
    with bench(
        [LEFT, RIGHT],
        lambda left, right: join(left, right, on=ON, columns=columns(how), window=window, how=how),
        workers,
        queue_bytes=1 << 16,
    ) as made:
        feed(made, sent, size, workers, lag)
        made.advance(60)
        assert kept(made, "join") == (0, 0)
        assert sorted([row[2:] for row in made.rows], key=repr) == oracle(sent, how, window)
        made.close()


@settings(max_examples=examples(40))
@given(
    sent=messages(),
    size=st.integers(1, 12),
    workers=st.integers(1, 2),
    lag=st.sampled_from([0, 5]),
    bounds=st.sampled_from([(0, 5), (-4, 4), (-9, -3), (2, 2)]),
    how=st.sampled_from(HOWS),
)
def test_within_bounds(
    sent: list[tuple[int, Row]], size: int, workers: int, lag: int, bounds: tuple[int, int], how: str
) -> None:
    def declare(left: Stream, right: Stream) -> Any:
        more = {"lower": bounds[0], "upper": bounds[1], "columns": columns(how), "how": how}
        return interval_join(left, right, on=ON, left_time="at", right_time="at", **more)

    with bench([LEFT, RIGHT], declare, workers, queue_bytes=1 << 16) as made:
        feed(made, sent, size, workers, lag)
        made.advance(80)
        assert kept(made, "interval_join") == (0, 0)
        where = f"l.at + {bounds[0]} <= r.at and r.at <= l.at + {bounds[1]}"
        assert sorted([row[2:] for row in made.rows], key=repr) == oracle(sent, how, None, where)
        made.close()


@pytest.mark.parametrize("how", ["left", "right", "full"])
@pytest.mark.parametrize("unique", ["left", "right"])
@pytest.mark.parametrize("first", [0, 1])
def test_beside_a_side_that_is_unique(how: str, unique: str, first: int) -> None:
    with bench([A, B], lambda left, right: join(left, right, on="k", how=how, unique=unique), 2) as made:
        rows: Any = [{"k": [1, 2, 2], "a": [10, 20, 21]}, {"k": [2, 2, 3], "b": [5, 6, 7]}]
        only = ("left", "right").index(unique)
        rows[only] = {name: values[1:] if only == 0 else values[::2] for name, values in rows[only].items()}
        rows[only]["k"] = [2, 9]
        for side in (first, 1 - first):
            made.send(rows[side], to=side)
            made.settle()
        made.send({"k": [9], "ab"[1 - only]: [8]}, to=1 - only, time=3)
        for side in (first, 1 - first):
            for inputs in made.inputs:
                inputs[side].close()
            made.settle()
        made.close()
        tables = [pa.table(each) for each in rows]
        tables[1 - only] = pa.concat_tables([tables[1 - only], pa.table({"k": [9], "ab"[1 - only]: [8]})])
        with duckdb.connect() as connection:
            connection.register("lefts", tables[0])
            connection.register("rights", tables[1])
            wanted = connection.execute(f"select k, a, b from lefts {how} join rights using (k)").fetchall()
        assert sorted([row[2:] for row in made.rows], key=repr) == sorted(wanted, key=repr)


def test_a_second_row_of_a_unique_side_is_told_after_the_other_has_finished() -> None:
    with bench([A, B], lambda left, right: join(left, right, on="k", how="left", unique="left")) as made:
        made.send({"k": [1], "a": [10]})
        made.inputs[0][1].close()
        made.settle()
        assert made.sent() == [(0, 1, 10, None)]
        made.send({"k": [1], "a": [11]})
        with raises(OperatorError, "operator 'join'", "left side", "second row with k=1", "unique"):
            made.settle()


def test_a_row_that_matches_nothing_is_sent_at_its_own_time_and_what_follows_waits_for_it() -> None:
    def declare(left: Stream, right: Stream) -> Any:
        return join(left, right, on="k", how="anti", columns="k a")

    with bench([A, B], declare) as made:
        made.send({"k": [1, 2], "a": [10, 20]}, time=3)
        made.send({"k": [3], "a": [30]}, time=4)
        made.send({"k": [2, 2], "b": [0, 0]}, to=1, time=9)
        made.settle()
        assert made.sent() == [] and kept(made, "join") == (2, 1)
        made.inputs[0][1].close()
        made.settle()
        assert made.sent() == [(3, 1, 10), (4, 3, 30)] and kept(made, "join")[0] == 0
        made.send({"k": [2, 4], "a": [21, 40]}, time=5)
        made.settle()
        assert made.sent() == [(5, 4, 40)] and kept(made, "join")[0] == 0
        made.close()


@pytest.mark.parametrize("meeting", ["kept", "at once"])
def test_what_waits_after_all_that_waited_has_matched_is_waited_for_at_its_own_time(meeting: str) -> None:
    """The token was dropped when nothing was left that could be sent alone: there is no going back to that time."""
    with bench([A, B], lambda left, right: join(left, right, on="k", how="left", unique="right")) as made:
        sides = (0, 1) if meeting == "kept" else (1, 0)
        for side in sides:
            made.send({"k": [1], "ab"[side]: [10]}, to=side)
            made.settle()
        made.send({"k": [2], "a": [20]}, time=3)
        made.settle()
        assert made.sent() == [(0, 1, 10, 10)] and kept(made, "join") == (1, 1)
        made.close()
        assert made.sent() == [(3, 2, 20, None)]


def test_a_row_is_sent_once_at_its_first_match_and_not_kept() -> None:
    with bench([A, B], lambda left, right: join(left, right, on="k", how="semi"), 2) as made:
        made.send({"k": [1, 1, 2], "a": [10, 11, 20]}, time=3)
        made.send({"k": [1, 1, 1], "b": [0, 1, 2]}, to=1, time=9)
        made.settle()
        assert made.sent() == [(9, 1, 10), (9, 1, 11)] and kept(made, "join") == (1, 1)
        made.send({"k": [1], "b": [0]}, to=1, worker=1, time=2)
        made.settle()
        made.send({"k": [1], "a": [12]})
        made.settle()
        assert made.sent() == [(3, 1, 12)] and kept(made, "join") == (1, 1)
        made.close()
        assert made.sent() == []


def test_many_rows_that_match_nothing() -> None:
    """More than are sent at a time."""
    many = 40_000
    with bench([A, B], lambda left, right: join(left, right, on="k", how="full"), queue_bytes=1 << 20) as made:
        made.send({"k": range(many), "a": range(many)})
        made.send({"k": range(many - 1, 2 * many), "b": range(many + 1)}, to=1)
        made.close()
        assert sorted(made.rows)[:2] == [(0, 0, 0, 0, None), (0, 0, 1, 1, None)]
        assert {row[2] for row in made.rows} == set(range(2 * many)) and len(made.rows) == 2 * many


def test_keys_of_different_names() -> None:
    sides = [Schema("id a", city="string?"), Schema("number b", town="string?")]

    def declare(left: Stream, right: Stream) -> Any:
        joined = join(left, right, left_on=("id", "city"), right_on=("number", "town"), how="full")
        assert joined.schema.names == ("id", "a", "city", "b")
        assert [str(kind) for kind in joined.schema.kinds] == ["int64", "int64?", "string?", "int64?"]
        return join(left, right, left_on="id city", right_on="number town", how="full")

    with bench(sides, declare) as made:
        made.send({"id": [1, 2, 3], "a": [10, 20, 30], "city": ["Oslo", "Bern", None]})
        made.send({"number": [1, 2, 3], "b": [5, 6, 7], "town": ["Oslo", "Rome", None]}, to=1)
        made.close()
        wanted = [
            *[(0, 1, 10, "Oslo", 5), (0, 2, 20, "Bern", None), (0, 2, None, "Rome", 6)],
            *[(0, 3, 30, None, None), (0, 3, None, None, 7)],
        ]
        assert sorted([row[1:] for row in made.rows], key=repr) == sorted(wanted, key=repr)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            {"on": "k", "how": "ful"},
            ("'inner', 'left', 'right', 'full', 'semi' or 'anti'", "not 'ful'", "did you mean 'full'"),
        ),
        (
            {"on": "k", "how": "semi", "columns": "a b"},
            ("'b'", "right side", "left side alone", "k, a"),
        ),
        ({"on": "k", "how": "anti", "unique": "right"}, ("how='anti'", "unique=")),
        ({"on": "k", "how": "semi", "unique": "left"}, ("how='semi'", "each row of the left side once", "unique=")),
        ({"on": "k", "left_on": "k"}, ("on=", "left_on=", "right_on=", "not both")),
        ({"left_on": "k"}, ("nothing to join on", "on=", "left_on=", "right_on=")),
        ({"left_on": "k a", "right_on": "k"}, ("left_on=", "2 columns (k, a)", "right_on= 1 (k)")),
        ({"left_on": "k k", "right_on": "k b"}, ("left_on=", "'k' twice", "filter")),
        ({"left_on": "kk", "right_on": "k"}, ("column 'kk' of the left side", "did you mean 'k'")),
    ],
)
def test_mistakes(arguments: dict[str, Any], says: Fact) -> None:
    def refused(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, says):
            join(left, right, **arguments)
        return left

    with bench([A, B], refused):
        pass
