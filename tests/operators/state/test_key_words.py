"""Keys of any kind, and texts beside keys, in compiled operators: they send what they do where texts are numbers."""

from __future__ import annotations

import gc
import math
from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import simulated
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import Schema, Stream
from tokenring.operators import (
    Count,
    CountDistinct,
    First,
    Last,
    Max,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    distinct,
    filter,
    join,
    last_by,
    rename,
    temporal_join,
    top,
)
from tokenring.operators.state import NumberedTexts
from tokenring.shm.memory import text_space

SCHEMA = Schema.of({"at": "int64", "name": "string?", "side": "int64", "raw": "bytes?"})
NAMES = st.sampled_from([None, "", "a", "Zoë", "Zoé", "more than one word", "more than One word"])
RAW = st.sampled_from([None, b"", b"\xff\x00", b"x" * 700])
ROUNDS, EACH = 30, 3_000
ROWS = st.lists(st.tuples(st.integers(0, 9), NAMES, st.integers(0, 2), RAW), min_size=1, max_size=40)

def _joined(rows: Stream, **how: Any) -> Stream:
    named = filter(rows, col("side") == 0)
    others = rename(filter(rows, col("side") != 0), {name: f"other_{name}" for name in SCHEMA.names})
    return join(named, others, left_on="name raw", right_on="other_name other_raw", **how)


def _looked_up(rows: Stream) -> Stream:
    versions = rename(filter(rows, col("side") == 0), {"at": "since", "side": "value", "raw": "bytes"})
    return temporal_join(rows, versions, on="name", time="at", version_time="since", columns="left.at side value bytes")


OPERATORS: dict[str, Callable[[Stream], Stream]] = {
    "windows": lambda rows: aggregate(
        rows, "name", window=Tumbling("at", 3), n=Count(), at=Max("at"), raws=Count("raw")
    ),
    "by two texts": lambda rows: aggregate(rows, "raw side name", window=Tumbling("at", 4), n=Count()),
    "sliding": lambda rows: aggregate(rows, "name side", window=Sliding("at", 4, 2), n=Count(), sides=Sum("side")),
    "sets in windows": lambda rows: aggregate(rows, "name", window=Tumbling("at", 3), ats=CountDistinct("at")),
    "sessions": lambda rows: aggregate(rows, "name raw", window=Session("at", 2), n=Count()),
    "final": lambda rows: aggregate(rows, "name", emit="final", n=Count(), sides=CountDistinct("side")),
    "each": lambda rows: aggregate(rows, "name", emit="each", n=Count()),
    "best by text": lambda rows: top(rows, "name raw", order="at", k=1),
    "last by text": lambda rows: last_by(rows, "raw", order="at"),
    "some by text": lambda rows: top(rows, "name", order="at", k=3, ties="side"),
    "some, each": lambda rows: top(rows, "raw name", order="side", k=2, emit="each"),
    "some, final": lambda rows: top(rows, "raw", order="side", k=2, ties="at", emit="final"),
    "some of all, final": lambda rows: top(rows, order="side", k=4, largest=False, emit="final"),
    "last, final": lambda rows: last_by(rows, "name", order="at", emit="final"),
    "joined": _joined,
    "outer": lambda rows: _joined(rows, how="full"),
    "anti": lambda rows: _joined(rows, how="anti"),
    "looked up": _looked_up,
    "changes": lambda rows: aggregate(rows, "name side", n=Count(), at=Max("at"), ats=CountDistinct("at")),
    "by bytes": lambda rows: aggregate(rows, "raw", n=Count()),
    "firsts": lambda rows: distinct(rows, "name raw"),
    "best": lambda rows: top(rows, "side", order="at", k=1),
    "last": lambda rows: last_by(rows, "side", order="at"),
    "filtered": lambda rows: aggregate(filter(rows, col("raw").is_not_null()), "name", n=Count()),
    "first names": lambda rows: aggregate(
        rows, "side", names=CountDistinct("name"), first=First("name"), last=Last("raw")
    ),
}
NUMBERED = Schema.of({"at": "int64", "name": "int64?", "side": "int64", "raw": "int64?"})


