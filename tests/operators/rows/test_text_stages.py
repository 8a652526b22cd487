"""Stages that compare, choose and make text in the worker's inner loop give what they give in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import build, settle, simulated
from tests.errors import raises
from tests.long_form import examples
from tokenring.engine import Batch, OperatorError, Schema, Scope, Stream, Worker
from tokenring.engine.native import STAGE
from tokenring.engine.raw import text_space
from tokenring.operators import Collected, col, collect, filter, lit, select, union, when, with_columns
from tokenring.operators.expressions import stages
from tokenring.operators.expressions.stages import made_columns

ROWS = Schema.of({"number": "int64", "one": "string?", "two": "string?"})
Rows = list[tuple[int, str | None, str | None]]


def tree(stream: Stream) -> list[Stream]:
    """Stages of all that is done with text."""
    one, two, number = col("one"), col("two"), col("number")
    kind = when(one == "apple").then("fruit").when(one.is_in(["", "äö"])).then(None).otherwise("other")
    small = with_columns(stream, low=one.lower(), high=two.upper(), part=one.split_part("/", 2), both=one + "-" + two)
    return [
        filter(stream, one == "apple"),
        filter(stream, one.is_in(["apple", "", "äö"]) & (number != 3)),
        filter(stream, one.starts_with("a") | two.ends_with("e") | one.contains("pp")),
        filter(stream, one == two),
        with_columns(stream, kind=kind, named=when(number > 2).then("many").otherwise(two)),
        select(filter(with_columns(stream, kind=kind), col("kind") == "other"), "kind", "two", said=lit("always")),
        with_columns(stream, least=one.fill_null(""), most=when(one.is_null()).then(two).otherwise(one)),
        small,
        filter(small, col("low").contains("le") | (col("part") == "b")),
        with_columns(stream, said=lit("at ") + number.cast("string"), day=number.cast("timestamp").format_time("%Y")),
        select(filter(stream, number % 2 == 0), found=one.extract("(a+)"), ends=one.matches("e$"), a=one.count_of("a")),
        with_columns(stream, size=one.length(), twice=one.upper().length() + number, pp=(one + two).count_of("pp")),
        select(stream, read=one.cast("string").fill_null("7").try_cast("int64"), real=two.try_cast("float64")),
        filter(with_columns(stream, x=one.lower()), col("x").is_not_null() & (number >= 0)),
    ]


def batch_of(rows: Rows, is_common: bool) -> Batch:
    """Rows whose texts all workers have in common, or whose bytes they bring."""
    columns = list(zip(*rows, strict=True))
    if not is_common:
        return Batch(ROWS, dict(zip(ROWS.names, [list(column) for column in columns], strict=True)))
    space = text_space()
    assert space is not None
    words = [
        np.array([-1 if text is None else space.constant(text.encode()) for text in column], np.int64)
        for column in columns[1:]
    ]
    return Batch.wrap(ROWS, (np.array(columns[0], np.int64), *words), len(rows), (None, space.heap, space.heap))


def both_ways(given: list[tuple[Rows, bool]], workers: int = 1) -> tuple[str, str, int]:
    """The rows of each stream of `tree`, by Python's stages and by compiled ones, and how many of these."""

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(ROWS)
        none, nothing = scope.new_input(ROWS)
        together = union(stream, nothing)
        return (handle, none), [[collect(each) for each in tree(source)] for source in (stream, together)]

    with simulated(workers, queue_bytes=1 << 16) as group:
        made = build(group, on_worker)
        for (_, none), _ in made:
            none.close()
        edges = group.workers[0].world.edges
        count = int((edges["kind"][edges["origin"] != 0] == STAGE).sum())
        for time, (rows, is_common) in enumerate(given):
            for (handle, _), _ in made:
                if rows:
                    batch = batch_of(rows, is_common)
                    handle.send(batch)
                    handle.send(batch.slice(len(rows) // 2, len(rows)))
                handle.advance_to(time + 1)
            settle(group)
        for (handle, _), _ in made:
            handle.close()
        settle(group)
        assert all(worker.complete for worker in group.workers)
        found = [[[rows_of(each) for each in both[at]] for _, both in made] for at in (0, 1)]
        return repr(found[0]), repr(found[1]), count  # NaN is itself there


def rows_of(collected: Collected) -> list[tuple[Any, ...]]:
    return list(zip(*[column.tolist() for column in collected.columns().values()], strict=True))


SOME = ["apple", "Apple", "", "äö", "ÄÖ", "a/b/c", "pp" * 200, "12", "-3.5", "ß/b"]
texts = st.none() | st.sampled_from(SOME) | st.text("aApe/\u00e4\u0130", max_size=5)
rows = st.lists(st.tuples(st.integers(-3, 6), texts, texts), max_size=12)


@settings(max_examples=examples(15), deadline=None)
@given(st.lists(st.tuples(rows, st.booleans()), min_size=1, max_size=4))
def test_they_give_what_python_gives(given: list[tuple[Rows, bool]]) -> None:
    python, compiled, count = both_ways(given)
    assert compiled == python
    assert count == 14


def many(count: int) -> list[tuple[Rows, bool]]:
    """Messages of rows of which many are different, and some come again."""
    rng = np.random.default_rng(1)
    return [
        ([(at, f"text {number}/{number % 7}", f"{number % 3}") for at, number in enumerate(rng.integers(0, count, 60))],
         is_common)
        for is_common in (True, True, False, True, True, True)
    ]  # fmt: skip


@pytest.mark.parametrize("most", [3, 50, 70, 1 << 15])
def test_what_is_forgotten_or_given_up_is_made_again(monkeypatch: pytest.MonkeyPatch, most: int) -> None:
    python, compiled, _ = both_ways(many(40) + many(200), workers=2)
    assert compiled == python
    known: list[int] = []
    begin = made_columns.MadeColumns._begin_anew
    monkeypatch.setattr(made_columns.MadeColumns, "_begin_anew", lambda self: known.append(most) or begin(self))
    python, compiled, _ = both_ways(many(40), workers=1)
    assert compiled == python


def test_words_are_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    make = made_columns.MadeColumns._results_of

    def results_of(self: stages.MadeColumns, batch: Batch) -> Any:
        counted.append(batch.rows)
        return make(self, batch)

    monkeypatch.setattr(made_columns.MadeColumns, "_results_of", results_of)

    def on_worker(worker: Worker, scope: Scope) -> Any:
        handle, stream = scope.new_input(ROWS)
        none, nothing = scope.new_input(ROWS)
        return handle, none, collect(with_columns(union(stream, nothing), low=col("one").lower()))

    with simulated(1) as group:
        ((handle, none, collected),) = build(group, on_worker)
        none.close()
        for time in range(3):
            handle.send(batch_of([(0, "Apple", None), (1, "apple", None), (2, "Apple", None), (3, None, None)], True))
            handle.advance_to(time + 1)
            settle(group)
        assert counted == [3], "each word once, null with them"
        handle.send(batch_of([(0, "Apple", None)] * 5, False))
        handle.advance_to(9)
        settle(group)
        assert counted == [3, 5], "texts that came with their bytes are not remembered"
        handle.close()
        settle(group)
        assert collected.columns()["low"].tolist() == ["apple", "apple", "apple", None] * 3 + ["apple"] * 5


def test_an_error_of_a_function_is_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(self: stages.MadeColumns, batch: Batch) -> Any:
        raise ValueError("no such thing")

    monkeypatch.setattr(made_columns.MadeColumns, "_results_of", fail)
    with raises(OperatorError, "operator 'with_columns'", "worker 0", "ValueError: no such thing"):
        both_ways([([(1, "a", "b")], True)])
