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
    Sum,
    Tumbling,
    aggregate,
    col,
    collection,
    distinct,
    for_each,
    join,
    latest,
    look_up,
    running_average,
    select,
    top,
)
from tokenring.operators.state import Keys

MISTAKES: dict[str, tuple[Callable[[Any], Any], Fact]] = {
    "a tuple for one": (
        lambda s: latest(s, ("a", "b")),
        ("('a', 'b')", "tuple", "one column", "as text", "a, b, c"),
    ),
    "a tuple for a key": (
        lambda s: running_average(s, ("a", "b"), "c"),
        ("operator 'running_average'", "('a', 'b')", "tuple", "one column"),
    ),
    "two for one": (lambda s: latest(s, "a b"), ("column 'a b'", "one column", "a, b, c")),
    "a number for several": (lambda s: distinct(s, 5), ("'auction bidder'", "('auction', 'bidder')", "not by 5")),
    "a number to join on": (lambda s: join(s, s, on=5), ("'auction bidder'", "('auction', 'bidder')", "not by 5")),
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
    "a text to be among": (lambda s: col("a").is_in("b"), ("is_in([1, 2])", "not 'b'")),
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