def sent(
    make: Callable[[Stream], Stream], rows: list[tuple[Any, ...]], size: int, workers: int, schema: Schema = SCHEMA
) -> list[Any]:
    """Sorted: the cells of each row, and its time, which workers that have other keys may send together at another."""
    with bench([schema], make, workers, queue_bytes=1 << 16, checks="exhaustive") as made:
        for number, start in enumerate(range(0, len(rows), size)):
            columns = zip(*rows[start : start + size], strict=True)
            made.send(
                dict(zip(SCHEMA.names, map(list, columns), strict=True)), worker=number % workers, time=rows[start][0]
            )
            made.settle()
        made.close()
        return sorted([(row[2:], row[1] if workers == 1 else None) for row in made.rows], key=repr)


def sent_of_numbers(
    make: Callable[[Stream], Stream], rows: list[tuple[Any, ...]], size: int, workers: int
) -> list[Any]:
    """The same, where texts are numbers on the way."""
    texts = sorted({text for row in rows for text in (row[1], row[3]) if text is not None}, key=repr)
    numbers: dict[Any, int | None] = {text: 10**9 + at for at, text in enumerate(texts)} | {None: None}
    numbered = [(at, numbers[name], side, numbers[raw]) for at, name, side, raw in rows]
    found = sent(make, numbered, size, workers, NUMBERED)
    return sorted([
        (tuple(texts[int(cell) - 10**9] if cell is not None and cell >= 10**9 else cell for cell in row), time)
        for row, time in found
    ], key=repr)  # fmt: skip


@pytest.mark.parametrize("name", OPERATORS)
def test_nothing_is_left_to_python(name: str) -> None:
    """Text in the key, or beside it, is no reason to leave the worker's inner loop."""
    with simulated(1) as group:
        (worker,) = group.workers
        with worker.dataflow() as scope:
            OPERATORS[name](scope.new_input(SCHEMA)[1])
        made = {spec.name: spec.is_compiled for spec in scope.graph.operators}
    assert made.pop("input") is False
    assert made
    assert all(made.values())


@settings(max_examples=examples(25))
@given(rows=ROWS, size=st.integers(1, 12), workers=st.integers(1, 3), name=st.sampled_from(sorted(OPERATORS)))
def test_as_where_texts_are_numbers(rows: list[tuple[Any, ...]], size: int, workers: int, name: str) -> None:
    rows.sort(key=lambda row: int(row[0]))
    assert sent(OPERATORS[name], rows, size, workers) == sent_of_numbers(OPERATORS[name], rows, size, workers)


FLOATS = st.sampled_from([0.0, -0.0, 1.5, -1.5, math.inf, 5e-324])


