"""Aggregates of one's own: five functions, in all modes, with what they take and give, and what they may not."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import xor
from random import Random
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.engine.helpers import simulated
from tests.errors import raises
from tests.long_form import examples
from tests.operators.folds.own.modes import MODES, ROW, ROWS, Row, assert_alike, declared, results
from tests.operators.helpers import bench
from tests.operators.moving import changes, moving, rows_sent
from tokenring.engine import OperatorError, Schema, SchemaError, Stream, kernel
from tokenring.operators import (
    ApproxQuantile,
    ArgMax,
    ArgMin,
    Count,
    First,
    OwnAggregate,
    Sliding,
    StdDev,
    Sum,
    Variance,
    aggregate,
    col,
)
from tokenring.operators.aggregates import Aggregate
from tokenring.operators.migrate import Change
from tokenring.shm.errors import KernelError

Made = Callable[..., Aggregate]


# The exclusive or of all values and how many there are: what retracts, exactly.


def _start_mark(state: Any) -> None:
    state.mark, state.count = 0, 0


def _add_to_mark(state: Any, value: Any) -> None:
    state.mark ^= value
    state.count += 1


def _combine_marks(state: Any, other: Any) -> None:
    state.mark ^= other.mark
    state.count += other.count


def _retract_marks(state: Any, other: Any) -> None:
    state.mark ^= other.mark
    state.count -= other.count


def _mark_of(state: Any) -> Any:
    return state.mark if state.count > 0 else None


MARK = OwnAggregate(
    "mark", state=[("mark", "int64"), ("count", "int64")], takes="int64", gives="int64?", init=_start_mark,
    update=_add_to_mark, combine=_combine_marks, finalize=_mark_of, retract=_retract_marks,
)  # fmt: skip


# A mean of one column weighted by another, of kernels.


@kernel
def _start_weights(state: Any) -> None:
    state.weight, state.total = 0.0, 0.0


@kernel
def _weigh(state: Any, value: Any, weight: Any) -> None:
    state.weight += weight
    state.total += weight * value


@kernel
def _combine_weights(state: Any, other: Any) -> None:
    state.weight += other.weight
    state.total += other.total


@kernel
def _weighted(state: Any) -> Any:
    return state.total / state.weight if state.weight != 0 else None


WEIGHTED = OwnAggregate(
    "weighted", state=[("weight", "float64"), ("total", "float64")], takes=("float64", "float64"), gives="float64?",
    init=_start_weights, update=_weigh, combine=_combine_weights, finalize=_weighted,
)  # fmt: skip


# One that raises where it meets 13, while it adds rows, or while it combines; or in the end.


def _refuse(state: Any, value: Any) -> None:
    if value == 13:
        raise ValueError("13")
    state.mark = max(state.mark, value)


def _refuse_states(state: Any, other: Any) -> None:
    if other.mark == 14:
        raise ValueError("14")
    state.mark = max(state.mark, other.mark)


def _refuse_result(state: Any) -> Any:
    if state.mark == 15:
        raise ValueError("15")
    return state.mark


def _least_of_16(state: Any) -> Any:
    return state.mark if state.mark != 16 else -(2**63)


def _null_of_16(state: Any) -> Any:
    return state.mark if state.mark != 16 else None


REFUSING = OwnAggregate(
    "refusing", state=[("mark", "int64"), ("count", "int64")], takes="int64", gives="int64?", init=_start_mark,
    update=_refuse, combine=_refuse_states, finalize=_refuse_result,
)  # fmt: skip
UNSIGNED = OwnAggregate(
    "unsigned", state=[("mark", "int64"), ("count", "int64")], takes="int64", gives="uint64", init=_start_mark,
    update=_add_to_mark, combine=_combine_marks, finalize=_null_of_16,
)  # fmt: skip
IS_ANY = OwnAggregate(
    "is_any", state=[("mark", "int64"), ("count", "int64")], takes="int64", gives="bool?", init=_start_mark,
    update=_add_to_mark, combine=_combine_marks, finalize=_null_of_16,
)  # fmt: skip

AGGREGATES = {
    "mark": MARK("value"),
    "sided": MARK("value", where=col("side")),
    "weighted": WEIGHTED("share", col("value") + 5),
    "n": Count(),
    "spread": Variance("value", ddof=0),
}


def marked(rows: list[Row]) -> int | None:
    values = [row[2] for row in rows if row[2] is not None]
    return reduce(xor, values) if values else None


def weighted(rows: list[Row]) -> float | None:
    pairs = [(row[3], row[2] + 5) for row in rows if row[2] is not None]
    weight = sum(weight for _, weight in pairs)
    return sum(value * weight for value, weight in pairs) / weight if weight else None


def spread(rows: list[Row]) -> float | None:
    values = [row[2] for row in rows if row[2] is not None]
    return float(np.var(values)) if values else None


ORACLES: list[Callable[[list[Row]], Any]] = [
    marked, lambda rows: marked([row for row in rows if row[5]]), weighted, len, spread,
]  # fmt: skip


@settings(max_examples=examples(30))
@given(
    rows=st.lists(ROW, max_size=30), mode=st.sampled_from(sorted(MODES)), workers=st.integers(1, 2),
)  # fmt: skip
def test_in_all_modes(rows: list[Row], mode: str, workers: int) -> None:
    rows.sort(key=lambda row: row[0] // 5)
    assert_alike(results(mode, AGGREGATES, rows, workers), ORACLES, MODES[mode][1](rows))


@pytest.mark.parametrize("workers", [1, 2])
def test_what_retracts_is_moved_on_from_window_to_window(workers: int) -> None:
    dice = Random(11)
    rows: list[Row] = [(at // 3, dice.choice([None, 1, 2]), dice.randrange(99), 0.0, 0, True) for at in range(120)]
    moved = {"mark": MARK("value"), "n": Count(), "total": Sum("value")}
    oracles: list[Callable[[list[Row]], Any]] = [marked, len, lambda rows: sum(row[2] for row in rows)]
    assert_alike(results("sliding", moved, rows, workers), oracles, MODES["sliding"][1](rows))


@pytest.mark.parametrize("mode", MODES)
def test_nothing_is_left_to_python(mode: str) -> None:
    aggregates = {
        "mark": MARK("value"), "best": ArgMax("value", "share"), "worst": ArgMin("at", "wide"),
        "variance": Variance("value"), "deviation": StdDev("share", where=col("side")),
        "median": ApproxQuantile("wide"),
    }  # fmt: skip
    with simulated(1, queue_bytes=1 << 19) as group:
        (worker,) = group.workers
        with worker.dataflow() as scope:
            declared(mode, aggregates)(scope.new_input(ROWS)[1])
        made = {spec.name: spec.is_compiled for spec in scope.graph.operators}
    assert made.pop("input") is False
    assert made
    assert all(made.values())


@settings(max_examples=examples(6))
@given(
    rows=st.lists(ROW, min_size=8, max_size=40), mode=st.sampled_from(["final", "tumbling", "sliding", "sessions"]),
    moves=changes(2, 12),
)  # fmt: skip
def test_where_bins_move(rows: list[Row], mode: str, moves: list[Change]) -> None:
    schema = Schema.of({name: str(kind) for name, kind in zip(ROWS.names[:4], ROWS.kinds, strict=False)})
    aggregates = {
        "mark": MARK("value"), "last": ArgMax("at", "at"), "spread": Variance("value"),
        "low": ApproxQuantile("at", 0.3),
    }  # fmt: skip
    rows.sort(key=lambda row: row[0])
    sent = [(row[0] // 4, at % 2, 0, [row[:4]]) for at, row in enumerate(rows)]
    made = declared(mode, aggregates)
    stayed = rows_sent([schema], made, sent, 2, queue=1 << 19)
    moved = rows_sent([schema], moving(made, 2, moves), sent, 2, queue=1 << 19)
    # Without times: windows that are over together are one message, of one worker.
    found, expected = (sorted([repr(tuple(map(_rounded, row[1:]))) for row in sent]) for sent in (moved, stayed))
    assert found == expected


def _rounded(value: Any) -> Any:
    """States are combined in another order, which is seen in a float's last digits."""
    return None if value != value else float(f"{value:.9g}") + 0.0 if isinstance(value, float) else value


