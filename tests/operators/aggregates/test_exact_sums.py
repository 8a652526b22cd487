"""on_error="stream" of aggregate: results that have no place in 64 bits are a stream of their own; all else as without
it. The oracle adds up Python's integers, which have no edge."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import assert_named, raises
from tests.long_form import examples
from tests.operators.helpers import Bench, bench
from tokenring.engine import Batch, GraphError, OperatorError, Schema, SchemaError, Scope, Stream
from tokenring.operators import (
    Count,
    Last,
    Max,
    Mean,
    Session,
    Sliding,
    Sum,
    Tumbling,
    aggregate,
    col,
    count,
    select,
    top,
)
from tokenring.operators.aggregates import exact_sums
from tokenring.operators.folds import Aggregate
from tokenring.operators.time.windows import Window

Row = tuple[int, int, int | None, bool]
"""key, at, v, w"""
Messages = list[list[Row]]
LEAST = {"int64": -(2**63), "uint64": 0}
MOST = {"int64": 2**63 - 1, "uint64": 2**64 - 1}
NULL = {"int64": -(2**63), "uint64": 2**64 - 1}
"""The number that a column of a nullable kind cannot hold."""
EDGES = {
    "int64": [0, 1, -1, 2**21, -(2**42), 2**42 - 1, 2**62, -(2**62), 2**63 - 1, -(2**63) + 1, -(2**63)],
    "uint64": [0, 1, 2**21 - 1, 2**42, 2**62, 2**63, 2**63 - 1, 2**64 - 2, 2**64 - 1],
}
KINDS = ["int64", "int64?", "uint64", "uint64?"]


def is_w(batch: Batch) -> Any:
    return batch["w"]


AGGREGATES: dict[str, Aggregate] = {
    "total": Sum("v"),
    "some": Sum("v", where=col("w")),
    "mean": Mean("v"),
    "some_mean": Mean("v", where=is_w),
    "halves": Sum(col("v") // 2),
    "n": Count(),
    "present": Count("v", where=col("w")),
    "most": Max("v"),
    "share": Sum("share"),
    "with_w": Sum("w"),
}


def rows_of(kind: str) -> st.SearchStrategy[Row]:
    base, nullable = kind.rstrip("?"), kind.endswith("?")
    numbers = st.sampled_from(EDGES[base]) | st.integers(LEAST[base], MOST[base])
    values: Any = numbers.filter(lambda number: number != NULL[base]) | st.none() if nullable else numbers
    return st.tuples(st.integers(0, 2), st.integers(0, 40), values, st.booleans())


@st.composite
def cases(draw: Any, sizes: int = 8, messages: int = 5) -> tuple[str, list[str], Messages]:
    """A kind, aggregates, and messages of rows."""
    kind = draw(st.sampled_from(KINDS))
    names = draw(st.lists(st.sampled_from(sorted(AGGREGATES)), min_size=1, max_size=4, unique=True))
    row = rows_of(kind)
    some = st.lists(row, min_size=1, max_size=sizes)
    return kind, names, draw(st.lists(some, min_size=1, max_size=messages))


def said(kind: str, name: str, rows: list[Row]) -> tuple[Any, bool]:
    """What an aggregate of rows is, and whether that cannot be said."""
    base, of_some = kind.rstrip("?"), name.startswith("some")
    values = [row[2] for row in rows if row[2] is not None and (row[3] or not of_some)]
    if name == "n":
        return len(rows), False
    if name == "present":
        return len([row for row in rows if row[2] is not None and row[3]]), False
    if name == "share":
        return 0.5 * len(rows), False
    if name == "with_w":
        return sum([row[3] for row in rows]), False
    if not values:
        return None, False
    if name == "most":
        return max(values), False
    total = sum([value // 2 for value in values] if name == "halves" else values)
    fits = LEAST[base] <= total <= MOST[base]
    if name.endswith("mean"):
        return (float(total) / float(len(values)) if fits else None), not fits
    return total, not fits or ((kind.endswith("?") or of_some) and total == NULL[base])


def answer(kind: str, names: Iterable[str], rows: list[Row]) -> tuple[Any, ...] | str:
    """A result; or the name of the first aggregate that cannot be said."""
    found = {name: said(kind, name, rows) for name in names}
    return next((name for name, (_, fails) in found.items() if fails), tuple([value for value, _ in found.values()]))


def schema_of(kind: str) -> Schema:
    return Schema.of({"key": "int64", "at": "int64", "v": kind, "w": "bool", "share": "float64", "text": "string"})


def record(stream: Stream, rows: list[tuple[Any, ...]]) -> None:
    """Have a stream's rows written behind their times."""

    def logic(port: Any) -> None:
        for reference, batch in port:
            columns = [batch[name].tolist() for name in batch.schema.names]
            rows.extend([(reference.time, *row) for row in zip(*columns, strict=True)])

    stream.sink("recorded", lambda context: logic)


