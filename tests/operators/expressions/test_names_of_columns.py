"""What is given where one column is wanted, or several, or a window, and is none: each error says what is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.errors import Fact, raises
from tokenring.engine import Exchange, Schema, SchemaError, Scope, Stream
from tokenring.operators import (
    Count,
    First,
    Sum,
    Tumbling,
    aggregate,
    arrange,
    average_of_last,
    best_offers,
    col,
    collection,
    distinct,
    for_each,
    join,
    last_by,
    latest,
    lit,
    look_up,
    running_average,
    select,
    top,
    tumbling_average,
    union,
    when,
    word_count,
)
from tokenring.operators.state import Keys

MISTAKES: dict[str, tuple[Callable[[Any], Any], Fact]] = {
    "a tuple for one": (
        lambda s: latest(s, ("a", "b")),
        ("('a', 'b')", "tuple", "one column", "as text", "a, b, c", "emit='final'"),
    ),
    "a tuple for a key": (
        lambda s: running_average(s, ("a", "b"), "c"),
        ("operator 'running_average'", "('a', 'b')", "tuple", "one column"),
    ),
    "two for one": (lambda s: latest(s, "a b"), ("'latest'", "column 'a b'", "one column", "a, b, c", "emit='final'")),
    "a number for several": (lambda s: distinct(s, 5), ("operator 'distinct'", "'auction bidder'", "not by 5")),
    "a number to join on": (lambda s: join(s, s, on=5), ("operator 'join': on=", "('auction', 'bidder')", "not by 5")),
    "an expression to join on": (lambda s: join(s, s, on=lit(1)), ("'join': on=", "1 before, by with_columns")),
    "a null of no kind": (lambda s: select(s, x=lit(None)), ("operator 'select'", "when(False).then(0)")),
    "texts in order": (
        lambda s: select(s, x=col("a").cast("string") < "b"),
        ("operator 'select'", "string has no order", ".matches('^[a-m]')", "in a collection"),
    ),
    "decimals of two kinds as one": (
        lambda s: union(*[select(s, x=col("a").cast(f"decimal(12, {scale})")) for scale in (2, 3)]),
        ("operator 'union'", "'x' is decimal(12, 2) and decimal(12, 3)", '.cast("decimal(13, 3)") of both'),
    ),
    "numbers that may be null as one with others": (
        lambda s: union(select(s, "a"), select(s, a=when(False).then(0))),
        ("operator 'union'", "int64?", "fill_null"),
    ),
    "other columns as one": (lambda s: union(s, select(s, "a")), ("operator 'union'", "select and rename")),
    "no key of a last row": (lambda s: last_by(s, "", order="a"), ("operator 'last_by'", "by=", "top(order=")),
    "an order that is not there": (
        lambda s: aggregate(s, "a", x=First("b", order="x")),
        ("operator 'aggregate', x", "no column 'x' to order by"),
    ),
    "a list to select": (lambda s: select(s, ["a", "b"]), ("operator 'select'", "one by one", "not as list")),
    "a list to add up": (lambda s: aggregate(s, x=Sum([])), ("'aggregate', x", "column []", "list", "as text")),
    "an array for a column": (lambda s: select(s, x=col(np.arange(2))), ("'select'", "ndarray", "as text", "a, b, c")),
    "a list for a window's time": (
        lambda s: aggregate(s, window=Tumbling([], 10), n=Count()),
        ("operator 'aggregate'", "column []", "window's time"),
    ),
    "a list for a kind": (lambda s: select(s, x=col("a").cast([])), ("a cast leads from int64", "not to []")),
    "a list for a schema's kind": (lambda s: Schema(x=[]), ("column 'x'", "kind must be one of", "not []")),
    "columns in a list that are in a list": (lambda s: Schema("a b").select([["a"]]), ("column ['a']", "as text")),
    "a number for columns that cross": (
        lambda s: for_each(s, print, pact=Exchange("a", 5)),
        ("operator 'for_each'", "'auction bidder'", "not by 5"),
    ),
    "a number for a collection's key": (lambda s: collection(s, key=5), ("'auction bidder'", "not by 5")),
    "a number for the columns of keys": (lambda s: Keys(s.schema, 5), ("'auction bidder'", "not by 5")),
    "a number to be among": (lambda s: col("a").is_in(5), ("is_in([1, 2])", "not 5")),
    "a column to be among": (lambda s: col("a").is_in(col("b")), ("is_in([1, 2])", "not b", "==")),
    "a text to be among": (lambda s: col("a").is_in("b"), "is_in(['b'])"),
    "an array for emit": (lambda s: aggregate(s, "a", n=Count(), emit=np.arange(2)), ("emit is 'each'", "not array")),
    "a list for on_error": (lambda s: select(s, "a", on_error=[]), ("operator 'select'", "on_error is", "not []")),
    "a table of three": (
        lambda s: look_up(s, "a", s, "x"),
        ("operator 'look_up'", "two columns", "Schema(a=int64, b=int64, c=int64)"),
    ),
    "a length for a window": (
        lambda s: aggregate(s, window="1h", n=Count()),
        ("operator 'aggregate'", "Tumbling('time', '1h')", "not '1h'"),
    ),
    "a class for a window": (
        lambda s: top(s, "a", order="b", k=1, window=10),
        ("operator 'top'", "Tumbling('time', '1h')", "not 10"),
    ),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_no_column(mistake: str) -> None:
    declare, says = MISTAKES[mistake]
    stream: Stream = Scope("names").new_input(Schema("a b c"))[1]
    with raises(SchemaError, says):
        declare(stream)


def _offers(intervals: Any, offers: Any, **others: str) -> Any:
    columns = dict.fromkeys(("key", "start", "end", "threshold", "offer_key"), "n")
    return best_offers(intervals, offers, **columns | {"payload": "p", "offer_time": "p", "offer_value": "m"} | others)


WHOLE: dict[str, Callable[[Any, str], Any]] = {
    "word_count": lambda s, x: word_count(s, x, "n"),
    "word_count's time": lambda s, x: word_count(s, "n", x),
    "running_average": lambda s, x: running_average(s, x, "n"),
    "running_average's value": lambda s, x: running_average(s, "n", x),
    "average_of_last": lambda s, x: average_of_last(s, "n", x, rows=2, order="n"),
    "arrange": lambda s, x: arrange(s, x, "n"),
    "arrange's change": lambda s, x: arrange(s, "n", x),
    "look_up": lambda s, x: look_up(s, "n", select(s, "n", "m"), "y"),
    "look_up's key": lambda s, x: look_up(select(s, "n"), "n", select(s, x, "n"), "y"),
    "look_up's value": lambda s, x: look_up(select(s, "n"), "n", select(s, "n", x), "y"),
    "best_offers": lambda s, x: _offers(s, s, start=x),
    "best_offers' value": lambda s, x: _offers(s, select(s, "n", "p", x), offer_value=x),
    "tumbling_average": lambda s, x: tumbling_average(s, x, "n", 5),
    "tumbling_average's value": lambda s, x: tumbling_average(s, "n", x, 5),
}


@pytest.mark.parametrize("operator", WHOLE)
@pytest.mark.parametrize(
    ("kind", "cure"),
    [("int64?", ".fill_null(...)"), ("string", '.cast("int64")'), ("timestamp?", '.cast("int64").fill_null(...)')],
)
def test_columns_whose_words_are_taken_for_int64_are_so(operator: str, kind: str, cure: str) -> None:
    stream: Stream = Scope("kinds").new_input(Schema("n m p", x=kind))[1]
    with raises(SchemaError, "operator", operator.split("'")[0], "column 'x'", kind, "must be int64", cure):
        WHOLE[operator](stream, "x")