def test_beside_texts_that_are_kept() -> None:
    schema = Schema.of({"at": "int64", "name": "string", "value": "int64"})

    def named(rows: Stream) -> Stream:
        window = Sliding("at", 10, 5)
        return aggregate(rows, window=window, first=First("name"), mark=MARK("value"), spread=Variance("value"))

    with bench([schema], named, 2) as made:
        made.send({"at": [1, 2, 6], "name": ["a", "b", "c"], "value": [5, 3, 9]})
        made.send({"at": [3, 7], "name": ["d", "e"], "value": [1, 9]}, worker=1)
        made.close()
        found = sorted(row[2:] for row in made.rows)
    assert [row[:4] for row in found] == [(-5, 5, "a", 5 ^ 3 ^ 1), (0, 10, "a", 5 ^ 3 ^ 9 ^ 1 ^ 9), (5, 15, "c", 0)]
    assert [row[4] for row in found] == pytest.approx([4.0, np.var([5, 3, 9, 1, 9], ddof=1), 0.0])


def _refuse_to_start(state: Any) -> None:
    raise ValueError("nothing")


def _own(**given: Any) -> OwnAggregate:
    """MARK, but for what is given."""
    right: dict[str, Any] = {
        "name": "odd", "state": [("mark", "int64"), ("count", "int64")], "takes": "int64", "gives": "int64?",
        "init": _start_mark, "update": _add_to_mark, "combine": _combine_marks, "finalize": _mark_of,
    }  # fmt: skip
    return OwnAggregate(**right | given)


