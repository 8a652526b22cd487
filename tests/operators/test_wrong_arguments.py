"""What operators are given and cannot take is refused where it is declared, whichever operator it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import tokenring as tr
from tests.errors import Fact, raises
from tokenring import Stream, col

ROWS = tr.Schema("n m", f="float64", s="string")


def given() -> Stream:
    """A stream of a dataflow that is never built."""
    _, stream = tr.Scope("d").new_input(ROWS)
    return stream


def refused(call: Callable[[Stream], Any], *said: Fact) -> None:
    with raises(tr.UsageError, *said):
        call(given())


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda rows: rows.filter("n", ">", True), ("operator 'filter'", "column 'n' holds whole numbers", "not")),
        (lambda rows: rows.filter("f", "<", True), ("operator 'filter'", "column 'f' holds floats")),
        (lambda rows: rows.top("m", order="n", k=True), ("operator 'top'", "k is")),
        (lambda rows: tr.Variance("n", ddof=True), ("Variance", "ddof=True")),
        (lambda rows: tr.ApproxQuantile("n", q=True), ("ApproxQuantile", "q=True")),
        (lambda rows: rows.partition(True, col("n")), ("operator 'partition'", "at least one part", "True")),
        (lambda rows: rows.select(x=col("s").split_part("/", True)), ("split_part", "True is none")),
        (lambda rows: rows.select(x=col("s").extract("(a)", True)), ("'(a)' has 1 group", "no group True")),
        (lambda rows: rows.limited(lambda part: part, most=True), ("limited region 'limited'", "most=True")),
        (lambda rows: rows.tumbling_average("m", "n", True), ("operator 'tumbling_average'", "width", "not True")),
        (lambda rows: rows.average_of_last("n", "m", rows=True, order="m"), ("operator 'average_of_last'", "rows is")),
    ],
)  # fmt: skip
def test_a_bool_is_no_number(call: Callable[[Stream], Any], said: Fact) -> None:
    refused(call, said)
