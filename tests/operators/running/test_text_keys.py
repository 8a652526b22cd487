"""Texts as keys, and beside keys, in compiled operators: what Python's operators send of them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tests.operators.helpers import bench, no_text_space
from tokenring.engine import Schema, Stream
from tokenring.operators import Count, CountDistinct, Max, aggregate, col, distinct, filter, last_by, top

SCHEMA = Schema.of({"at": "int64", "name": "string?", "side": "int64", "raw": "bytes?"})
NAMES = st.sampled_from([None, "", "a", "Zoë", "Zoé", "more than one word", "more than One word"])
RAW = st.sampled_from([None, b"", b"\xff\x00", b"x" * 700])
ROWS = st.lists(st.tuples(st.integers(0, 9), NAMES, st.integers(0, 2), RAW), min_size=1, max_size=40)

OPERATORS: dict[str, Callable[[Stream], Stream]] = {
    "changes": lambda rows: aggregate(rows, "name side", n=Count(), at=Max("at"), ats=CountDistinct("at")),
    "by bytes": lambda rows: aggregate(rows, "raw", n=Count()),
    "firsts": lambda rows: distinct(rows, "name raw"),
    "best": lambda rows: top(rows, "side", order="at", k=1),
    "last": lambda rows: last_by(rows, "side", order="at"),
    "filtered": lambda rows: aggregate(filter(rows, col("name").is_in(["a", "Zoë"])), "name", n=Count()),
}


def sent(make: Callable[[Stream], Stream], rows: list[tuple[Any, ...]], size: int, workers: int) -> list[Any]:
    with bench([SCHEMA], make, workers, queue_bytes=1 << 16, checks="exhaustive") as made:
        for number, start in enumerate(range(0, len(rows), size)):
            columns = zip(*rows[start : start + size], strict=True)
            made.send(dict(zip(SCHEMA.names, map(list, columns), strict=True)), worker=number % workers, time=number)
            made.settle()
        made.close()
        return sorted(made.rows, key=repr)


@settings(max_examples=examples(25))
@given(rows=ROWS, size=st.integers(1, 12), workers=st.integers(1, 3), name=st.sampled_from(sorted(OPERATORS)))
def test_as_in_python(rows: list[tuple[Any, ...]], size: int, workers: int, name: str) -> None:
    compiled = sent(OPERATORS[name], rows, size, workers)
    with no_text_space():
        assert compiled == sent(OPERATORS[name], rows, size, workers)


@pytest.mark.parametrize("workers", [1, 2])
def test_many_texts(workers: int) -> None:
    """Tables and parts that grow, more than once a message."""
    rows = [(at, f"name {at * at % 3001}", at % 2, b"r" * (at % 50)) for at in range(9000)]
    for name in ("changes", "firsts"):
        found = sent(OPERATORS[name], rows, 700, workers)
        with no_text_space():
            assert found == sent(OPERATORS[name], rows, 700, workers)
