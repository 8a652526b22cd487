"""ArgMax and ArgMin beside plain Python, with ties, nulls and NaN."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.errors import raises
from tests.long_form import examples
from tests.operators.folds.own.modes import MODES, ROW, Row, is_close, results
from tests.operators.helpers import bench
from tokenring.engine import OperatorError, Schema, SchemaError
from tokenring.operators import ArgMax, ArgMin, aggregate, col

AT, KEY, VALUE, SHARE, WIDE, SIDE = range(6)
AGGREGATES = {
    "value_of_most": ArgMax("value", "share"),
    "share_of_least": ArgMin("share", "value", where=col("side")),
    "at_of_widest": ArgMax("at", by="wide"),
    "at_of_narrowest": ArgMin("at", by="wide"),
    "side_of_most": ArgMax("side", col("value") * -1),
}
WHAT: list[tuple[int, int, int, bool]] = [  # column, by, its sign, whether where side
    (VALUE, SHARE, 1, False), (SHARE, VALUE, -1, True), (AT, WIDE, 1, False), (AT, WIDE, -1, False),
    (SIDE, VALUE, -1, False),
]  # fmt: skip
KEEP_ORDER = ("final", "batch", "each", "tumbling")
"""Of one worker, the modes in which the rows of a group are folded as they arrive."""


def candidates(rows: list[Row], column: int, by: int, sign: int, is_sided: bool) -> list[Any]:
    """The values that may be meant, in the order of arrival."""
    there = [row for row in rows if row[column] is not None and row[by] is not None and (row[SIDE] or not is_sided)]
    numbers = [row for row in there if row[by] == row[by]]
    best = max((sign * row[by] for row in numbers), default=None)
    return [row[column] for row in (numbers or there) if best is None or sign * row[by] == best] or [None]


@settings(max_examples=examples(30))
@given(
    rows=st.lists(ROW, max_size=30), mode=st.sampled_from(sorted(MODES)), workers=st.integers(1, 2),
)  # fmt: skip
def test_as_plain_python_has_it(rows: list[Row], mode: str, workers: int) -> None:
    rows.sort(key=lambda row: row[0] // 5)
    found, groups = results(mode, AGGREGATES, rows, workers), MODES[mode][1](rows)
    assert set(found) == set(groups)
    for key, group in groups.items():
        for one, what in zip(found[key], WHAT, strict=True):
            expected = candidates(group, *what)
            if workers == 1 and mode in KEEP_ORDER:
                expected = expected[:1]
            assert any(is_close(one, each) for each in expected), (key, one, expected, group)


def best(schema: Schema, columns: dict[str, Sequence[Any]], **aggregates: Any) -> tuple[Any, ...]:
    """Of all rows."""
    with bench([schema], lambda rows: aggregate(rows, emit="final", **aggregates)) as made:
        made.send(columns)
        made.close()
        ((_, _, *found),) = made.rows
        return tuple(found)


def test_numbers_at_the_ends_of_their_kinds() -> None:
    schema = Schema.of({"n": "int64", "by": "int64", "share": "float64"})
    columns = {"n": [1, 2, 3], "by": [-(2**63), 2**63 - 1, 0], "share": [-math.inf, math.nan, -5e-324]}
    found = best(
        schema, columns, a=ArgMax("n", "by"), b=ArgMin("n", "by"), c=ArgMax("n", "share"), d=ArgMin("n", "share"),
        e=ArgMax("by", "n", where=col("n") == 2), f=ArgMin("n", "share", where=col("n") == 2),
    )  # fmt: skip
    assert found == (2, 1, 3, 1, 2**63 - 1, 2)


@pytest.mark.parametrize(("kind", "word"), [("int64", -(2**63)), ("uint64", 2**64 - 1)])
@pytest.mark.parametrize("aggregate_of", [ArgMax, ArgMin])
def test_a_number_that_stands_for_null_is_none(kind: str, word: int, aggregate_of: type[ArgMax]) -> None:
    """Where there may be nulls: it would become one."""
    schema, columns = Schema.of({"n": kind, "by": "int64"}), {"n": [word], "by": [1]}
    assert best(schema, columns, n=aggregate_of("n", "by")) == (word,)
    with raises(OperatorError, aggregate_of.__name__, "'n'", f"{kind}?", str(word), "stands for null", "leave out"):
        best(schema, columns, n=aggregate_of("n", "by", where=col("by") > 0))
    assert best(schema, columns, n=aggregate_of("n", "by", where=col("by") > 1)) == (None,)


def test_zeros_of_both_signs_are_equal() -> None:
    schema = Schema.of({"n": "int64", "share": "float64"})
    for shares in ([0.0, -0.0], [-0.0, 0.0]):
        assert best(schema, {"n": [1, 2], "share": shares}, a=ArgMax("n", "share"), b=ArgMin("n", "share")) == (1, 1)


@pytest.mark.parametrize("kind", ["string", "bytes?"])
def test_text_is_left_to_top(kind: str) -> None:
    schema = Schema.of({"at": "int64", "name": kind})
    with (
        raises(SchemaError, "operator 'best'", "who", "ArgMax", "'name'", kind, "int64", "top", "k=1"),
        bench([schema], lambda rows: aggregate(rows, name="best", who=ArgMax("name", "at"))),
    ):
        pass
    with (
        raises(SchemaError, "ArgMin", "2 columns", "at"),
        bench([schema], lambda rows: aggregate(rows, who=ArgMin("at"))),
    ):
        pass