def send(made: Bench, kind: str, rows: list[Row], worker: int, time: int | None = None) -> None:
    keys, times, values, chosen = zip(*rows, strict=True)
    numbers = pa.array(values, pa.uint64() if kind.startswith("u") else pa.int64())
    columns = {"key": keys, "at": times, "v": numbers, "w": np.array(chosen), "share": np.full(len(rows), 0.5)}
    made.send(columns | {"text": ["x"] * len(rows)}, worker=worker, time=time)


def run(
    kind: str, messages: Messages, names: list[str], by: str, workers: int, with_text: bool, **how: Any
) -> tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]]:
    """Rows of results and of what failed, in the order in which they came, of messages of which each waits for the one
    before; null is None."""
    failed: list[tuple[Any, ...]] = []
    asked = {name: AGGREGATES[name] for name in names}
    more = {"texts": Count("text")} if with_text else {}

    def declare(stream: Stream) -> Stream:
        results, rows = aggregate(stream, by, on_error="stream", **how, **asked, **more)
        record(rows, failed)
        return results

    with bench([schema_of(kind)], declare, workers, queue_bytes=1 << 18) as made:
        for number, rows in enumerate(messages):
            send(made, kind, rows, number % workers)
            made.settle()
        made.close()
        found = [row[2 : len(row) - len(more)] for row in made.rows]
    return [tuple([None if value != value else value for value in row]) for row in found], [row[1:] for row in failed]


def by_key(rows: Iterable[tuple[Any, ...]], width: int) -> dict[tuple[Any, ...], list[Any]]:
    """What is behind the first columns, by these."""
    found: dict[tuple[Any, ...], list[Any]] = defaultdict(list)
    for row in rows:
        found[row[:width]].append(row[width:])
    return dict(found)


def check(
    kind: str,
    names: list[str],
    expected: list[tuple[tuple[Any, ...], list[Row]]],
    found: tuple[list[tuple[Any, ...]], list[tuple[Any, ...]]],
) -> None:
    """expected: each result by its key's columns, and the rows that it is of, in the order in which a key's come."""
    answers = [(key, answer(kind, names, rows)) for key, rows in expected]
    width = len(expected[0][0])
    good = [(*key, *values) for key, values in answers if not isinstance(values, str)]
    bad = [(*key, name) for key, name in answers if isinstance(name, str)]
    assert by_key(found[0], width) == by_key(good, width)
    told = [(*row[:-1], row[-1].partition("=")[0]) for row in found[1]]
    assert by_key(told, width) == by_key(bad, width)
    assert all([f"the sum left the range of {kind.rstrip('?')}" in row[-1] for row in found[1]])


def rows_so_far(messages: Messages, mode: str, keyed: bool) -> list[tuple[tuple[Any, ...], list[Row]]]:
    """Each result that is said, by its key, and the rows that it is of."""
    if mode == "final":
        messages = [[row for rows in messages for row in rows]]
    groups = [[row] for rows in messages for row in rows] if mode == "each" else messages
    seen: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    said = []
    for rows in groups:
        keys = [row[:1] if keyed else () for row in rows]
        for key, row in zip(keys, rows, strict=True):
            seen[key].append(row)
        said += [(key, list(seen[key])) for key in dict.fromkeys(keys)]
    return said


