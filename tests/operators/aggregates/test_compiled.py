"""Aggregates in the worker's inner loop send, message by message, what Python's logic sends over the same rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, simulated
from tests.long_form import examples
from tests.operators.helpers import bench, no_text_space
from tokenring.engine import OperatorError, Schema, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    count,
    distinct,
    last_by,
    select,
    top,
)
from tokenring.operators.folds.functions import Aggregate

WORDS = {"at": "int64", "side": "bool", "value": "int64?", "share": "float64?", "wide": "uint64", "plain": "int64"}
ROW = st.tuples(
    st.integers(0, 60),
    st.booleans(),
    st.one_of(st.none(), st.integers(-50, 50)),
    st.sampled_from([None, 0.5, -1.25, float("nan")]),
    st.sampled_from([0, 7, 2**63 + 1]),
    st.integers(-3, 3),
)


def _aggregates() -> dict[str, Aggregate]:
    return {
        "n": Count(),
        "present": Count("value"),
        "total": Sum("value"),
        "sided": Sum("value", where=col("side")),
        "shares": Sum("share"),
        "mean": Mean("value"),
        "mean_share": Mean("share"),
        "low": Min("value"),
        "high": Max("value", where=col("side")),
        "top_share": Max("share"),
        "widest": Max("wide"),
        "sides": Sum("side"),
        "first": First("value", order="plain"),
        "last": Last("share", where=col("side"), order="at"),
        "always": Last("wide", order="plain"),
    }


def _different() -> dict[str, Aggregate]:
    """Aggregates whose rows cross themselves: sets of columns with conditions and nulls."""
    return {
        "n": Count(),
        "values": CountDistinct("value"),
        "sided": CountDistinct("value", where=col("side")),
        "wides": CountDistinct("wide", where=~col("side")),
        "seen": First("plain", order="at"),
    }


def without_text(stream: Stream) -> Stream:
    return select(stream, *[name for name in stream.schema.names if name != "text"])


Made = Callable[[Stream], Stream]


def sent_both_ways(
    make: Made, columns: dict[str, Any], size: int, workers: int = 1, on: str = ""
) -> tuple[list[Any], list[Any]]:
    """What an operator sends of rows, in order: in compiled code, and, for a text column that is beside them, without
    a text space, in Python. on: a column that ascends; time moves on to it."""
    found = []
    for schema in (WORDS, WORDS | {"text": "string"}):
        rows = len(columns["at"])
        given = columns | {"text": ["x"] * rows} if "text" in schema else columns
        in_python = no_text_space("text" in schema)
        with in_python, bench([Schema.of(schema)], make, workers, queue_bytes=1 << 20) as made:
            for number, start in enumerate(range(0, rows, size)):
                some = {name: values[start : start + size] for name, values in given.items()}
                if on:
                    made.advance(max(some[on][0], 0))
                made.send(some, worker=number % workers)
                made.settle()
            made.close()
            found.append([tuple(map(repr, row)) for row in made.rows])
    return found[0], found[1]


def _columns(rows: list[tuple[Any, ...]]) -> dict[str, Any]:
    columns: dict[str, Any] = {name: [row[at] for row in rows] for at, name in enumerate(WORDS)}
    return columns | {"wide": np.array(columns["wide"], np.uint64)}


@settings(max_examples=examples(25))
@given(
    rows=st.lists(ROW, min_size=1, max_size=25),
    window=st.sampled_from([Tumbling("at", 10), Tumbling("at", 7, 3, start=None), Sliding("at", 12, 4), None]),
    by=st.sampled_from(["", "plain", "side wide", "value"]),
    workers=st.integers(1, 2),
    size=st.integers(1, 25),
    different=st.booleans(),
)
def test_all_aggregates(rows: Any, window: Any, by: str, workers: int, size: int, different: bool) -> None:
    how: Any = {"emit": "final"} if window is None else {"window": window}
    asked = _different() if different else _aggregates()
    compiled, python = sent_both_ways(
        lambda stream: aggregate(stream, by, **how, **asked), _columns(rows), size, workers
    )
    assert compiled == python


MOVED: dict[str, Aggregate] = {"n": Count(), "v": Sum("plain"), "mean": Mean("value"), "sides": Sum("side")}
"""Aggregates whose state is moved on from window to window."""


@pytest.mark.parametrize("window", [Tumbling("at", 10), Sliding("at", 50, 10), Sliding("at", 25, 10, 3)], ids=str)
@pytest.mark.parametrize("by", ["", "plain", "plain side"])
def test_tables_grow(by: str, window: Any) -> None:
    """Thousands of keys and hundreds of windows in messages of thousands of rows, out of order."""
    columns = _columns([(at * 7919 % 3_000, at % 2 == 0, None, None, at, at % 1_500) for at in range(6_000)])
    for asked in (MOVED, MOVED | {"high": Max("plain"), "last": Last("plain")}, _different()):
        compiled, python = sent_both_ways(
            lambda stream, asked=asked: aggregate(stream, by, window=window, **asked), columns, 2_500
        )
        assert len(compiled) > 250
        assert compiled == python


@settings(max_examples=examples(25))
@given(
    rows=st.lists(ROW, min_size=1, max_size=40),
    window=st.sampled_from([Sliding("at", 12, 4), Sliding("at", 10, 4, 1, end=None), Sliding("at", 30, 1)]),
    by=st.sampled_from(["", "plain", "side wide", "value"]),
    lateness=st.sampled_from([0, 5]),
    merged=st.booleans(),
    size=st.integers(1, 10),
)
def test_windows_slide(rows: Any, window: Any, by: str, lateness: int, merged: bool, size: int) -> None:
    """Keys come into a window, and leave it, as time goes on."""
    rows.sort(key=lambda row: row[0])
    asked = MOVED | ({"low": Min("value")} if merged else {})
    compiled, python = sent_both_ways(
        lambda stream: aggregate(stream, by, window=window, lateness=lateness, **asked), _columns(rows), size, on="at"
    )
    assert compiled == python


@settings(max_examples=examples(25))
@given(
    rows=st.lists(ROW, min_size=1, max_size=40),
    gap=st.sampled_from([1, 4, 15]),
    by=st.sampled_from(["", "plain", "side wide", "value"]),
    lateness=st.sampled_from([0, 5]),
    sorted_rows=st.booleans(),
    size=st.integers(1, 25),
)
def test_sessions(rows: Any, gap: int, by: str, lateness: int, sorted_rows: bool, size: int) -> None:
    """Sessions that go on, that become part of each other, and that end as time goes on."""
    if sorted_rows:
        rows.sort(key=lambda row: row[0])
    window = Session("at", gap)
    compiled, python = sent_both_ways(
        lambda stream: aggregate(stream, by, window=window, lateness=lateness, **_aggregates()),
        _columns(rows), size, on="at" if sorted_rows else "",
    )  # fmt: skip
    assert compiled == python


@pytest.mark.parametrize("by", ["plain", "plain side"])
def test_tables_of_sessions_grow(by: str) -> None:
    """Thousands of sessions of thousands of keys, of which many become one, and places that are used again."""
    rows = [(at * 7919 % 6_000, at % 2 == 0, None, None, at, at % 1_500) for at in range(6_000)]
    rows += [(20_000 + at, at % 2 == 0, None, None, at, at) for at in range(3_000)]
    compiled, python = sent_both_ways(
        lambda stream: aggregate(stream, by, window=Session("at", 1_000), n=Count(), v=Sum("wide"), last=Last("at")),
        _columns(rows), 3_000,
    )  # fmt: skip
    assert len(compiled) > 4_000
    assert compiled == python


@settings(max_examples=examples(20))
@given(
    rows=st.lists(ROW, min_size=1, max_size=25),
    by=st.sampled_from(["", "plain", "side wide", "value"]),
    workers=st.integers(1, 2),
    size=st.integers(1, 25),
    different=st.booleans(),
)
def test_running_aggregates(rows: Any, by: str, workers: int, size: int, different: bool) -> None:
    asked = _different() | {"came_first": First("at"), "came_last": Last("value")} if different else _aggregates()
    by = by or "plain" if different else by
    compiled, python = sent_both_ways(lambda stream: aggregate(stream, by, **asked), _columns(rows), size, workers)
    assert compiled == python


@settings(max_examples=examples(20))
@given(
    rows=st.lists(ROW, min_size=1, max_size=25),
    by=st.sampled_from(["", "plain", "side wide", "value"]),
    order=st.sampled_from(["plain", "value", "share", "wide"]),
    largest=st.booleans(),
    size=st.integers(1, 25),
)
def test_best_rows(rows: Any, by: str, order: str, largest: bool, size: int) -> None:
    """The last rows, and the best ones with ties, of orders of each kind, with nulls and NaN."""
    for make in (
        lambda stream: last_by(stream, by or "plain", order=order),
        lambda stream: top(stream, by, order=order, k=1, largest=largest, ties="wide share at"),
        lambda stream: top(stream, by, order=order, k=3, largest=largest),
    ):
        compiled, python = sent_both_ways(
            lambda stream, make=make: without_text(make(stream)), _columns(rows), size
        )
        assert compiled == python


def last(stream: Stream, by: str) -> Stream:
    return last_by(stream, by, order="at")


def best(stream: Stream, by: str) -> Stream:
    return top(stream, by, order="at", k=2)


def different(stream: Stream, by: str) -> Stream:
    return aggregate(stream, by, at=CountDistinct("at"), n=CountDistinct("wide", where=col("side")), last=Last("at"))


@pytest.mark.parametrize("by", ["plain", "plain side"])
@pytest.mark.parametrize("what", [distinct, count, last, best, different])
def test_running_tables_grow(what: Any, by: str) -> None:
    """Thousands of keys in messages of thousands of rows, some of which are all new and some all known."""
    columns = _columns([(at, at % 2 == 0, None, None, at, at * 7919 % 3_000) for at in range(6_000)])
    compiled, python = sent_both_ways(
        lambda stream: select(what(stream, by), *by.split(), *(["count"] if what is count else ["at"])), columns, 1_500
    )
    assert len(compiled) >= 3_000
    assert compiled == python


@pytest.mark.parametrize("by", ["", "plain"])
def test_errors_are_those_of_python(by: str) -> None:
    """A sum that is too great; a row that comes too late."""
    told = []
    for schema in (WORDS, WORDS | {"text": "string"}):
        for late in (False, True):
            with bench(
                [Schema.of(schema)], lambda stream: aggregate(stream, by, window=Tumbling("at", 10), total=Sum("plain"))
            ) as made:
                rows = _columns([(1, True, None, None, 0, 5), (11, True, None, None, 0, 5)])
                text = {"text": ["x", "x"]} if "text" in schema else {}
                if late:
                    made.send(rows | text)
                    made.settle()
                    made.advance(12)
                else:
                    rows["plain"], rows["at"] = [2**62, 2**62], [1, 1]
                made.send(rows | text)
                with pytest.raises(OperatorError) as raised:
                    made.settle()
                told.append(str(raised.value).split("Error: ")[-1])
    assert "left the range" in told[0]
    assert "late=True" in told[1]
    assert told[:2] == told[2:]


@pytest.mark.parametrize("window", [Tumbling("at", 4), Sliding("at", 6, 2)])
@pytest.mark.parametrize("by", ["", "k", "k text"])
def test_both_stages_of_windows_are_compiled(window: Any, by: str) -> None:
    def declare(worker: Any, scope: Any) -> Any:
        _, rows = scope.new_input(Schema(at="int64", k="int64", text="string"), "rows")
        aggregate(rows, by, window=window, n=Count(), total=Sum("k"))
        return scope

    with simulated(2) as group:
        scope, _ = build(group, declare)
        compiled = {spec.name: spec.is_compiled for spec in scope.graph.operators if spec.name != "rows"}
    assert compiled == {"aggregate.local": True, "aggregate": True}
