"""distinct, last_by, count, top and reduce: like lists, with text, nulls and ties, running and by window."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.long_form import examples
from tests.operators.helpers import Bench, bench
from tokenring.engine import Batch, OperatorError, Schema, SchemaError, Stream
from tokenring.operators import Session, Sliding, Tumbling, count, distinct, last_by, reduce, top
from tokenring.operators.time.windows import Window

ROWS = Schema("at", key="string?", score="int64?", share="float64", name="string")
ROW = st.tuples(
    st.integers(0, 40),
    st.sampled_from(["a", "bb", None]),
    st.one_of(st.none(), st.integers(-3, 3)),
    st.sampled_from([0.0, -0.0, -1.5, 2.0, float("inf"), float("-inf")]),
    st.sampled_from(["x", "yy", "a name of some length"]),
)
LISTS = st.lists(ROW, min_size=1, max_size=30)
Rows = list[tuple[Any, ...]]


def _feed(made: Bench, rows: Rows, size: int, workers: int = 1) -> None:
    for number, start in enumerate(range(0, len(rows), size)):
        piece = rows[start : start + size]
        made.send({name: [row[at] for row in piece] for at, name in enumerate(ROWS.names)}, worker=number % workers)
        made.settle()


@settings(max_examples=examples(15))
@given(rows=LISTS, size=st.integers(1, 30))
def test_distinct_passes_on_first_rows(rows: Rows, size: int) -> None:
    with bench([ROWS], lambda stream: distinct(stream, "key score")) as made:
        _feed(made, rows, size)
        made.close()
        first: dict[Any, Any] = {}
        for row in rows:
            first.setdefault(row[1:3], row)
        assert [row[2:] for row in made.rows] == list(first.values())


def test_distinct_rows_of_several_workers() -> None:
    rows = [(1, "a", None, 0.5, "x"), (1, "a", None, 0.5, "y"), (1, None, 1, -0.5, "x")]
    with bench([ROWS], distinct, workers=2) as made:
        _feed(made, rows * 3, 2, 2)
        made.close()
        assert sorted(repr(row[2:]) for row in made.rows) == sorted(map(repr, rows))


@settings(max_examples=examples(15))
@given(rows=LISTS, size=st.integers(1, 30), order=st.sampled_from(["at", "score", "share"]))
def test_last_by_keeps_the_last_row_of_each_key(rows: Rows, size: int, order: str) -> None:
    with bench([ROWS], lambda stream: last_by(stream, "key", order=order)) as made:
        _feed(made, rows, size)
        made.close()
        at = ROWS.position(order)
        last: dict[Any, Any] = {}
        for row in rows:
            if row[at] is not None and (row[1] not in last or row[at] >= last[row[1]][at]):
                last[row[1]] = row
        assert {row[3]: row[2:] for row in made.rows} == last


def test_count() -> None:
    with bench([Schema("key")], lambda stream: count(stream, "key")) as made:
        made.send({"key": [1, 2, 1]})
        made.close()
        assert made.sent() == [(0, 1, 2), (0, 2, 1)]


@settings(max_examples=examples(30))
@given(
    rows=LISTS,
    size=st.integers(1, 30),
    by=st.sampled_from(["", "key"]),
    order=st.sampled_from(["at", "score", "share"]),
    k=st.integers(1, 4),
    largest=st.booleans(),
    ties=st.sampled_from([(), ("at",), ("share", "at")]),
    window=st.sampled_from([None, Tumbling("at", 10), Sliding("at", 12, 4)]),
)
def test_top_like_sorted_lists(
    rows: Rows, size: int, by: str, order: str, k: int, largest: bool, ties: Any, window: Any
) -> None:
    def declare(stream: Stream) -> Stream:
        return top(stream, by, order=order, k=k, largest=largest, ties=ties, window=window)

    def best(some: Rows) -> Rows:
        def place(row: Any) -> Any:
            value = row[ROWS.position(order)]
            return (-value if largest else value, *[row[ROWS.position(tie)] for tie in ties])

        ranked = sorted([row for row in some if row[ROWS.position(order)] is not None], key=place)
        return [(*row, rank) for rank, row in enumerate(ranked[:k], 1)]

    def keyed(some: Rows) -> dict[Any, Rows]:
        return {key: [row for row in some if not by or row[1] == key] for key in {row[1] if by else 0 for row in some}}

    with bench([ROWS], declare) as made:
        _feed(made, rows, size)
        made.close()
        if window is None:
            found = {(row[3] if by else 0, row[-1]): row[2:] for row in made.rows}
            assert found == {(key, row[-1]): row for key, some in keyed(rows).items() for row in best(some)}
            return
        every = getattr(window, "every", window.width)
        expects = []
        for start in range(-window.width + every, 41, every):
            inside = [row for row in rows if start <= row[0] < start + window.width]
            for some in keyed(inside).values():
                expects += [(start, start + window.width, *row) for row in best(some)]
        if ties or isinstance(window, Tumbling):  # rows of several panes have lost their order of arrival
            assert sorted(map(repr, (row[2:] for row in made.rows))) == sorted(map(repr, expects))


def test_top_sends_what_changed() -> None:
    with bench([Schema("key value")], lambda stream: top(stream, "key", order="value", k=2)) as made:
        made.send({"key": [1, 1, 2], "value": [5, 7, 1]})
        made.send({"key": [1, 2], "value": [6, 0]})
        made.send({"key": [1], "value": [4]})
        made.send({"key": [1], "value": [9]}, time=3)
        made.close()
        assert [row[1:] for row in made.rows] == [
            *[(0, 1, 7, 1), (0, 1, 5, 2), (0, 2, 1, 1)],
            *[(0, 1, 6, 2), (0, 2, 0, 2)],
            *[(3, 1, 9, 1), (3, 1, 7, 2)],
        ]


def test_top_of_all_workers_and_many_texts() -> None:
    rows = [(at, "a", at * 7919 % 1000, 0.5, f"name {at} " * 5) for at in range(1000)]
    with bench([ROWS], lambda stream: top(stream, order="score", k=3), workers=2, queue_bytes=1 << 16) as made:
        _feed(made, rows, 50, 2)
        made.close()
        last = {row[-1]: row[4:7] for row in made.rows}
        assert last == {1 + 999 - row[2]: row[2:5] for row in rows if row[2] > 996}


def _medians(rows: Batch, starts: np.ndarray) -> dict[str, Any]:
    parts = np.split(rows["share"], starts[1:])
    return {"median": [sorted(part)[len(part) // 2] for part in parts], "names": [len(part) for part in parts]}


@pytest.mark.parametrize("window", [None, Tumbling("at", 10), Sliding("at", 10, 5)], ids=str)
@pytest.mark.parametrize("by", ["", "key"])
def test_reduce_sees_whole_groups(window: Any, by: str) -> None:
    rows = [(at * 7 % 40, "a" if at % 3 else None, 1, float(at * 31 % 17), "n") for at in range(60)]
    result = Schema(median="float64", names="int64")

    def declare(stream: Stream) -> Stream:
        return reduce(stream, by, _medians, result, window=window)

    with bench([ROWS], declare, workers=2) as made:
        _feed(made, rows, 7, 2)
        made.close()
        expects = set()
        every, width = (1000, 1000) if window is None else (getattr(window, "every", 10), 10)
        for start in range(every - width, 41, every):
            inside = [row for row in rows if start <= row[0] < start + width]
            for key in {row[1] if by else 0 for row in inside}:
                some = sorted(row[3] for row in inside if not by or row[1] == key)
                shown = (start, start + width) if window else ()
                expects.add((*shown, *([key] if by else []), some[len(some) // 2], len(some)))
        assert {row[2:] for row in made.rows} == expects
        assert len(made.rows) == len(expects)


def test_reduce_uses_its_memory_again() -> None:
    states: list[Any] = []

    def totals(rows: Batch, starts: np.ndarray) -> dict[str, Any]:
        states.append(rows.rows)
        return {"total": np.add.reduceat(rows["v"], starts)}

    def declare(stream: Stream) -> Stream:
        return reduce(stream, "key", totals, Schema("total"), window=Tumbling("at", 10))

    with bench([Schema("at key v")], declare, queue_bytes=1 << 16) as made:
        for turn in range(20):
            made.send({"at": [turn * 10 + at % 10 for at in range(60)], "key": [turn % 3] * 60, "v": list(range(60))})
            made.advance(turn * 10 + 11)
            end = turn * 10 + 10
            assert made.sent() == [(end, end - 10, end, turn % 3, 1770)]
        made.close()
        assert states == [60] * 20


def test_mistakes() -> None:
    session: Any = Session("at", 5)
    wrong: list[tuple[Any, Fact]] = [
        (lambda s: distinct(s, "nowhere"), ("operator 'distinct'", "column 'nowhere'", "at, key, score, share, name")),
        (lambda s: last_by(s, "key", order="name"), ("operator 'last_by'", "column 'name'", "string", "int64")),
        (lambda s: top(s, order="nowhere", k=1), ("operator 'top'", "column 'nowhere'", "at, key, score, share, name")),
        (lambda s: top(s, order="at", k=0), ("operator 'top'", "k", "at least 1", "not 0")),
        (lambda s: top(s, order="at", k=1, rank="key"), ("operator 'top'", "column 'key' already", "rank=")),
        (lambda s: top(s, order="at", k=1, window=session), ("operator 'top'", "Tumbling or Sliding", "not Session")),
        (lambda s: reduce(s, "key", _medians, Schema("key")), ("operator 'reduce'", "'key'", "group by")),
    ]

    def declare(stream: Stream) -> Stream:
        for mistake, message in wrong:
            with raises(SchemaError, message):
                mistake(stream)
        return stream

    with bench([ROWS], declare):
        pass


def test_reduce_must_give_a_row_a_key() -> None:
    window: Window = Tumbling("at", 10)
    with bench(
        [Schema("at")], lambda s: reduce(s, "", lambda rows, starts: {"x": [1, 2]}, Schema("x"), window=window)
    ) as made:
        made.send({"at": [1]})
        with raises(OperatorError, "operator 'reduce'", "worker 0", "2 rows", "1 keys"):
            made.close()
