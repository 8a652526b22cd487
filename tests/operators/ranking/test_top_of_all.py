"""The first rows of all: each worker's first stage leaves rows out, of which none may be among them."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import Schema
from tokenring.operators import top

BIG = 2**63
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "int64": st.one_of(st.integers(-2, 2), st.sampled_from([BIG - 1, -BIG])),
    "int64?": st.one_of(st.integers(-2, 2), st.none()),
    "uint64": st.one_of(st.integers(0, 2), st.sampled_from([2 * BIG - 1, BIG, BIG - 1])),
    "float64?": st.one_of(st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 1.5, -1.5]), st.none()),
    "bool": st.booleans(),
    "date": st.dates(),
}


def _first(rows: list[tuple[Any, int]], k: int, largest: bool) -> list[tuple[Any, int]]:
    """The first k by value, then by the tie, which is different for each."""
    there = [row for row in rows if row[0] is not None and row[0] == row[0]]
    there.sort(key=lambda row: row[1])
    there.sort(key=lambda row: row[0], reverse=largest)
    return there[:k]


@pytest.mark.parametrize("kind", VALUES)
@settings(max_examples=examples(25), deadline=None)
@given(
    data=st.data(),
    workers=st.integers(1, 3),
    k=st.sampled_from([1, 2, 3, 5000]),
    largest=st.booleans(),
    final=st.booleans(),
)
def test_the_first_rows_of_all(
    kind: str, data: st.DataObject, workers: int, k: int, largest: bool, final: bool
) -> None:
    messages = data.draw(st.lists(st.lists(VALUES[kind], min_size=1, max_size=12), max_size=6))
    number, sent, rows = 0, [], []
    for at, values in enumerate(messages):
        ties = [997 * (number + i) % 1009 for i in range(len(values))]  # in no order, and each another one
        number += len(values)
        sent.append((at % workers, {"value": values, "tie": ties}))
        rows += zip(values, ties, strict=True)

    def declare(stream: Any) -> Any:
        emit = "final" if final else None
        return top(stream, order="value", ties="tie", k=k, largest=largest, emit=emit)

    with bench([Schema(value=kind, tie="int64")], declare, workers) as made:
        for worker, columns in sent:
            made.send(columns, worker=worker)
            made.settle()
        made.close()
        found = {row[-1]: row[2:-1] for row in made.rows}
    assert [found[rank] for rank in sorted(found)] == _first(rows, k, largest)


def test_more_rows_than_a_block_has_pass_where_fewer_than_k_came() -> None:
    count = 5000
    with bench([Schema("value")], lambda stream: top(stream, order="value", k=count)) as made:
        made.send({"value": list(range(count))[::-1]})
        made.send({"value": [7, count, -1]})
        made.close()
        found = {row[-1]: row[2] for row in made.rows}
    assert [found[rank] for rank in range(1, count + 1)] == sorted([*range(count), 7, count], reverse=True)[:count]
