"""Joins in the worker's inner loop send, message by message, what joins in Python send, and hold tokens as they do."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench, no_text_space
from tests.operators.joins.reference import kept
from tokenring.engine import InputPort, OperatorContext, OperatorError, OutputPort, Schema, Stream, Token
from tokenring.operators import Sliding, Tumbling, enrich, interval_join, join, temporal_join, union

LEFT = {"at": "int64", "key": "int64?", "share": "float64", "flag": "bool?", "a": "int64", "until": "int64"} | {
    "text": "string?"
}
RIGHT = {"at": "int64", "code": "int64?", "part": "float64", "mark": "bool?", "b": "timestamp?", "note": "string?"}
NAMES = ["", "Zoë", None, "a text that is longer than others " * 9]
ON = {"key": "code", "share": "part"}
HOWS = ["inner", "left", "right", "full", "semi", "anti"]

KEYS = st.sampled_from([1, 2, 3, None])
SHARES = st.sampled_from([0.0, -0.0, 1.5])
FLAGS = st.sampled_from([True, False, None])
LEFT_ROW = st.tuples(st.integers(0, 40), KEYS, SHARES, FLAGS, st.integers(0, 9), st.integers(0, 60))
RIGHT_ROW = st.tuples(st.integers(0, 40), KEYS, SHARES, FLAGS, st.one_of(st.none(), st.integers(0, 9)))
SENT = st.lists(
    st.one_of(st.tuples(st.just(0), LEFT_ROW), st.tuples(st.just(1), RIGHT_ROW)), min_size=1, max_size=40
)
Sent = list[tuple[int, tuple[Any, ...]]]
Made = Callable[..., Stream]


def columns(schema: Schema, rows: Sequence[tuple[Any, ...]]) -> dict[str, Any]:
    """The rows' columns, and a text for each."""
    texts = [NAMES[(row[0] * 7 + (row[4] or 0)) % len(NAMES)] for row in rows]
    given = {name: [row[at] for row in rows] for at, name in enumerate(schema.names[:-1])}
    return given | {schema.names[-1]: texts}


def in_bursts(stream: Stream) -> Stream:
    """Each row at its own time, the rows of a message in one call."""

    def construct(context: OperatorContext, token: Token) -> Callable[[InputPort, OutputPort], None]:
        token.drop()

        def logic(rows: InputPort, output: OutputPort) -> None:
            for reference, batch in rows:
                batch = batch.take(np.argsort(batch.words("at"), kind="stable"))
                output.give_each(reference, batch, batch.words("at"))

        return logic

    return stream.unary("each", stream.schema, construct)


def sent_both_ways(
    make: Made, sent: Sent, size: int, workers: int, first: int | None, in_time: bool, bursts: bool = False
) -> tuple[list[Any], list[Any]]:
    """What a join sends of messages of `size` rows, by worker in order, what it keeps then, and where its probes are:
    compiled, and in Python, because there is no text space. first: the side that is finished before the other
    starts. in_time: messages' times are those of the earliest row yet to come; otherwise of their number."""
    found = []

    def declare(*streams: Stream) -> Stream:
        return make(*[in_bursts(stream) for stream in streams] if bursts else streams)

    for in_python in (False, True):
        schemas = [Schema.of(LEFT), Schema.of(RIGHT)]
        seen: list[Any] = []
        sides = (0, 1) if first is None else (first, 1 - first)
        phases = [sent] if first is None else [[each for each in sent if each[0] == side] for side in sides]
        more_of_it: Any = {"way": "tokens", "times": ("at", "at"), "queue_bytes": 1 << 18, "checks": "exhaustive"}
        with no_text_space(in_python), bench(schemas, declare, workers, **more_of_it) as made:
            compiled = [o.compiled >= 0 for o in made.group.workers[0].inspection.operators if o.name == "joined"]
            assert compiled == [not in_python]
            for side, phase in zip(sides, phases, strict=False):
                left_over = [[row[0] for of, row in phase if of == at] for at in (0, 1)]
                for number, start in enumerate(range(0, len(phase), size)):
                    for to in (0, 1):
                        rows = [row for of, row in phase[start : start + size] if of == to]
                        time = min(left_over[to], default=0) if in_time else number // 2
                        del left_over[to][: len(rows)]
                        if rows:
                            for inputs in made.inputs:
                                inputs[to].advance_to(max(inputs[to].time, time))
                            made.send(columns(schemas[to], rows), worker=number % workers, to=to)
                        made.settle()
                    seen.append((kept(made, "joined"), [probe.frontier for probe in made.probes]))
                if first is not None:
                    for inputs in made.inputs:
                        inputs[side].close()
                    made.settle()
            made.close()
            seen.append(kept(made, "joined"))
            by_worker = sorted(made.rows, key=lambda row: row[0])  # among each other they have no order
            seen += [repr(row) for row in by_worker]  # repr: a null float64 is not itself
        found.append(seen)
    return found[0], found[1]


