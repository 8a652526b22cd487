"""emit=: what running operators say of each row, of each message, and at the end, against plain Python."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import GraphError, OperatorError, Schema, SchemaError, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Mean,
    Min,
    Session,
    Sum,
    Tumbling,
    aggregate,
    col,
    count,
    last_by,
    select,
    top,
)

KINDS: dict[str, str] = {"key": "int64", "other": "int64", "value": "int64", "tie": "int64", "share": "float64"}
Row = tuple[int, int, int, int, float]
Messages = list[list[Row]]
Answer = dict[tuple[int, int], list[tuple[Any, ...]]]
"""What is said of each key, in order."""
ROW = st.tuples(
    st.integers(0, 2), st.integers(0, 1), st.integers(-2, 3), st.integers(0, 3), st.sampled_from([0.5, -0.0, 0.0, 2.0])
)
MESSAGES = st.lists(st.lists(ROW, min_size=1, max_size=12), min_size=1, max_size=6)
MODES = ("each", "batch", "final")
FORMS = ("words", "text")
"""Whether there is text beside the rows."""


def _said(declare: Callable[[Stream], Stream], messages: Messages, form: str, workers: int) -> Answer:
    """What a dataflow sends, by key, of messages of which each comes when the one before has been answered. Two columns
    of the key come first."""
    with_text = form == "text"
    kinds = KINDS | ({"text": "string"} if with_text else {})
    found: Answer = defaultdict(list)
    with bench([Schema.of(kinds)], declare, workers, queue_bytes=1 << 18) as made:
        for number, rows in enumerate(messages):
            columns: dict[str, Any] = {name: [row[at] for row in rows] for at, name in enumerate(KINDS)}
            made.send(columns | ({"text": ["x"] * len(rows)} if with_text else {}), worker=number % workers)
            made.settle()
        before = len(made.rows)
        made.close()
        ends = made.rows[before:]
    for _, _, *row in made.rows:
        found[row[0], row[1]].append(tuple(row[2:]))
    assert len(ends) in (0, len(made.rows))
    return dict(found)


def _emitted(messages: Messages, mode: str, step: Callable[[list[Row], int], list[Any]]) -> Answer:
    """What `step(rows of a key, how many were there before)` says in the end of a group of rows of that key, one for
    each row, message, or stream."""
    seen: dict[tuple[int, int], list[Row]] = defaultdict(list)
    said: Answer = defaultdict(list)
    if mode == "final":
        messages = [[row for rows in messages for row in rows]]
    groups = [[row] for rows in messages for row in rows] if mode == "each" else messages
    for rows in groups:
        before = {key: len(some) for key, some in seen.items()}
        for row in rows:
            seen[row[:2]].append(row)
        for key in dict.fromkeys(row[:2] for row in rows):
            said[key] += step(seen[key], before.get(key, 0))
    return {key: rows for key, rows in said.items() if rows}


AGGREGATES = {
    "n": Count(), "some": Count(where=col("tie") > 1), "total": Sum("value"), "least": Min("value"),
    "most": Max("share"), "mean": Mean("value"), "kinds": CountDistinct("value"), "first": First("value"),
    "last": Last("value", order="tie"),
}  # fmt: skip


def _aggregated(rows: list[Row], _: int) -> list[Any]:
    values, ties = [row[2] for row in rows], [row[3] for row in rows]
    return [(
        len(rows), sum(tie > 1 for tie in ties), sum(values), min(values), max(row[4] for row in rows),
        sum(values) / len(values), len(set(values)), values[0],
        max(enumerate(rows), key=lambda at: (at[1][3], at[0]))[1][2],
    )]  # fmt: skip


@settings(max_examples=examples(20))
@given(MESSAGES, st.sampled_from(FORMS), st.integers(1, 3))
@pytest.mark.parametrize("mode", MODES)
def test_aggregates(mode: str, messages: Messages, form: str, workers: int) -> None:
    def declare(stream: Stream) -> Stream:
        aggregates = AGGREGATES | ({"texts": Count("text")} if form == "text" else {})
        return select(aggregate(stream, "key other", emit=mode, **aggregates), "key", "other", *AGGREGATES)

    expected = _emitted(messages, mode, _aggregated)
    assert _said(declare, messages, form, workers) == expected


@pytest.mark.parametrize("more", [{}, {"on_error": "stream"}], ids=["", "stream"])
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_each_in_order_of_the_rows_times_like_pandas(workers: int, more: dict[str, Any]) -> None:
    """A key's rows come on any worker, up to 40 behind their messages' times, and those of one time in order."""
    dice, names = np.random.default_rng(workers), ["key", "at", "value"]
    ats = np.sort(dice.integers(0, 200, 600))
    rows = pd.DataFrame({"key": dice.integers(0, 5, 600), "at": ats, "value": range(600)})
    rows["sums"], rows["n"] = rows.groupby("key")["value"].cumsum(), rows.groupby("key").cumcount() + 1
    late = rows.iloc[np.argsort(rows["at"] + (7 * rows["at"] + 3 * rows["key"]) % 40, kind="stable")]
    folds = {"at": Last("at"), "value": Last("value"), "sums": Sum("value"), "n": Count()}

    def declare(stream: Stream) -> Stream:
        made: Any = aggregate(stream, "key", emit="each", order="at", **folds, **more)
        return made[0] if more else made

    with bench([Schema("key at value")], declare, workers) as made:
        for start in range(0, 600, 20):
            some, time = late.iloc[start : start + 20], int(late["at"].iloc[start:].min())
            for worker, mine in some.groupby((some["at"] + some["key"]) % workers):
                made.send(mine[names].to_dict("list"), worker=worker, time=time)
            made.settle()
        made.close()
    for key, wanted in rows.groupby("key"):
        found = [row[3:] for row in made.rows if row[2] == key]
        assert found == [*wanted[[*folds]].itertuples(index=False, name=None)]


def _ranking(rows: list[Row], k: int) -> list[Row]:
    return sorted(rows, key=lambda row: (-row[2], row[3]))[:k]


@settings(max_examples=examples(20))
@given(MESSAGES, st.integers(1, 3), st.sampled_from(FORMS), st.integers(1, 3), st.booleans())
@pytest.mark.parametrize("mode", MODES)
def test_top(mode: str, messages: Messages, k: int, form: str, workers: int, keyed: bool) -> None:
    """Ranks that change, from the first one on; rows that are equal in all that is shown may change places unseen."""
    if not keyed:
        messages = [[(0, 0, *row[2:]) for row in rows] for rows in messages]
    messages = [[(*row[:4], float(at + 100 * number)) for at, row in enumerate(rows)]
                for number, rows in enumerate(messages)]

    def declare(stream: Stream) -> Stream:
        best = top(stream, "key other" if keyed else (), order="value", ties="tie", k=k, emit=mode)
        return select(best, "key", "other", "value", "tie", "share", "rank")

    def step(rows: list[Row], before: int) -> list[Any]:
        old, new = _ranking(rows[:before], k), _ranking(rows, k)
        first = next((at for at, row in enumerate(new) if at >= len(old) or old[at] != row), len(new))
        return [(*row[2:], at + 1) for at, row in enumerate(new) if at >= first]

    expected = _emitted(messages, mode, step)
    assert _said(declare, messages, form, workers) == expected


@settings(max_examples=examples(20))
@given(MESSAGES, st.sampled_from(FORMS), st.integers(1, 3))
@pytest.mark.parametrize("mode", MODES)
def test_last_by(mode: str, messages: Messages, form: str, workers: int) -> None:
    messages = [[(*row[:4], float(at + 100 * number)) for at, row in enumerate(rows)]
                for number, rows in enumerate(messages)]

    def declare(stream: Stream) -> Stream:
        return select(last_by(stream, "key other", order="tie", emit=mode), "key", "other", "value", "tie", "share")

    def step(rows: list[Row], before: int) -> list[Any]:
        last = max(enumerate(rows), key=lambda at: (at[1][3], at[0]))
        return [last[1][2:]] if last[0] >= before else []

    expected = _emitted(messages, mode, step)
    assert _said(declare, messages, form, workers) == expected


@pytest.mark.parametrize("form", FORMS)
def test_each_of_many_rows(form: str) -> None:
    """Tables grow in the midst of a message, and a key has most of its rows."""
    rows = [(at % 2_000 if at % 3 else 7, 0, at, at, 1.0) for at in range(20_000 if form == "words" else 5_000)]

    def declare(stream: Stream) -> Stream:
        return select(count(stream, "key other", emit="each"), "key", "other", "count")

    counts: Answer = defaultdict(list)
    for row in rows:
        counts[row[0], 0].append((len(counts[row[0], 0]) + 1,))
    assert _said(declare, [rows], form, 1) == counts


@pytest.mark.parametrize("mode", ["each", "batch"])
@pytest.mark.parametrize("form", FORMS)
def test_a_sum_that_overflows_in_the_midst(form: str, mode: str) -> None:
    """It is named, and not the one beside it."""
    with_text = form == "text"
    kinds = {"key": "int64", "value": "int64"} | ({"text": "string"} if with_text else {})
    sums = {"keys": Sum("key"), "total": Sum("value")}
    with bench([Schema.of(kinds)], lambda s: aggregate(s, "key", emit=mode, **sums)) as made:
        made.send({"key": [1, 1, 1], "value": [1, 2**63 - 1, 1]} | ({"text": ["x"] * 3} if with_text else {}))
        with raises(OperatorError, "operator 'aggregate'", "OverflowError", "sum of 'value'", "float64", "on_error="):
            made.settle()


WAYS = "'each', 'batch' or 'final'"
ONCE = ("window", "sent once", "window=")
WRONG: list[tuple[Callable[[Stream], Any], type[Exception], Fact]] = [
    (lambda s: count(s, "key", emit="changes"), SchemaError, (WAYS, "not 'changes'", "is 'batch' now")),
    (lambda s: count(s, "key", emit="end"), SchemaError, (WAYS, "not 'end'", "is 'final' now")),
    (lambda s: last_by(s, "key", order="tie", emit="eech"), SchemaError, (WAYS, "not 'eech'", "did you mean 'each'")),
    (lambda s: aggregate(s, emit="each", n=Count()), SchemaError, ("operator 'aggregate'", "emit='each'", "by=")),
    (lambda s: count(s, "key", order="tie"), SchemaError, ("operator 'count'", "order='tie'", "emit='each'")),
    (lambda s: count(s, "key", order="share", emit="each"), SchemaError, ("order 'share' is float64", "int64")),
    (lambda s: count(s, "key", order="when", emit="each"), SchemaError, ("operator 'count'", "'when' to order")),
    (lambda s: count(s, "key", order="tie", changes=True), SchemaError, ("operator 'count'", "order='tie'")),
    (lambda s: count(s, "key", emit="each", window=Tumbling("tie", 5)), SchemaError, (ONCE, "emit='each'")),
    (lambda s: count(s, "key", emit="batch", window=Session("tie", 5)), SchemaError, (ONCE, "emit='batch'")),
    (
        lambda s: top(s, "key", order="tie", k=2, emit="batch", window=Tumbling("tie", 5)),
        SchemaError,
        ("operator 'top'", ONCE, "emit='batch'"),
    ),
]


@pytest.mark.parametrize(("make", "error", "message"), WRONG)
def test_what_means_nothing(make: Callable[[Stream], Any], error: type[Exception], message: Fact) -> None:
    with raises(error, message), bench([Schema.of(KINDS)], make):
        pass


def test_windows_are_final() -> None:
    with bench(
        [Schema.of(KINDS)], lambda s: count(s, "key", emit="final", window=Tumbling("tie", 5))
    ) as made:
        made.send({"key": [1, 1], "other": [0, 0], "value": [0, 0], "tie": [1, 6], "share": [0.0, 0.0]})
        made.close()
        assert [row[2:] for row in made.rows] == [(0, 5, 1, 1), (5, 10, 1, 1)]


def test_refused_in_a_loop() -> None:
    def declare(stream: Stream) -> Stream:
        refused = raises(GraphError, "operator 'count'", "loop 'loop'", "no order", "emit='each'")
        with stream.scope.loop() as loop, refused:
            count(loop.enter(stream), "key", emit="each")
        return stream

    with bench([Schema.of(KINDS)], declare):
        pass
