"""Running aggregates and first rows of keys answer the same wherever their keys are, in Python and compiled."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tests.operators.migrate import runs
from tests.operators.migrate.two_benches import BINS, with_moves, without_moves
from tokenring.engine import Schema, Stream
from tokenring.operators import Count, CountDistinct, First, Last, Max, Mean, Min, Sum, aggregate, col, distinct

SCHEMA = Schema.of(
    {"at": "int64", "key": "int64", "name": "string?", "side": "bool", "value": "int64?", "share": "float64?"}
)
ROW = st.tuples(
    st.integers(0, 30),
    st.integers(-2, 12),
    st.sampled_from([None, "", "a", "Zoë", "more than one word", "more than One word", "x" * 900]),
    st.booleans(),
    st.one_of(st.none(), st.integers(-5, 5), st.sampled_from([2**40, -(2**40)])),
    st.sampled_from([None, 0.5, -1.25, float("nan"), 0.1]),
)
MESSAGES = st.lists(st.lists(ROW, max_size=12), min_size=1, max_size=6)
Make = Callable[[Stream], Stream]
ALL = {
    "n": Count(),
    "present": Count("value"),
    "total": Sum("value", where=col("side")),
    "shares": Sum("share"),
    "mean": Mean("share"),
    "low": Min("value"),
    "top_share": Max("share"),
    "first": First("value"),
    "last": Last("share", where=col("side")),
    "newest": Last("value", order="at"),
    "values": CountDistinct("value"),
    "sided": CountDistinct("value", where=col("side")),
    "ats": CountDistinct("at"),
}
MANY = {f"n{at}": CountDistinct("at", where=col("value") > at) for at in range(-6, 5)}
TEXTS = {"n": Count(), "texts": CountDistinct("name"), "first": First("name"), "last": Last("name", order="at")}


def _by(key: str, **more: Any) -> Make:
    return lambda rows: aggregate(rows, key, **more)


OPERATORS: dict[str, tuple[Make, tuple[str, ...]]] = {
    "by number": (_by("key", **ALL), ("key",)),
    "each": (_by("key", emit="each", **ALL), ("key",)),
    "combined": (_by("key", n=Count(), low=Min("value"), total=Sum("value")), ("key",)),
    "by text": (_by("name", at=Max("at"), n=Count(), ats=CountDistinct("at")), ("name",)),
    "by text and number": (_by("name key", **ALL), ("name", "key")),
    "by several": (_by("key side", **ALL), ("key", "side")),
    "by a float": (_by("share", n=Count()), ("share",)),
    "many sets": (_by("key", **MANY), ("key",)),
    "texts": (_by("key", **TEXTS), ("key",)),
    "firsts": (lambda rows: distinct(rows, "key side"), ("key", "side")),
    "first texts": (lambda rows: distinct(rows, "name"), ("name",)),
}


@settings(max_examples=examples(8))
@given(messages=MESSAGES, data=st.data())
@pytest.mark.parametrize("name", sorted(OPERATORS))
def test_answers_stay_the_same(name: str, messages: list[Any], data: st.DataObject) -> None:
    make, key = OPERATORS[name]
    bins = st.lists(st.booleans(), min_size=BINS.count, max_size=BINS.count)
    owners = [data.draw(bins) for _ in messages]
    assert with_moves(SCHEMA, make, key, messages, owners) == without_moves(SCHEMA, make, messages)


def _all_rows(rows: Stream) -> Stream:
    return aggregate(rows, n=Count(), total=Sum("value"), newest=Last("value", order="at"))


@settings(max_examples=examples(10))
@given(
    messages=MESSAGES,
    changes=st.lists(st.tuples(st.integers(0, 7), st.integers(0, runs.BINS - 1), st.integers(0, 1)), max_size=12),
    steps=st.lists(st.integers(0, 2), max_size=9),
    name=st.sampled_from(sorted(OPERATORS)),
)
def test_runs_stay_the_same(name: str, messages: list[Any], changes: Any, steps: list[int]) -> None:
    make, _ = OPERATORS[name]
    without = runs.run(SCHEMA, make, messages, 1)
    assert runs.run(SCHEMA, make, messages, 2, changes, steps, from_all=False) == without


@settings(max_examples=examples(5))
@given(messages=MESSAGES, worker=st.integers(0, 1))
def test_the_group_of_all_rows(messages: list[Any], worker: int) -> None:
    changes = [(time, number, (worker + time) % 2) for time in range(4) for number in range(runs.BINS)]
    without = runs.run(SCHEMA, _all_rows, messages, 1)
    assert runs.run(SCHEMA, _all_rows, messages, 2, changes, from_all=False) == without