def chosen_columns(how: str) -> dict[str, str]:
    of_left = {"at": "left.at", "key": "left.key", "share": "left.share", "flag": "flag", "a": "a", "text": "text"}
    of_right = {"then": "right.at", "mark": "mark", "b": "b", "note": "note"}
    return of_left if how in ("semi", "anti") else of_left | of_right


@settings(max_examples=examples(60))
@given(
    sent=SENT,
    size=st.integers(1, 12),
    workers=st.integers(1, 3),
    how=st.sampled_from(HOWS),
    on=st.sampled_from([{"key": "code"}, ON]),
    first=st.sampled_from([None, None, 0, 1]),
    in_time=st.booleans(),
    bursts=st.booleans(),
)
def test_at_any_times(
    sent: Sent, size: int, workers: int, how: str, on: dict[str, str], first: int | None, in_time: bool, bursts: bool
) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        return join(left, right, on=on, columns=chosen_columns(how), how=how, name="joined")

    compiled, python = sent_both_ways(declare, sent, size, workers, first, in_time or bursts, bursts)
    assert compiled == python


@settings(max_examples=examples(40))
@given(
    sent=SENT,
    size=st.integers(1, 12),
    workers=st.integers(1, 3),
    how=st.sampled_from(["inner", "left", "right", "full"]),
    unique=st.sampled_from([0, 1]),
    first=st.sampled_from([None, None, 0, 1]),
)
def test_beside_a_side_that_is_unique(
    sent: Sent, size: int, workers: int, how: str, unique: int, first: int | None
) -> None:
    once: dict[Any, Any] = {}
    for at, (side, row) in enumerate(sent):
        once.setdefault(row[1] if side == unique else (at,), (side, row))

    def declare(left: Stream, right: Stream) -> Stream:
        chosen = chosen_columns(how)
        only = ("left", "right")[unique]
        return join(left, right, on={"key": "code"}, columns=chosen, how=how, unique=only, name="joined")

    compiled, python = sent_both_ways(declare, list(once.values()), size, workers, first, False)
    assert compiled == python


@settings(max_examples=examples(40))
@given(
    sent=SENT,
    size=st.integers(1, 12),
    workers=st.integers(1, 3),
    window=st.sampled_from([Tumbling("at", 10), Sliding("at", 10, 4, 1)]),
    how=st.sampled_from(HOWS),
    first=st.sampled_from([None, None, 0, 1]),
    bursts=st.booleans(),
)
def test_by_window(
    sent: Sent, size: int, workers: int, window: Any, how: str, first: int | None, bursts: bool
) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        chosen = chosen_columns(how)
        left, right = union(left), union(right)  # compiled, so that what gives rows their windows is, too
        return join(left, right, on=ON, columns=chosen, how=how, window=window, name="joined")

    compiled, python = sent_both_ways(declare, sent, size, workers, first, True, bursts)
    assert compiled == python


@settings(max_examples=examples(40))
@given(
    sent=SENT,
    size=st.integers(1, 12),
    workers=st.integers(1, 3),
    bounds=st.sampled_from([(0, 5), (-4, 4), (-9, -3), (2, 2), (-3, "until")]),
    how=st.sampled_from(HOWS),
    first=st.sampled_from([None, None, 0, 1]),
    bursts=st.booleans(),
)
def test_within_bounds(
    sent: Sent, size: int, workers: int, bounds: tuple[int, Any], how: str, first: int | None, bursts: bool
) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        more = {"lower": bounds[0], "upper": bounds[1], "columns": chosen_columns(how), "how": how}
        return interval_join(
            left, right, on={"key": "code"}, left_time="at", right_time="at", **more, name="joined"
        )

    compiled, python = sent_both_ways(declare, sent, size, workers, first, True, bursts)
    assert compiled == python


