"""Joins in the worker's inner loop send, message by message, what joins in Python send, and hold tokens as they do."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import InputPort, OperatorContext, OperatorError, OutputPort, Schema, Stream, Token
from tokenring.operators import Sliding, Tumbling, interval_join, join, temporal_join, union

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


def sent_by(
    make: Made, sent: Sent, size: int, workers: int, first: int | None, in_time: bool, bursts: bool = False
) -> list[tuple[Any, ...]]:
    """(worker, time, *row) of what a join called "joined" sends of messages of `size` rows. first: the side that is
    finished before the other starts. in_time: messages' times are those of the earliest row yet to come; otherwise of
    their number."""

    def declare(*streams: Stream) -> Stream:
        return make(*[in_bursts(stream) for stream in streams] if bursts else streams)

    schemas = [Schema.of(LEFT), Schema.of(RIGHT)]
    sides = (0, 1) if first is None else (first, 1 - first)
    phases = [sent] if first is None else [[each for each in sent if each[0] == side] for side in sides]
    more_of_it: Any = {"way": "tokens", "times": ("at", "at"), "queue_bytes": 1 << 18, "checks": "exhaustive"}
    with bench(schemas, declare, workers, **more_of_it) as made:
        compiled = [o.compiled >= 0 for o in made.group.workers[0].inspection.operators if o.name == "joined"]
        assert compiled == [True]
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
            if first is not None:
                for inputs in made.inputs:
                    inputs[side].close()
                made.settle()
        made.close()
        return list(made.rows)


Matches = Callable[[tuple[Any, ...], tuple[Any, ...]], bool]


def nested_loops(sent: Sent, how: str, by_share: bool, matches: Matches) -> list[str]:
    """at, key, a and text of the left side, at and note of the right one, of what a join sends, spelt."""
    lefts, rights = ([row for side, row in sent if side == at] for at in (0, 1))
    texts = [columns(Schema.of(kinds), rows) for kinds, rows in ((LEFT, lefts), (RIGHT, rights))]
    of_left = [(row, (row[0], row[1], row[4], texts[0]["text"][at])) for at, row in enumerate(lefts)]
    of_right = [(row, (row[0], texts[1]["note"][at])) for at, row in enumerate(rights)]

    def match(left: Any, right: Any) -> bool:
        is_equal = left[1] is not None and left[1] == right[1] and (not by_share or left[2] == right[2])
        return is_equal and matches(left, right)

    found: list[Any] = []
    for left, mine in of_left:
        theirs = [shown for right, shown in of_right if match(left, right)]
        if how in ("semi", "anti"):
            found += [mine] * (bool(theirs) == (how == "semi"))
        else:
            found += [(*mine, *shown) for shown in theirs]
            found += [(*mine, None, None)] * (not theirs and how in ("left", "full"))
    if how in ("right", "full"):
        alone = [shown for right, shown in of_right if not any(match(left, right) for left in lefts)]
        found += [(None, None, None, None, *shown) for shown in alone]
    return sorted(map(repr, found))


def shown(rows: list[tuple[Any, ...]], how: str, before: int = 2) -> list[str]:
    """The same columns of what was sent, behind worker, time and, where rows are joined by window, its bounds."""
    names = list(chosen_columns(how))
    wanted = ["at", "key", "a", "text", *([] if how in ("semi", "anti") else ["then", "note"])]
    return sorted([repr(tuple(row[before + names.index(name)] for name in wanted)) for row in rows])


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

    made = sent_by(declare, sent, size, workers, first, in_time or bursts, bursts)
    assert shown(made, how) == nested_loops(sent, how, on == ON, lambda left, right: True)


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

    made = sent_by(declare, list(once.values()), size, workers, first, False)
    assert shown(made, how) == nested_loops(list(once.values()), how, False, lambda left, right: True)


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

    def windows(at: int) -> set[int]:
        width, every, offset = window.width, getattr(window, "every", window.width), window.offset
        return {start for start in range(offset - 20 * every, at + 1, every) if start <= at < start + width}

    made = sent_by(declare, sent, size, workers, first, True, bursts)
    expected: list[str] = []
    starts = {start for _, row in sent for start in windows(row[0])}
    for start in starts:  # a row that is in several windows is joined, or alone, in each of them
        inside = [(side, row) for side, row in sent if start in windows(row[0])]
        expected += nested_loops(inside, how, True, lambda left, right: True)
    assert shown(made, how, 4) == sorted(expected)


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

    def within(left: tuple[Any, ...], right: tuple[Any, ...]) -> bool:
        return bool(left[0] + bounds[0] <= right[0] <= (left[5] if bounds[1] == "until" else left[0] + bounds[1]))

    made = sent_by(declare, sent, size, workers, first, True, bursts)
    assert shown(made, how) == nested_loops(sent, how, False, within)


def test_many_rows_that_wait() -> None:
    """Tables that grow, of pieces that are released in parts."""
    sent: Sent = [(0, (key % 97, key % 3_000, 0.0, None, key, 0)) for key in range(20_000)]
    sent += [(1, (key % 89, key % 4_000, -0.0, True, key)) for key in range(20_000)]

    def declare(left: Stream, right: Stream) -> Stream:
        chosen = chosen_columns("left")
        return temporal_join(
            left, right, on=ON, time="at", version_time="at", columns=chosen, how="left", name="joined"
        )

    made = sent_by(declare, sent, 700, 2, 0, True)
    versions: dict[int, list[tuple[int, int]]] = {}
    for at, key, _, _, b in [row for side, row in sent if side == 1]:
        versions.setdefault(key, []).append((at, b))
    expected = []
    for at, key, _, _, a, _ in [row for side, row in sent if side == 0]:
        valid = [since for since, _ in versions.get(key, []) if since <= at]
        expected.append(repr((at, key, a, max(valid, default=None))))
    names = list(chosen_columns("left"))
    found = [repr(tuple(row[2 + names.index(name)] for name in ("at", "key", "a", "then"))) for row in made]
    assert sorted(found) == sorted(expected)


def test_many_rows_and_keys() -> None:
    """Tables that grow, and more rows than are sent at a time."""
    sent: Sent = [(0, (0, key % 30_000, 0.0, None, key, 0)) for key in range(50_000)]
    sent += [(1, (0, key, -0.0, True, None)) for key in [*range(29_990, 60_000), *[7] * 20_000]]

    def declare(left: Stream, right: Stream) -> Stream:
        return join(left, right, on=ON, columns=chosen_columns("full"), how="full", name="joined")

    made = sent_by(declare, sent, 40_000, 1, None, False)
    lefts = Counter(row[1] for side, row in sent if side == 0)
    rights = Counter(row[1] for side, row in sent if side == 1)
    expected = sum(max(lefts[key], 1) * max(rights[key], 1) for key in lefts | rights)
    names = list(chosen_columns("full"))
    assert len(made) == expected > 80_000
    at, key = 2 + names.index("then"), 2 + names.index("key")
    assert sum(row[at] is None for row in made) == sum(count for each, count in lefts.items() if not rights[each])
    assert Counter(row[key] for row in made if row[at] is not None and row[key] is not None) == {
        each: count * rights[each] for each, count in lefts.items() if rights[each]
    }


def test_what_goes_wrong_is_said() -> None:
    text = ("text",)
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


def test_what_waits_is_explained() -> None:
    a, b = Schema("k a"), Schema("k b", text="string")
    limits = {"queue_bytes": 1 << 16}
    with bench([a, b], lambda *sides: join(*sides, on="k", how="left"), **limits) as made:
        made.send({"k": [1, 2], "a": [10, 20]}, time=3)
        made.inputs[0][0].close()
        made.inputs[0][1].advance_to(7)
        made.settle()
        explained = str(made.group.workers[0].inspection.why("recorder"))
        assert "its frontier is 3, held back by\n  operator 'join' output 0, time 3:\n    1 token" in explained
        made.close()
