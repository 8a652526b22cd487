"""Joins whose state moves between workers send what they send where it stays; compiled, and in Python."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tests.operators.helpers import bench, no_text_space
from tests.operators.moving import BINS, Declare, changes, moving, rows_sent
from tokenring.engine import Schema, Stream
from tokenring.operators import Sliding, Tumbling, col, enrich, interval_join, join, temporal_join, with_columns

LEFT = Schema.of(
    {"at": "int64", "key": "int64?", "share": "float64", "name": "string", "a": "int64", "text": "string?"}
)
RIGHT = Schema.of(
    {"at": "int64", "code": "int64?", "part": "float64", "who": "string", "b": "int64?", "note": "string?"}
)
SHARE = {"share": "part"}
ONS = [{"key": "code"}, SHARE, SHARE | {"key": "code"}, {"name": "who"}, {"name": "who", "key": "code"}]
COLUMNS = {"at": "left.at", "key": "left.key", "share": "left.share", "a": "a", "text": "text"}
BOTH = COLUMNS | {"then": "right.at", "code": "right.code", "part": "right.part", "b": "b", "note": "note"}
TEXTS = ["", "Zoë", None, "a text that is longer than others " * 9]
NAMES = ["x", "yy", "a name that is longer than eight"]

ROW = st.tuples(st.integers(0, 40), st.integers(0, 1), st.integers(0, 9), st.integers(0, 5))
ROWS = st.lists(ROW, min_size=25, max_size=50)
Made = list[tuple[int, int, int, list[Any]]]


def messages(rows: list[tuple[int, int, int, int]], workers: int, once: int | None = None) -> Made:
    """A row each, in order of time. once: the side that has each key once."""
    made: Made = []
    seen = set()
    for number, (time, side, key, more) in enumerate(sorted(rows)):
        if once == side:
            key = next((other for other in range(key, key + 60) if other not in seen), key)
            seen.add(key)
        word = None if key == 9 and once != side else key
        share = (-0.0, 0.0, 1.5, 2.5)[key % 4] if once is None else key / 2
        value = number if more or side == 0 else None
        row = (time + more, word, share, NAMES[key % 3] * (1 + key), value, TEXTS[number % 4])
        made.append((time, number % workers, side, [row]))
    return made


def same(
    declare: Declare, sent: Made, workers: int, moves: list[Any], in_python: bool, with_times: bool = True
) -> None:
    """With and without moves the same is sent. with_times: at the same times."""
    first = 0 if with_times else 1
    with no_text_space(in_python):
        there = rows_sent([LEFT, RIGHT], moving(declare, workers, moves), sent, workers)
        here = rows_sent([LEFT, RIGHT], declare, sent, workers)
    assert sorted([repr(row[first:]) for row in there]) == sorted([repr(row[first:]) for row in here])


@pytest.mark.parametrize("in_python", [False, True])
@settings(max_examples=examples(12), deadline=None)
@given(
    rows=ROWS, workers=st.integers(2, 3), moves=changes(2, 35), on=st.sampled_from(ONS),
    how=st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]),
)  # fmt: skip
def test_at_any_times(
    in_python: bool, rows: list[Any], workers: int, moves: list[Any], on: dict[str, str], how: str
) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        return join(left, right, on=on, columns=COLUMNS if how in ("semi", "anti") else BOTH, how=how)

    same(declare, messages(rows, workers), workers, moves, in_python, with_times=how != "semi")


def test_rows_go_on_when_the_other_side_has_ended_while_bins_move() -> None:
    left, right, key = Schema("n key"), Schema("key other"), 5

    def declare(*streams: Stream) -> Stream:
        return join(*streams, on="key", how="left")

    moves = [(time, number, time % 2) for time in (10, 15, 20) for number in range(BINS)]
    with bench([left, right], moving(declare, 2, moves), 2) as made:
        made.send({"key": [1], "other": [7]}, to=1, time=2)
        made.send({"n": [0], "key": [key]}, time=3)
        made.settle()
        assert made.sent() == []  # its match may still come
        for handles in made.inputs:
            handles[1].close()
        made.settle()
        assert [row[:3] for row in made.sent()] == [(3, 0, key)]
        for time in range(9, 25):
            made.send({"n": [time, time], "key": [key, 1]}, worker=time % 2, time=time)
            for handles in made.inputs:
                handles[0].advance_to(time + 1)
            made.settle()
            assert [row[:3] for row in made.sent()] == [(time, time, 1), (time, time, key)]
        made.close()


@pytest.mark.parametrize("in_python", [False, True])
@settings(max_examples=examples(12), deadline=None)
@given(
    rows=ROWS, workers=st.integers(2, 3), moves=changes(2, 35), on=st.sampled_from(ONS), unique=st.integers(0, 1),
    where=st.booleans(), how=st.sampled_from(["inner", "left", "right", "full"]),
)  # fmt: skip
def test_beside_a_side_that_is_unique(
    in_python: bool, rows: list[Any], workers: int, moves: list[Any], on: dict[str, str], unique: int, where: bool,
    how: str,
) -> None:  # fmt: skip
    only: Any = {("left_where", "right_where")[unique]: col("at") % 2 == 0} if where else {}

    def declare(left: Stream, right: Stream) -> Stream:
        return join(left, right, on=on, columns=BOTH, how=how, unique=("left", "right")[unique], **only)

    # A row that waits for one that is not wanted goes when that comes, which may be before it.
    same(declare, messages(rows, workers, unique), workers, moves, in_python, with_times=how == "inner" or not where)


@pytest.mark.parametrize("in_python", [False, True])
@settings(max_examples=examples(12), deadline=None)
@given(
    rows=ROWS, workers=st.integers(2, 3), moves=changes(2, 35), on=st.sampled_from(ONS),
    how=st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]), upper=st.sampled_from([3, 12, "until"]),
    unique=st.sampled_from([None, 0, 1]), where=st.booleans(),
)  # fmt: skip
def test_in_time(
    in_python: bool, rows: list[Any], workers: int, moves: list[Any], on: dict[str, str], how: str, upper: Any,
    unique: int | None, where: bool,
) -> None:  # fmt: skip
    once = how in ("semi", "anti")
    one = None if once or unique is None else unique
    only: Any = {} if one is None or not where else {("left_where", "right_where")[one]: col("at") % 2 == 0}
    side = None if one is None else ("left", "right")[one]

    def declare(left: Stream, right: Stream) -> Stream:
        return interval_join(
            with_columns(left, until=col("at") + col("a") % 17) if upper == "until" else left, right, on=on,
            left_time="at", right_time="at", upper=upper, lower=0 if upper == "until" else -2, how=how, unique=side,
            columns=COLUMNS if once else BOTH, **only,
        )  # fmt: skip

    same(declare, messages(rows, workers, one), workers, moves, in_python, with_times=how == "inner")


@pytest.mark.parametrize("in_python", [False, True])
@settings(max_examples=examples(12), deadline=None)
@given(
    rows=ROWS, workers=st.integers(2, 3), moves=changes(2, 35), on=st.sampled_from(ONS),
    how=st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]),
    window=st.sampled_from([Tumbling("at", 7), Sliding("at", 12, 5)]),
)  # fmt: skip
def test_in_windows(
    in_python: bool, rows: list[Any], workers: int, moves: list[Any], on: dict[str, str], how: str, window: Any
) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        return join(left, right, on=on, columns=COLUMNS if how in ("semi", "anti") else BOTH, how=how, window=window)

    same(declare, messages(rows, workers), workers, moves, in_python, with_times=how != "semi")


@pytest.mark.parametrize("in_python", [False, True])
@settings(max_examples=examples(12), deadline=None)
@given(
    rows=ROWS, workers=st.integers(2, 3), moves=changes(2, 35), on=st.sampled_from(ONS),
    how=st.sampled_from(["inner", "left"]), in_time=st.booleans(),
)  # fmt: skip
def test_with_versions(
    in_python: bool, rows: list[Any], workers: int, moves: list[Any], on: dict[str, str], how: str, in_time: bool
) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        if in_time:
            return temporal_join(left, right, on=on, time="at", version_time="at", columns=BOTH, how=how)
        return enrich(left, right, on=on, columns=BOTH, how=how)

    sent = [(time, worker if side == 0 else 0, side, some) for time, worker, side, some in messages(rows, workers)]
    # Of versions that came from several workers none is the last.
    same(declare, sent, workers, moves, in_python, with_times=not in_time)
