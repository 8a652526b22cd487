"""Keys and orders that are expressions: like columns computed before; named in results, or left out again."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.errors import Fact, raises
from tests.operators.helpers import bench
from tokenring.engine import Schema, SchemaError, Scope, Stream
from tokenring.operators import (
    Count,
    First,
    Last,
    Max,
    Tumbling,
    aggregate,
    col,
    count,
    distinct,
    drop_columns,
    exchange,
    last_by,
    latest,
    partition,
    reduce,
    rename,
    scan,
    top,
    with_columns,
)

ROWS = Schema("k v", name="string?")
GIVEN = {
    "k": [at * 7 % 11 for at in range(40)],
    "v": [at * 13 % 37 for at in range(40)],
    "name": [None if at % 5 == 0 else "abc"[at % 3] for at in range(40)],
}
KEY, UP = col("k") % 3, col("name").upper()
ORDER = col("v") * -1
Declare = Callable[..., Any]


def sizes(rows: Any, starts: Any) -> Any:
    return {"n": [len(starts)] * len(starts), "first": rows["v"][starts]}


def number(state: Any, row: Any) -> Any:
    return state + row["bucket"], {"n": state}


def sent(declare: Callable[[Stream], Any], workers: int) -> list[tuple[Any, ...]]:
    with bench([ROWS], declare, workers=workers) as made:
        for at in range(0, 40, 10):
            made.send({name: values[at : at + 10] for name, values in GIVEN.items()}, worker=0, time=at)
            made.settle()
        made.close()
        return sorted([row[1:] for row in made.rows], key=repr)


NAMED: dict[str, Declare] = {
    "aggregate": lambda s, by, order: aggregate(
        s, by, n=Count(), top=Max("v"), first=First("name", order=order), last=Last("k", order=order)
    ),
    "aggregate at the end": lambda s, by, order: aggregate(s, by, n=Count(), emit="final"),
    "aggregate by window": lambda s, by, order: aggregate(s, by, n=Count(), window=Tumbling("v", 10), lateness=99),
    "count": lambda s, by, order: count(s, by),
    "reduce": lambda s, by, order: reduce(s, by, sizes, Schema("n first")),
    "scan": lambda s, by, order: scan(s, by, number, Schema("n"), initial=0),
    "top": lambda s, by, order: top(s, by, order=col("v"), k=2),
    "last_by": lambda s, by, order: last_by(s, by, order="v"),
    "distinct": lambda s, by, order: distinct(s, by),
    "exchange": lambda s, by, order: exchange(s, by),
}


@pytest.mark.parametrize("workers", [1, 3])
@pytest.mark.parametrize("name", NAMED)
def test_like_columns_that_were_computed_before(name: str, workers: int) -> None:
    declare = NAMED[name]
    by = (KEY.alias("bucket"), "k", UP.alias("up"))

    def before(stream: Stream) -> Any:
        made = with_columns(stream, bucket=KEY, up=UP, order=ORDER)
        order = "order"
        if "aggregate" not in name:
            made, order = with_columns(stream, bucket=KEY, up=UP), "v"
        return declare(made, "bucket k up", order)

    assert sent(lambda stream: declare(stream, by, ORDER), workers) == sent(before, workers)


@pytest.mark.parametrize(
    ("unnamed", "named"),
    [
        (lambda s: distinct(s, KEY), lambda s: distinct(s, "bucket")),
        (lambda s: last_by(s, KEY, order=ORDER), lambda s: last_by(s, "bucket", order="order")),
        (lambda s: top(s, KEY, order=ORDER, k=1), lambda s: top(s, "bucket", order="order", k=1)),
        (lambda s: top(s, KEY, order=ORDER, k=2, ties=KEY * -1),
         lambda s: top(s, "bucket", order="order", k=2, ties="tie")),
        (lambda s: top(s, order=KEY, ties=("k", ORDER), k=3), lambda s: top(s, order="bucket", ties="k order", k=3)),
        (lambda s: exchange(s, (KEY, "k")), lambda s: exchange(s, "bucket k")),
        (lambda s: top(s, KEY, order=ORDER, k=2, window=Tumbling("v", 40)),
         lambda s: top(s, "bucket", order="order", k=2, window=Tumbling("v", 40))),
    ],
)  # fmt: skip
def test_columns_without_a_name_are_left_out_again(unnamed: Declare, named: Declare) -> None:
    schemas = []

    def without(stream: Stream) -> Any:
        made = unnamed(stream)
        schemas.append(made.schema)
        return made

    def of_named(stream: Stream) -> Any:
        made = named(with_columns(stream, bucket=KEY, order=ORDER, tie=KEY * -1))
        return drop_columns(made, "bucket", "order", "tie")

    assert sent(without, 2) == sent(of_named, 2)
    assert not [name for name in schemas[0].names if not name.isidentifier()]


def test_a_function_of_numbers_is_an_expression() -> None:
    assert len(sent(lambda stream: partition(stream, 3, KEY)[1], 1)) == sum(k % 3 == 1 for k in GIVEN["k"])


def test_late_rows_are_as_they_came() -> None:
    stream = Scope("late").new_input(ROWS)[1]
    results, late = aggregate(stream, KEY.alias("bucket"), n=Count(), window=Tumbling("v", 5), late=True)
    assert late.schema == ROWS
    assert results.schema.names == ("window_start", "window_end", "bucket", "n")


def test_updates_know_their_key() -> None:
    stream = Scope("updates").new_input(ROWS)[1]
    latest(count(stream, KEY.alias("bucket")), "bucket")
    unnamed = last_by(stream, KEY, order="v").updates
    assert unnamed is not None and unnamed.by is None  # which row a row replaces cannot be told


@pytest.mark.parametrize(
    ("mistake", "says"),
    [
        (lambda s: count(s, KEY), ("operator 'count'", "(k % 3)", ".alias('name')")),
        (lambda s: count(s, KEY.alias("v")), ("operator 'count'", "column 'v' already", "alias")),
        (lambda s: count(s, (KEY.alias("a"), UP.alias("a"))), ("operator 'count'", "column 'a' already", "alias")),
        (lambda s: count(s, Count().alias("n")), ("operator 'count'", "name or an expression", "not Count(")),
        (lambda s: count(s, ("k", 5)), ("operator 'count'", "name or an expression", "not 5")),
        (lambda s: count(s, 5), ("operator 'count'", "'auction bidder'", "not by 5")),
        (lambda s: distinct(s, col("nowhere") % 2), ("operator 'distinct'", "column 'nowhere'", "k, v, name")),
        (lambda s: top(s, order=UP, k=2), ("operator 'top'", "name.upper()", "string?", "int64", "timestamp")),
        (
            lambda s: aggregate(s, "k", x=First("v", order=UP)),
            ("operator 'aggregate', x", "name.upper()", "int64, timestamp", ".fill_null(...)"),
        ),
    ],
)
def test_mistakes(mistake: Declare, says: Fact) -> None:
    with raises(SchemaError, says):
        mistake(Scope("mistakes").new_input(ROWS)[1])


@pytest.mark.parametrize(
    "made",
    [
        lambda s: distinct(s, KEY),
        lambda s: exchange(s, KEY),
        lambda s: top(s, order=KEY, k=2, emit="final"),
        lambda s: last_by(s, "k", order=KEY),
    ],
)
def test_columns_that_would_be_left_out_are_refused(made: Declare) -> None:
    with raises(SchemaError, "begin with '·unnamed '", ".rename({'·unnamed v': 'other'})"):
        made(rename(Scope("mistakes").new_input(ROWS)[1], {"v": "·unnamed v"}))