@settings(max_examples=examples(40))
@given(cases(), st.integers(1, 2), st.booleans())
@pytest.mark.parametrize(
    ("mode", "by"), [("each", "key"), ("batch", "key"), ("batch", ""), ("final", "key"), ("final", "")]
)
def test_running(mode: str, by: str, case: tuple[str, list[str], Messages], workers: int, with_text: bool) -> None:
    """Also a sum that leaves its range and comes back, which is a result again."""
    kind, names, messages = case
    found = run(kind, messages, names, by, workers, with_text, emit=mode)
    check(kind, names, rows_so_far(messages, mode, bool(by)), found)


WINDOWS: list[Window] = [Tumbling("at", 10), Sliding("at", 12, 4), Sliding("at", 10, 4, 1), Session("at", 5)]


def windows_of(window: Any, rows: list[Row]) -> list[tuple[tuple[int, int], list[Row]]]:
    """Windows of one key's rows, and the rows that are in each."""
    if not isinstance(window, Session):
        every = getattr(window, "every", window.width)
        starts = range(window.offset - 20 * every, 60, every)
        inside = [((at, at + window.width), [row for row in rows if at <= row[1] < at + window.width]) for at in starts]
        return [each for each in inside if each[1]]
    found: list[list[Row]] = []
    for row in sorted(rows, key=lambda row: row[1]):
        if not found or row[1] - found[-1][-1][1] >= 5:
            found.append([])
        found[-1].append(row)
    return [((some[0][1], some[-1][1] + 5), some) for some in found]


@settings(max_examples=examples(40))
@given(cases(), st.integers(1, 2), st.booleans(), st.sampled_from(["key", ""]))
@pytest.mark.parametrize("window", WINDOWS, ids=str)
def test_windows(window: Window, case: tuple[str, list[str], Messages], workers: int, with_text: bool, by: str) -> None:
    kind, names, messages = case
    found = run(kind, messages, names, by, workers, with_text, window=window, lateness=40)
    of_key: dict[tuple[Any, ...], list[Row]] = defaultdict(list)
    for rows in messages:
        for row in rows:
            of_key[row[:1] if by else ()].append(row)
    expected = [((*at, *key), some) for key, rows in of_key.items() for at, some in windows_of(window, rows)]
    check(kind, names, expected, found)


@pytest.mark.parametrize("window", [Tumbling("at", 10), Sliding("at", 10, 10), Session("at", 2)], ids=str)
@pytest.mark.parametrize("lateness", [0, 5])
def test_late_rows_are_the_second_of_three_streams(window: Window, lateness: int) -> None:
    late: list[Any] = []
    failed: list[Any] = []

    def declare(stream: Stream) -> Stream:
        results, rows, errors = aggregate(
            stream, "key", window=window, late=True, lateness=lateness, on_error="stream", total=Sum("v")
        )
        assert rows.schema == stream.schema
        assert errors.schema == Schema("window_start window_end key", error="string")
        record(select(rows, "key", "at", "v"), late)
        record(select(errors, "window_end", "key", "error"), failed)
        return select(results, "window_end", "key", "total")

    most = 2**63 - 1
    with bench([schema_of("int64")], declare, workers=2) as made:
        send(made, "int64", [(1, 8, most, True), (2, 8, most, True)], 0)
        send(made, "int64", [(1, 8, 1, True), (1, 28, 5, True)], 1)
        made.settle()
        send(made, "int64", [(2, 9, most, True), (1, 28, most, True), (2, 28, 7, True)], 0, time=10 + lateness)
        made.close()
        assert sorted(row[1:] for row in made.rows) == [
            (10 + lateness, 10, 2, most), (30 + lateness, 30, 2, 7)
        ]  # fmt: skip
    assert late == [(10 + lateness, 2, 9, most)]
    why = "total=Sum('v'): the sum left the range of int64"
    assert sorted(failed) == [(10 + lateness, 10, 1, why), (30 + lateness, 30, 1, why)]