def _finals(made: OwnAggregate, values: list[int], kind: str = "int64") -> list[Any]:
    """By key, each of which has one of the values."""
    schema = Schema.of({"key": "int64", "value": kind})
    with bench([schema], lambda rows: aggregate(rows, "key", emit="final", made=made("value"))) as bed:
        bed.send({"key": list(range(len(values))), "value": values})
        bed.close()
        return [row[3] for row in sorted(bed.rows)]


@pytest.mark.parametrize("mode", MODES)
def test_an_init_that_raises_ends_the_run(mode: str) -> None:
    with raises(OperatorError, "aggregate 'odd'", "init raised"):
        results(mode, {"made": _own(init=_refuse_to_start)("value")}, [(0, 1, 2, 0.0, 0, True)], 1)


@pytest.mark.parametrize(
    ("gives", "kind"), [("timestamp", "int64"), ("date", "int64"), ("same", "timestamp")],
)  # fmt: skip
def test_the_word_that_stands_for_null_is_no_time(gives: str, kind: str) -> None:
    with raises(OperatorError, "finalize of odd", "cannot hold", str(-(2**63)), "stands for null"):
        _finals(_own(gives=gives, finalize=_least_of_16), [1, 16], kind)


@pytest.mark.parametrize("gives", ["int64", "same"])
def test_it_is_a_number_where_no_result_may_be_null(gives: str) -> None:
    assert _finals(_own(gives=gives, finalize=_least_of_16), [1, 16]) == [1, -(2**63)]


@pytest.mark.parametrize(
    ("made", "value", "facts"),
    [
        (REFUSING, 13, ("operator 'aggregate.local'", "refusing", "raised")),
        (REFUSING, 14, ("operator 'aggregate'", "refusing", "raised")),
        (REFUSING, 15, ("operator 'aggregate'", "finalize of refusing", "raised", "int64?", "None")),
        (MARK, -(2**63), ("operator 'aggregate'", "finalize of mark", str(-(2**63)), "stands for null", "int64?")),
        (UNSIGNED, 16, ("operator 'aggregate'", "finalize of unsigned", "uint64", "gives='uint64?'")),
        (UNSIGNED, -3, ("operator 'aggregate'", "finalize of unsigned", "uint64")),
    ],
)  # fmt: skip
def test_what_raises(made: OwnAggregate, value: int, facts: tuple[str, ...]) -> None:
    """Each ends the run; so does a result that its kind cannot hold."""
    with raises(OperatorError, *facts, "'value'"):
        _finals(made, [1, value, 2])