@settings(max_examples=examples(60))
@given(
    sent=SENT,
    size=st.integers(1, 12),
    workers=st.integers(1, 3),
    how=st.sampled_from(["inner", "left"]),
    on=st.sampled_from([{"key": "code"}, ON]),
    first=st.sampled_from([None, None, 0, 1]),
    bursts=st.booleans(),
    by_time=st.booleans(),
)
def test_with_versions(
    sent: Sent, size: int, workers: int, how: str, on: dict[str, str], first: int | None, bursts: bool, by_time: bool
) -> None:
    def declare(left: Stream, right: Stream) -> Stream:
        more: Any = {"on": on, "columns": chosen_columns(how), "how": how, "name": "joined"}
        if by_time:
            return temporal_join(left, right, time="at", version_time="at", **more)
        return enrich(left, right, **more)

    compiled, python = sent_both_ways(declare, sent, size, workers, first, by_time or bursts, bursts)
    assert compiled == python


def test_many_rows_that_wait() -> None:
    """Tables that grow, of pieces that are released in parts."""
    sent: Sent = [(0, (key % 97, key % 3_000, 0.0, None, key, 0)) for key in range(20_000)]
    sent += [(1, (key % 89, key % 4_000, -0.0, True, key)) for key in range(20_000)]

    def declare(left: Stream, right: Stream) -> Stream:
        chosen = chosen_columns("left")
        return temporal_join(
            left, right, on=ON, time="at", version_time="at", columns=chosen, how="left", name="joined"
        )

    compiled, python = sent_both_ways(declare, sent, 700, 2, 0, True)
    assert compiled == python and len(compiled) > 20_000


def test_many_rows_and_keys() -> None:
    """Tables that grow, and more rows than are sent at a time."""
    sent: Sent = [(0, (0, key % 30_000, 0.0, None, key, 0)) for key in range(50_000)]
    sent += [(1, (0, key, -0.0, True, None)) for key in [*range(29_990, 60_000), *[7] * 20_000]]

    def declare(left: Stream, right: Stream) -> Stream:
        return join(left, right, on=ON, columns=chosen_columns("full"), how="full", name="joined")

    compiled, python = sent_both_ways(declare, sent, 40_000, 1, None, False)
    assert compiled == python and len(compiled) > 80_000


@pytest.mark.parametrize("in_python", [False, True])
def test_what_goes_wrong_is_said(in_python: bool) -> None:
    with no_text_space(in_python):
        wrong_rows(("text",))


def wrong_rows(text: tuple[str, ...]) -> None:
    a, b = Schema.of({"at": "int64", "k": "int64", "c": "float64"} | dict.fromkeys(text, "string")), Schema("at k b")
    rows = {"at": [5, 5], "k": [1, 2], "c": [0.5, 1.5]} | {name: ["x", "y"] for name in text}
    with bench([a, b], lambda left, right: join(left, right, on="k", columns=("c", *text), unique="left")) as made:
        made.send(rows)
        made.settle()
        made.send(rows)
        with raises(OperatorError, "operator 'join' on worker 0: UsageError", "left side", "second row with k=1"):
            made.settle()

    def within(left: Stream, right: Stream) -> Stream:
        return interval_join(left, right, on="k", left_time="at", right_time="at", upper=3, columns=("c", *text))

    def versions(left: Stream, right: Stream) -> Stream:
        return temporal_join(left, right, on="k", time="at", version_time="at", columns=("c", *text))

    with bench([a, b], versions) as made:
        made.send(rows, time=6)
        with raises(OperatorError, "operator 'temporal_join'", "time 6", "at 5"):
            made.settle()
    with bench([a, b], within) as made:
        made.send(rows, time=6)
        with raises(OperatorError, "operator 'interval_join'", "time 6", "at 5"):
            made.settle()


@pytest.mark.parametrize("in_python", [False, True])
def test_what_waits_is_explained(in_python: bool) -> None:
    a, b = Schema("k a"), Schema("k b", text="string")
    limits = {"queue_bytes": 1 << 16}
    with no_text_space(in_python), bench([a, b], lambda *sides: join(*sides, on="k", how="left"), **limits) as made:
        made.send({"k": [1, 2], "a": [10, 20]}, time=3)
        made.inputs[0][0].close()
        made.inputs[0][1].advance_to(7)
        made.settle()
        explained = str(made.group.workers[0].inspection.why("recorder"))
        assert "its frontier is 3, held back by\n  operator 'join' output 0, time 3:\n    1 token" in explained
        made.close()
