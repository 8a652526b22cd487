"""Sides that are unique, and filters said of a side: as filters before the join, whatever comes first; and no more is
kept than is asked for."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tests.operators.joins.reference import kept
from tests.operators.joins.test_compiled import HOWS, SENT, Sent, sent_by
from tokenring.engine import OperatorError, Schema, SchemaError, Stream
from tokenring.operators import Tumbling, col, interval_join, join

CONDITIONS = {None: (None, None), "some": (col("a") > 3, col("mark").is_null()), "null": (col("flag"), col("mark"))}
WANTED: dict[Any, tuple[Any, Any]] = {
    None: (lambda row: True, lambda row: True),
    "some": (lambda row: row[4] > 3, lambda row: row[3] is None),
    "null": (lambda row: row[3] is True, lambda row: row[3] is True),
}
A, B = Schema("at k a"), Schema("at k b")


def distinct(sent: Sent, side: int | None) -> Sent:
    """One row of each key of that side; of no key any number."""
    once: dict[Any, Any] = {}
    for at, (of, row) in enumerate(sent):
        once.setdefault(row[1] if of == side and row[1] is not None else (at,), (of, row))
    return list(once.values())


def reference(sent: Sent, how: str, wheres: tuple[Any, Any], bounds: tuple[int, int] | None) -> list[Any]:
    lefts, rights = ([row for side, row in sent if side == at and WANTED[wheres[at]][at](row)] for at in (0, 1))

    def match(left: Any, right: Any) -> bool:
        within = bounds is None or bounds[0] <= right[0] - left[0] <= bounds[1]
        return left[1] is not None and left[1] == right[1] and within

    found: list[Any] = []
    if how in ("semi", "anti"):
        found = [row for row in lefts if any(match(row, right) for right in rights) == (how == "semi")]
        return sorted([(row[0], row[1], row[4]) for row in found], key=repr)
    pairs = [(left, right) for left in lefts for right in rights if match(left, right)]
    found = [(left[0], left[1], left[4], right[0], right[3]) for left, right in pairs]
    if how in ("left", "full"):
        alone = [row for row in lefts if not any(match(row, right) for right in rights)]
        found += [(row[0], row[1], row[4], None, None) for row in alone]
    if how in ("right", "full"):
        alone = [row for row in rights if not any(match(left, row) for left in lefts)]
        found += [(None, row[1], None, row[0], row[3]) for row in alone]
    return sorted(found, key=repr)


def chosen(how: str, left: Stream) -> dict[str, str]:
    """`key` is in the result by its own name, so that it is the right side's in rows of that side alone."""
    columns = {"at": "left.at", "key": "key", "a": "a"}
    columns |= {} if how in ("semi", "anti") else {"then": "right.at", "mark": "mark"}
    return columns | ({"text": "left.text"} if "text" in left.schema.names else {})


def rows_of(seen: list[Any], how: str) -> list[Any]:
    """The rows sent, without worker and time before them, and the text behind them."""
    end = 5 if how in ("semi", "anti") else 7
    return sorted([tuple(row[2:end]) for row in seen], key=repr)


@settings(max_examples=examples(80))
@given(
    sent=SENT,
    size=st.integers(1, 12),
    workers=st.integers(1, 3),
    how=st.sampled_from(HOWS),
    unique=st.sampled_from([None, 0, 1]),
    wheres=st.tuples(st.sampled_from(list(WANTED)), st.sampled_from(list(WANTED))),
    first=st.sampled_from([None, None, 0, 1]),
    bursts=st.booleans(),
)
def test_at_any_times(
    sent: Sent, size: int, workers: int, how: str, unique: int | None, wheres: Any, first: int | None, bursts: bool
) -> None:
    unique = None if how in ("semi", "anti") else unique
    sent = distinct(sent, unique)

    def declare(left: Stream, right: Stream) -> Stream:
        return join(
            left, right, on={"key": "code"}, columns=chosen(how, left), how=how, name="joined",
            unique=None if unique is None else ("left", "right")[unique],
            left_where=CONDITIONS[wheres[0]][0], right_where=CONDITIONS[wheres[1]][1],
        )  # fmt: skip

    made = sent_by(declare, sent, size, workers, first, bursts, bursts)
    assert rows_of(made, how) == reference(sent, how, wheres, None)


@settings(max_examples=examples(80))
@given(
    sent=SENT,
    size=st.integers(1, 12),
    workers=st.integers(1, 3),
    how=st.sampled_from(HOWS),
    bounds=st.sampled_from([(0, 5), (-4, 4), (-9, -3), (2, 2), (-40, 40)]),
    unique=st.sampled_from([None, 0, 1]),
    wheres=st.tuples(st.sampled_from(list(WANTED)), st.sampled_from(list(WANTED))),
    first=st.sampled_from([None, None, 0, 1]),
    bursts=st.booleans(),
)
def test_within_bounds(
    sent: Sent, size: int, workers: int, how: str, bounds: Any, unique: int | None, wheres: Any, first: int | None,
    bursts: bool,
) -> None:  # fmt: skip
    unique = None if how in ("semi", "anti") else unique
    sent = distinct(sent, unique)

    def declare(left: Stream, right: Stream) -> Stream:
        return interval_join(
            left, right, on={"key": "code"}, columns=chosen(how, left), how=how, name="joined",
            left_time="at", right_time="at", lower=bounds[0], upper=bounds[1],
            unique=None if unique is None else ("left", "right")[unique],
            left_where=CONDITIONS[wheres[0]][0], right_where=CONDITIONS[wheres[1]][1],
        )  # fmt: skip

    made = sent_by(declare, sent, size, workers, first, True, bursts)
    assert rows_of(made, how) == reference(sent, how, wheres, bounds)


