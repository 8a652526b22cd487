"""average_of_last against a plain reference, rows in any order on several workers; its edges and errors."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.helpers import bench
from tokenring.engine import OperatorError, Schema, SchemaError, Stream
from tokenring.operators import average_of_last

ROWS = Schema("key value at n")
HUGE = 2**63 - 1


def _declare(stream: Stream) -> Stream:
    return average_of_last(stream, "key", "value", rows=3, order="at n")


def _expected(rows: list[tuple[int, int, int, int]]) -> list[tuple[int, int, int]]:
    seen: dict[int, list[int]] = {}
    answers = []
    for key, value, _, _ in sorted(rows, key=lambda row: row[2:]):
        last = [*seen.get(key, []), value][-3:]
        seen[key] = last
        answers.append((key, sum(last) // len(last), len(last)))
    return answers


@settings(max_examples=examples(40))
@given(
    rows=st.lists(st.tuples(st.integers(-2, 2), st.integers(-9, 9), st.integers(0, 20)), max_size=40),
    workers=st.integers(1, 3),
    data=st.data(),
)
def test_rows_in_any_order(rows: list[tuple[int, int, int]], workers: int, data: st.DataObject) -> None:
    numbered = [(*row, at) for at, row in enumerate(rows)]
    with bench([ROWS], _declare, workers) as made:
        for low in range(0, 21, 7):  # stretches of time follow each other, rows within them do not
            stretch = data.draw(st.permutations([row for row in numbered if low <= row[2] < low + 7]))
            made.advance(low)
            for row in stretch:
                names = zip(ROWS.names, row, strict=True)
                made.send({name: [cell] for name, cell in names}, worker=data.draw(st.integers(0, workers - 1)))
            made.settle()
            assert all(time < max(low, 1) for _, time, *_ in made.rows), "nothing before its time is finished"
        made.close()
        for key in {row[0] for row in rows}:
            ours = [row[2:] for row in made.rows if row[2] == key]
            assert ours == [row for row in _expected(numbered) if row[0] == key]


@pytest.mark.parametrize("values", [[HUGE, -5, 6], [-HUGE, HUGE, HUGE, -5], [-2, -HUGE]])
def test_a_sum_that_leaves_int64(values: list[int]) -> None:
    with bench([ROWS], _declare) as made:
        rows = len(values)
        made.send({"key": [1] * rows, "value": values, "at": [0] * rows, "n": range(rows)})
        with raises(OperatorError, "operator 'average_of_last'", "sum of 'value'", "int64"):
            made.close()


def test_columns_that_do_not_fit() -> None:
    cases = {
        ("operator 'average_of_last'", "column 'key'"): ("key", "key", "at"),
        ("column 'when'", "key, value, at, n"): ("key", "value", "when"),
        ("operator 'average_of_last'", "order", "at least 1"): ("key", "value", ""),
        ("operator 'average_of_last'", "called 'count'", ".rename({'count': 'other'})"): ("count", "value", "at"),
    }
    for told, (key, value, order) in cases.items():
        with raises(SchemaError, told):  # noqa: SIM117
            with bench([ROWS], lambda stream, k=key, v=value, o=order: average_of_last(stream, k, v, rows=2, order=o)):
                pass
