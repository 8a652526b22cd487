"""where, map_batches, filter_batches: against numpy, whatever the columns, and passing on what they need not touch."""

from __future__ import annotations

import math
import operator
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.errors import Fact, raises
from tests.operators.helpers import bench
from tokenring.engine import Batch, OperatorError, Schema, SchemaError, Scope, Stream
from tokenring.operators import branch, col, filter, filter_batches, map_batches, partition
from tokenring.operators.rows.filter import Where

COMPARE: dict[str, Any] = {
    "<": operator.lt,
    "<=": operator.le,
    "==": operator.eq,
    "!=": operator.ne,
    ">=": operator.ge,
    ">": operator.gt,
}
MIXED = Schema(whole="int64", unsigned="uint64", real="float64")
WHOLE = st.one_of(st.integers(-3, 3), st.sampled_from([-(2**63), 2**63 - 1]))
UNSIGNED = st.one_of(st.integers(0, 3), st.sampled_from([2**63 - 1, 2**63, 2**64 - 1]))
REAL = st.one_of(st.sampled_from([0.0, -0.0, float("nan"), float("inf"), -float("inf"), 5e-324]), st.floats())
BEYOND = st.one_of(WHOLE, UNSIGNED, st.integers(-(2**70), 2**70))
COMPARISON = st.one_of(
    st.tuples(st.sampled_from(["whole", "unsigned"]), st.sampled_from(sorted(COMPARE)), BEYOND),
    st.tuples(st.just("real"), st.sampled_from(sorted(COMPARE)), REAL),
)


NAN = float("nan")
ALL = [(0, 0, -math.inf), (0, 0, -0.0), (0, 0, 1.5), (0, 0, math.inf), (0, 0, NAN)]


@example(ALL, [("real", "<", NAN)])
@example(ALL, [("real", "<=", NAN)])
@example(ALL, [("real", "!=", NAN)])
@example(ALL, [("real", ">=", NAN)])
@example(ALL, [("real", ">", NAN)])
@given(
    st.lists(st.tuples(WHOLE, UNSIGNED, REAL), min_size=1, max_size=8),
    st.lists(COMPARISON, min_size=1, max_size=4),
)
def test_where_chooses_as_python_compares(
    rows: list[tuple[int, int, float]], chain: list[tuple[str, str, Any]]
) -> None:
    whole, unsigned, real = zip(*rows, strict=True)
    batch = Batch(MIXED, {"whole": whole, "unsigned": np.array(unsigned, np.uint64), "real": np.array(real)})
    expected = [
        row
        for row in rows
        if all(COMPARE[how](row[MIXED.position(column)], constant) for column, how, constant in chain)
    ]
    chosen = Where.fused([Where(MIXED, *each) for each in chain])(batch)
    got = [] if chosen is None else list(zip(*[column.tolist() for column in chosen.columns], strict=True))
    assert repr(got) == repr(expected)  # repr, since NaN is no equal of itself and zeros have signs
    assert len(expected) < len(rows) or chosen is batch, "a whole batch passes by reference"


def test_a_chain_of_where_is_one_function() -> None:
    def declare(stream: Stream) -> Stream:
        for constant in range(300):
            stream = filter(stream, "value", "!=", constant)
        return filter(stream, "value", "<", 400)

    with bench([Schema("value")], declare, workers=2) as made:
        made.send({"value": np.arange(500)})
        made.send({"value": np.arange(300)})
        made.close()
        assert made.sent() == [(0, value) for value in range(300, 400)]


@pytest.mark.parametrize(
    ("column", "how", "constant", "says"),
    [
        ("price", "<", 1, ("column 'price'", "whole, unsigned, real")),
        ("whole", "=", 1, ("column 'whole'", "<, <=, ==, !=, >= or >", "not '='")),
        ("whole", "<", 0.5, ("column 'whole'", "whole numbers", "not with 0.5")),
        ("unsigned", "<", "5", ("column 'unsigned'", "whole numbers", "not with '5'")),
        ("real", "<", None, ("column 'real'", "floats", "not None")),
    ],
)
def test_where_refuses_what_it_cannot_compare(column: str, how: str, constant: Any, says: Fact) -> None:
    _, stream = Scope("refused").new_input(MIXED)
    with raises(SchemaError, "operator 'filter'", says):
        filter(stream, column, how, constant)


def test_workers_compare_what_where_compares() -> None:
    def digest(constant: int, how: str = "<") -> int:
        scope = Scope("digest")
        filter(scope.new_input(MIXED)[1], "whole", how, constant)
        return scope.graph.digest()

    assert digest(1) == digest(1)
    assert len({digest(1), digest(2), digest(1, "<=")}) == 3


def test_functions_of_batches() -> None:
    def declare(stream: Stream) -> Stream:
        double = Schema("double value")
        kept = filter_batches(stream, lambda batch: batch["value"] > 1)
        mapped = map_batches(kept, double, lambda batch: {"value": batch["value"], "double": 2 * batch["value"]})
        return map_batches(
            mapped,
            double,
            lambda batch: None if batch["double"][0] > 100 else dict(zip(double.names, batch.columns, strict=True)),
        )

    with bench([Schema("value")], declare) as made:
        made.send({"value": [1, 2, 3]})
        made.send({"value": [0]})
        made.send({"value": [99]}, time=5)
        made.close()
        assert made.sent() == [(0, 4, 2), (0, 6, 3)]


@pytest.mark.parametrize(
    "divide",
    [
        lambda stream: branch(stream, col("value") > 1)[0],
        lambda stream: branch(stream, lambda rows: rows["value"] > 1)[0],
        lambda stream: partition(stream, 2, col("value") // 2)[1],
        lambda stream: partition(stream, 2, lambda rows: rows["value"] // 2)[1],
    ],
)
def test_a_column_may_be_called_as_the_number_of_a_branch(divide: Any) -> None:
    with bench([Schema.of({"·branch": "int64", "value": "int64"})], divide) as made:
        made.send({"·branch": [7, 8, 9], "value": [1, 2, 3]})
        made.close()
        assert made.sent() == [(0, 8, 2), (0, 9, 3)]


def test_a_filter_that_is_no_mask_is_named() -> None:
    with (
        bench([Schema("value")], lambda stream: filter_batches(stream, lambda batch: batch["value"])) as made,
        raises(OperatorError, "operator 'filter_batches'", "worker 0", "int64 of shape (2,)", "bool of shape (2,)"),
    ):
        made.send({"value": [1, 2]})