@settings(max_examples=examples(25))
@given(rows=st.lists(st.tuples(st.integers(0, 9), FLOATS), min_size=1, max_size=30), workers=st.integers(1, 2))
def test_zeros_of_both_signs_are_one_key(rows: list[tuple[int, float]], workers: int) -> None:
    schema = Schema.of({"at": "int64", "key": "float64"})
    rows.sort(key=lambda row: row[0])
    window = Tumbling("at", 5, start=None)
    with bench([schema], lambda stream: aggregate(stream, "key", window=window, n=Count()), workers) as made:
        for number, (at, key) in enumerate(rows):
            made.send({"at": [at], "key": [key]}, worker=number % workers, time=at)
        made.close()
        sent = sorted(row[2:] for row in made.rows)
    assert sent == sorted((at, key, n) for (at, key), n in Counter((at // 5 * 5 + 5, key) for at, key in rows).items())
    assert not any(math.copysign(1, key) < 0 for _, key, _ in sent if key == 0)


def test_texts_that_have_gone_leave_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A window after another, of texts that never come again, more of them in a message than there was room for."""
    space = text_space()
    assert space is not None
    gc.collect()  # what others have left is given back before
    allocate, give_back, held_bytes = space.allocate, space.give_back, 0

    def allocated(size: int) -> int:
        nonlocal held_bytes
        held_bytes += size
        return allocate(size)

    def given_back(offset: int, size: int) -> None:
        nonlocal held_bytes
        held_bytes -= size
        give_back(offset, size)

    monkeypatch.setattr(space, "allocate", allocated)
    monkeypatch.setattr(space, "give_back", given_back)
    with bench([SCHEMA], OPERATORS["windows"]) as made:
        sizes = []
        for window in range(60):
            ats = [3 * window] * 1000
            names = [f"{window} {number} {'long' * 40}" for number in range(1000)]
            made.send({"at": ats, "name": names, "side": ats, "raw": [None] * 1000}, time=3 * window)
            made.advance(3 * window + 3)
            sizes.append(held_bytes)
        made.close()
        assert len(made.sent()) == 1000 * 60
    assert max(sizes[20:]) <= max(sizes[:20]) < min(sizes) + (4 << 20)


@pytest.mark.parametrize("workers", [1, 2])
def test_many_texts(workers: int) -> None:
    """Tables and parts that grow, more than once a message."""
    rows = [(at, f"name {at * at % 3001}", at % 2, b"r" * (at % 50)) for at in range(9000)]
    names = ["firsts", "windows", "sliding", "sessions", "joined", "looked up"]
    if workers == 1:  # messages of texts cross in other pieces, each of which is answered
        names += ["changes", "first names"]
    for name in names:
        assert sent(OPERATORS[name], rows, 700, workers) == sent_of_numbers(OPERATORS[name], rows, 700, workers)


def test_a_message_s_texts_are_numbered_once_or_twice_where_all_are_new() -> None:
    """Whatever lacks room meanwhile: cells, places, panes, or bytes for the texts."""

    def declare(stream: Stream) -> Stream:
        return aggregate(stream, "name", window=Tumbling("at", 10), n=Count())

    before = {id(each) for each in gc.get_objects() if isinstance(each, NumberedTexts)}
    with bench([SCHEMA], declare, queue_bytes=1 << 20) as made:
        for number in range(ROUNDS):
            names = [f"{number} {each:05}" for each in range(EACH)]
            rest = {"side": [0] * EACH, "raw": [b""] * EACH}
            made.send({"at": [10 * number] * EACH, "name": names, **rest}, time=10 * number)
            made.advance(10 * number + 10)
        columns = [
            each.table.columns
            for each in gc.get_objects()
            if isinstance(each, NumberedTexts) and id(each) not in before and each.table.columns
        ]
        made.close()
    assert len(made.rows) == ROUNDS * EACH
    assert columns
    assert max(columns) < 2 * ROUNDS + 40


OTHER_NAN = np.array([0xFFF8_0000_0000_0001, 0x7FF8_0000_0000_0003], np.uint64).view(np.float64).tolist()


@pytest.mark.parametrize("kind", ["float64", "float64?"])
@pytest.mark.parametrize("way", ["distinct", "running", "window", "count distinct", "join", "session"])
def test_one_nan_and_one_zero_are_keys(way: str, kind: str) -> None:
    """Of whatever bits: those that a processor makes have a sign. Null is none of them."""
    values: Any = [0.0, math.nan, -0.0, *OTHER_NAN, 1.0] + ([None] if kind.endswith("?") else [])
    schema = Schema.of({"at": "int64", "x": kind})
    groups = 4 if kind.endswith("?") else 3

    def declare(rows: Stream) -> Stream:
        if way == "distinct":
            return distinct(rows, "x")
        if way == "join":
            return join(rows, rows, on="x", columns={"one": "left.at", "other": "right.at"})
        if way == "count distinct":
            return aggregate(rows, window=Tumbling("at", 100), n=CountDistinct("x"))
        windows = {"window": Tumbling("at", 100), "session": Session("at", 100)}
        return aggregate(rows, "x", n=Count(), **({"window": windows[way]} if way in windows else {}))

    with bench([schema], declare) as made:
        made.send({"at": list(range(len(values))), "x": values})
        made.close()
    if way == "count distinct":
        assert [row[-1] for row in made.rows] == [3]
    elif way == "join":  # null meets nothing
        assert len(made.rows) == 2 * 2 + 3 * 3 + 1
    else:
        assert len(made.rows) == groups
        if way != "distinct":
            assert sorted(row[-1] for row in made.rows) == sorted([2, 3, 1] + [1] * (groups - 3))