def declared(kind: str = "int64") -> Stream:
    return Scope("declared").new_input(schema_of(kind))[1]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(
    "how",
    [{"by": "key"}, {"emit": "batch"}, {"by": "key w", "emit": "each"}, {"by": "key", "emit": "final"},
     *[{"by": "key", "window": window} for window in WINDOWS],
     {"by": (col("at") // 60).alias("minute"), "window": Tumbling("at", 60, start=None, end="until")}],
)  # fmt: skip
def test_results_are_of_the_same_kinds_and_updates_by_the_same_key(kind: str, how: dict[str, Any]) -> None:
    more = {} if not how.get("by") or "window" in how else {"last": Last("text", order="at")}
    results, failed = aggregate(declared(kind), on_error="stream", **how, **AGGREGATES, **more)
    plain = aggregate(declared(kind), **how, **AGGREGATES, **more)
    assert results.schema == plain.schema
    assert results.updates == plain.updates
    key = plain.schema.names[: plain.schema.names.index("total")]
    assert failed.schema == Schema.of({name: str(plain.schema.kind(name)) for name in key} | {"error": "string"})
    count(failed)  # rows, none of which takes the place of another
    if plain.updates is not None:
        with raises(GraphError, "operator 'top'", "updates"):
            top(results, order="n", k=1)


def test_where_nothing_can_fail_nothing_does() -> None:
    names = ["n", "share", "with_w", "most"]
    rows = [(0, 1, 2**63 - 1, True), (0, 2, 2**63 - 1, True), (1, 2, 5, False)]
    found, failed = run("int64", [rows], names, "key", 1, False)
    assert sorted(found) == [(0, 2, 1.0, 2, 2**63 - 1), (1, 1, 0.5, 0, 5)]
    assert failed == []


def test_many_sums_fail_by_themselves() -> None:
    """Each group by one of its sums, which is named."""
    names = [f"s{at}" for at in range(12)]
    failed: list[Any] = []

    def declare(stream: Stream) -> Stream:
        sums = {name: Sum("v", where=col("at") == at) for at, name in enumerate(names)}
        results, rows = aggregate(stream, "key", emit="final", on_error="stream", **sums)
        record(rows, failed)
        return results

    rows = [(at, at, 2**62, True) for at in range(12)]
    with bench([schema_of("int64")], declare) as made:
        send(made, "int64", [*rows, *rows[:7], (12, 11, 2**62, True)], 0)
        made.close()
        expected = {key: [2**62 if at == min(key, 11) else None for at in range(12)] for key in range(7, 13)}
        assert {row[2]: list(row[3:]) for row in made.rows} == expected
    assert sorted([(row[1], row[2].partition("=")[0]) for row in failed]) == [(at, f"s{at}") for at in range(7)]


@pytest.mark.parametrize("kind", KINDS)
def test_parts_have_room_for_sums_of_2_to_the_42_rows(kind: str) -> None:
    """No test adds up so many rows: each part of a number is that much smaller than what a sum holds."""
    taken: dict[str, Any] = {}

    def aggregated(*parts: Any) -> Any:
        taken.update({f"part {at}": part.value.column for at, part in enumerate(parts)})
        return aggregate(stream, "key", *parts)

    stream = declared(kind)
    exact_sums.with_failed(stream, "parts", "key", {"total": Sum("v")}, aggregated)
    base = kind.rstrip("?")
    made_of = select(stream, **taken).schema
    assert [str(each) for each in made_of.kinds] == [kind, base, base]  # only one counts how many there are
    numbers = [number for number in EDGES[base] if not kind.endswith("?") or number != NULL[base]]
    with bench([schema_of(kind)], lambda rows: select(rows, "v", **taken)) as made:
        send(made, kind, [(0, 0, number, True) for number in numbers], 0)
        made.close()
        assert len(taken) == 3
        for _, _, number, low, middle, high in made.rows:
            assert low + middle * 2**21 + high * 2**42 == number
            for part in (low, middle, high):
                assert LEAST[base] <= part * 2**42 <= MOST[base]


def test_a_row_that_an_expression_fails_at_ends_the_run() -> None:
    def declare(stream: Stream) -> Stream:
        return aggregate(stream, "key", on_error="stream", total=Sum(1 // col("v")))[0]

    with bench([schema_of("int64")], declare) as made, raises(OperatorError, "(1 // v)", "division by zero"):
        send(made, "int64", [(0, 0, 0, True)], 0)
        made.settle()


WRONG: dict[str, Callable[..., Any]] = {
    "no column": lambda s, **how: aggregate(s, "key", total=Sum("u"), name="sums", **how),
    "no column in an expression": lambda s, **how: aggregate(s, "key", total=Sum(col("u") + 1), **how),
    "no key": lambda s, **how: aggregate(s, "kay", total=Sum("v"), **how),
    "a key that is no column": lambda s, **how: aggregate(s, 5, total=Sum("v"), **how),
    "text": lambda s, **how: aggregate(s, "key", total=Sum("text"), **how),
    "no aggregate": lambda s, **how: aggregate(s, "key", total=5, **how),
    "nothing": lambda s, **how: aggregate(s, "key", **how),
    "the key's name": lambda s, **how: aggregate(s, "key", key=Sum("v"), **how),
    "the window's name": lambda s, **how: aggregate(s, "key", window=WINDOWS[0], window_end=Mean("v"), **how),
    "a parameter's name": lambda s, **how: aggregate(s, "key", late=Sum("v"), **how),
    "late without windows": lambda s, **how: aggregate(s, "key", total=Sum("v"), late=True, **how),
    "each of all": lambda s, **how: aggregate(s, total=Sum("v"), emit="each", **how),
    "a condition": lambda s, **how: aggregate(s, "key", total=Sum("v", where=col("v")), **how),
}


@pytest.mark.parametrize("what", WRONG)
def test_mistakes_are_told_as_without_it(what: str) -> None:
    with pytest.raises(SchemaError) as plain:
        WRONG[what](declared())
    with pytest.raises(SchemaError) as raised:
        WRONG[what](declared(), on_error="stream")
    assert str(raised.value) == str(plain.value)


def test_misuse_says_what_there_is() -> None:
    with raises(SchemaError, "operator 'aggregate'", "on_error", "fail", "stream", "'skip'"):
        aggregate(declared(), "key", total=Sum("v"), on_error="skip")  # type: ignore[call-overload]
    with raises(SchemaError, "operator 'sums'", "changes=True", "view.errors()", "leave on_error='stream' out"):
        aggregate(  # type: ignore[call-overload]
            declared(), "key", total=Sum("v"), on_error="stream", changes=True, name="sums"
        )
    with raises(SchemaError, "operator 'aggregate'", "on_error= is a parameter", ".alias('on_error')"):
        aggregate(declared(), "key", on_error=Sum("v"))  # type: ignore[call-overload]
    with raises(SchemaError, "operator 'aggregate'", "'error'"):
        aggregate(declared(), col("key").alias("error"), total=Sum("v"), on_error="stream")


def test_results_may_be_called_as_parameters_are_and_as_the_error_is() -> None:
    stream = declared()
    results, failed = aggregate(stream, "key", Sum("v").alias("late"), error=Mean("v"), on_error="stream")
    assert results.schema == Schema("key late", error="float64")
    assert failed.schema == Schema("key", error="string")


def test_what_the_key_computes_can_be_added_up() -> None:
    failed: list[Any] = []

    def declare(stream: Stream) -> Stream:
        by = (col("v") * 1).alias("number")
        results, rows = aggregate(stream, by, total=Sum("number"), emit="final", on_error="stream")
        record(select(rows, "number"), failed)
        return results

    with bench([schema_of("int64")], declare) as made:
        send(made, "int64", [(0, 0, number, True) for number in (2**62, 5, 2**62, 5)], 0)
        made.close()
        assert [row[2:] for row in made.rows] == [(5, 10)]
    assert [row[1:] for row in failed] == [(2**62,)]


def test_three_streams_are_to_be_unpacked() -> None:
    made: Any = aggregate(declared(), window=WINDOWS[0], late=True, on_error="stream", total=Sum("v"))
    with pytest.raises(AttributeError) as raised:
        made.select("total")
    assert_named(raised.value, "late=True", "3 streams", "`results, late, failed = ...`")
