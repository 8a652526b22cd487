"""What is given where one column is wanted, or several, or a window, and is none: each error says what is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.errors import Fact, raises
from tokenring.engine import Schema, SchemaError, Scope, Stream
from tokenring.operators import Count, aggregate, distinct, join, latest, look_up, running_average, select, top

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
