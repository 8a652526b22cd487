"""What is given where one column is wanted, or several, or a window, and is none: each error says what is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tokenring.engine import Schema, SchemaError, Scope, Stream
from tokenring.operators import Count, aggregate, distinct, join, latest, look_up, running_average, select, top

MISTAKES: dict[str, tuple[Callable[[Any], Any], str]] = {
    "a tuple for one": (
        lambda s: latest(s, ("a", "b")),
        r"no column \('a', 'b'\), which is tuple: the name of one column is wanted, as text; the columns are a, b, c",
    ),
    "a tuple for a key": (
        lambda s: running_average(s, ("a", "b"), "c"),
        "operator 'running_average': no column .* which is tuple: the name of one column is wanted",
    ),
    "two for one": (lambda s: latest(s, "a b"), "no column 'a b': one column is wanted here, not several"),
    "a number for several": (lambda s: distinct(s, 5), r"columns are named as 'auction bidder' or .*, not by 5"),
    "a number to join on": (lambda s: join(s, s, on=5), r"columns are named as 'auction bidder' or .*, not by 5"),
    "a list to select": (lambda s: select(s, ["a", "b"]), "'select': give the columns one by one, not as list"),
    "a table of three": (lambda s: look_up(s, "a", s, "x"), "operator 'look_up': the table has two columns, a key and"),
    "a length for a window": (lambda s: aggregate(s, window="1h", n=Count()), r"a window is Tumbling\(.* not '1h'"),
    "a class for a window": (lambda s: top(s, "a", order="b", k=1, window=10), r"'top': a window is .* not 10"),
}


@pytest.mark.parametrize("mistake", MISTAKES)
def test_what_is_no_column(mistake: str) -> None:
    declare, says = MISTAKES[mistake]
    stream: Stream = Scope("names").new_input(Schema("a b c"))[1]
    with pytest.raises(SchemaError, match=says):
        declare(stream)