def test_a_bool_is_true_of_all_but_0() -> None:
    assert _finals(IS_ANY, [0, 1, 2, 16, -1]) == [0, 1, 1, None, 1]


@pytest.mark.parametrize("values", [[1], []])
def test_a_function_that_cannot_be_compiled_is_named(values: list[int]) -> None:
    """Before any row comes."""

    def add(state: Any, value: Any) -> None:
        state.marks += value

    place = "test_own_aggregate.py"
    with raises(KernelError, "aggregate 'odd'", "update", place, "'marks'", "mark, count"):
        _finals(_own(update=add), values)


@pytest.mark.parametrize(
    ("given", "facts"),
    [
        ({"name": 3}, ("3", "name")),
        ({"name": ""}, ("''", "name")),
        ({"takes": 3}, ("aggregate 'odd'", "takes", "3")),
        ({"gives": 3}, ("aggregate 'odd'", "gives=3")),
        ({"gives": "same", "takes": "float64"}, ("aggregate 'odd'", "gives='same'", "'float64'")),
        ({"finalize": 3}, ("aggregate 'odd'", "finalize=3", "function")),
        ({"finalize": abs}, ("aggregate 'odd'", "finalize", "abs", "function")),
        ({"retract": abs}, ("aggregate 'odd'", "retract", "abs", "function")),
        *[
            ({"state": state}, ("aggregate 'odd'", "state"))
            for state in (
                "int64", None, [("mark", "int64", 0)], [("mark", "int64", (2, 2))], [("mark", "int64", -1)],
                [("mark", ">i8")], [("mark", "S8")], [("mark", "datetime64[ns]")],
                [("mark", "int64"), ("mark", "int64")],
            )
        ],
    ],
)  # fmt: skip
def test_what_is_amiss_is_told_where_it_is_declared(given: dict[str, Any], facts: tuple[str, ...]) -> None:
    with raises(SchemaError, *facts):
        _own(**given)


def test_declared_amiss() -> None:
    functions = {"init": _start_mark, "update": _add_to_mark, "combine": _combine_marks, "finalize": _mark_of}
    whole: dict[str, Any] = {"state": [("mark", "int64"), ("count", "int64")], "takes": "int64", "gives": "int64?"}
    with raises(SchemaError, "aggregate 'odd'", "takes", "string", "float64"):
        OwnAggregate("odd", **whole | {"takes": "string"}, **functions)
    with raises(SchemaError, "aggregate 'odd'", "state", "float64"):
        OwnAggregate("odd", **whole | {"state": [("mark", "int32")]}, **functions)
    with raises(SchemaError, "aggregate 'odd'", "gives", "int32"):
        OwnAggregate("odd", **whole | {"gives": "int32"}, **functions)
    for name, function, facts in (
        ("update", _combine_weights, ("2", "3")), ("combine", _mark_of, ("1", "2")), ("init", _weigh, ("3", "1")),
        ("finalize", _retract_marks, ("2", "state")), ("finalize", _weigh, ("3", "1")),
    ):  # fmt: skip
        with raises(SchemaError, "aggregate 'odd'", name, *facts):
            takes = ("int64", "int64") if name == "update" else "int64"
            OwnAggregate("odd", **whole | {"takes": takes}, **functions | {name: function})
    with (
        raises(SchemaError, "operator 'aggregate'", "mark", "'share'", "float64", "int64"),
        bench([ROWS], lambda rows: aggregate(rows, m=MARK("share"))),
    ):
        pass
    with raises(SchemaError, "weighted", "2 columns"), bench([ROWS], lambda rows: aggregate(rows, m=WEIGHTED("share"))):
        pass
    with raises(SchemaError, "mark", "1 column"), bench([ROWS], lambda rows: aggregate(rows, m=MARK("at", "share"))):
        pass
    with raises(SchemaError, "mark", "1 column", "none"), bench([ROWS], lambda rows: aggregate(rows, m=MARK())):
        pass
    assert "mark" in repr(MARK)


def test_what_is_said_of_it_does_not_tell_where_its_functions_stand() -> None:
    """A snapshot goes on where the file is started otherwise."""
    said = str(MARK("value"))
    assert "kernel" not in said and __name__ not in said