@pytest.mark.parametrize("kind", ["by window", "within bounds"])
@pytest.mark.parametrize("text", [(), ("text",)])
def test_a_row_that_has_a_match_is_sent_once_whatever_matches_it_later(kind: str, text: tuple[str, ...]) -> None:
    a = Schema.of({"at": "int64", "k": "int64", "a": "int64"} | dict.fromkeys(text, "string"))
    more: dict[str, Any] = {name: ["x"] for name in text}

    def declare(left: Stream, right: Stream) -> Stream:
        if kind == "by window":
            return join(left, right, on="k", how="semi", window=Tumbling("at", 10), name="joined")
        return interval_join(left, right, on="k", left_time="at", right_time="at", upper=5, how="semi", name="joined")

    with bench([a, B], declare) as made:
        for at in range(3):
            made.send({"at": [at], "k": [1], "b": [at]}, to=1)
            made.send({"at": [0], "k": [1], "a": [at]} | more)
            made.settle()
        assert len(made.rows) == 3 and kept(made, "joined")[0] == 0


@pytest.mark.parametrize("text", [(), ("text",)])
def test_a_row_goes_when_its_only_match_is_not_wanted(text: tuple[str, ...]) -> None:
    a, b = Schema("k a"), Schema.of({"k": "int64", "b": "int64"} | dict.fromkeys(text, "string"))

    def declare(left: Stream, right: Stream) -> Stream:
        return join(left, right, on="k", unique="right", right_where=col("b") == 7)

    with bench([a, b], declare) as made:
        more = {name: ["x", "y", "z"] for name in text}
        made.send({"k": [1, 2, 3], "a": [10, 20, 30]})
        made.send({"k": [1, 2, 4], "b": [7, 8, 8]} | more, to=1)
        made.settle()
        assert kept(made, "join") == (1, 1), "one that waits, one that is wanted"
        made.send({"k": [1, 2, 4, 5], "a": [11, 21, 41, 51]})
        made.settle()
        assert kept(made, "join") == (2, 1) and [row[2:4] for row in made.rows] == [(1, 10), (1, 11)]
        made.send({"k": [2], "b": [7]} | {name: ["x"] for name in text}, to=1)
        with raises(OperatorError, "operator 'join'", "right side", "second row with k=2", "unique"):
            made.settle()


@pytest.mark.parametrize("text", [(), ("text",)])
def test_within_bounds_only_what_still_can_match_is_kept(text: tuple[str, ...]) -> None:
    a, b = Schema.of({"at": "int64", "k": "int64"} | dict.fromkeys(text, "string")), Schema("at k b")

    def declare(left: Stream, right: Stream) -> Stream:
        return interval_join(
            left, right, on="k", left_time="at", right_time="at", upper=10, unique="left", columns=("right.b", *text)
        )

    with bench([a, b], declare) as made:
        made.send({"at": [0, 2], "k": [1, 2]} | {name: ["x", "y"] for name in text})
        made.send({"at": [3, 15, 3, 4], "k": [1, 1, 3, 2], "b": [5, 6, 7, 8]}, to=1)
        made.settle()
        assert kept(made, "interval_join") == (2, 1) and [row[2] for row in made.rows] == [5, 8]
        made.send({"at": [3], "k": [3]} | {name: ["z"] for name in text})
        made.settle()
        assert [row[2] for row in made.rows] == [5, 8, 7]
        made.advance(30)
        assert kept(made, "interval_join") == (0, 0)
        made.send({"at": [30], "k": [1]} | {name: ["z"] for name in text}, time=30)  # the first has gone
        made.send({"at": [31], "k": [1]} | {name: ["z"] for name in text}, time=30)
        with raises(OperatorError, "operator 'interval_join'", "left side", "second row with k=1", "unique"):
            made.settle()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            {"right_where": col("b") + 1, "unique": "right"},
            ("operator 'join'", "right_where=(b + 1)", "int64, not bool", "compare"),
        ),
        ({"left_where": col("a") + 1}, ("operator 'join.left_where'", "(a + 1)", "int64, not bool", "compare")),
        ({"left_where": col("b") > 1}, ("operator 'join.left_where'", "column 'b'", "at, k, a")),
        ({"unique": "both"}, ("unique", "'left', 'right' or None", "not 'both'")),
        ({"unique": "left", "how": "semi"}, ("how='semi'", "unique=")),
        ({"unique": "left", "window": Tumbling("at", 5)}, ("unique=", "without a window")),
    ],
)
def test_mistakes(arguments: dict[str, Any], says: Fact) -> None:
    def refused(left: Stream, right: Stream) -> Stream:
        with raises(SchemaError, says):
            join(left, right, on="k", columns="k", **arguments)
        return join(left, right, on="k", columns="k")

    with bench([A, B], refused):
        pass
