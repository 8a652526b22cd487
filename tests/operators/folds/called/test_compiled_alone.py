"""Functions of aggregates that cannot be compiled, or return what is no result: one error names them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from tests.errors import raises
from tokenring.engine import KernelError, SchemaError, float64, int64
from tokenring.engine.raw import Kernel
from tokenring.operators.folds.called.compiled_alone import check_function

STATE = np.dtype([("count", "int64"), ("total", "float64")])
SAID = "aggregate 'odd': finalize (here.py:3)"


def doubled(value: Any) -> Any:
    return 2 * value


@pytest.mark.parametrize(
    ("function", "facts"),
    [
        (lambda state: state.counts, ("no field 'counts'", "count, total")),
        (lambda state: doubled(state.count), ("'doubled'", "@tr.kernel")),
        (lambda state: nowhere(state.count), ("'nowhere'", "not defined")),  # type: ignore[name-defined]  # noqa: F821
        (lambda state: state.count + "a", ("add", "int64")),
    ],
)
def test_what_cannot_be_compiled(function: Callable[..., Any], facts: tuple[str, ...]) -> None:
    with raises(KernelError, SAID, "cannot be compiled", *facts) as told:
        check_function(SAID, Kernel(function), (STATE,), "int64")
    assert "\n" not in str(told.value)


@pytest.mark.parametrize(
    ("function", "gives", "facts"),
    [
        (lambda state: state.total, "int64?", ("float", "gives='int64?'", "int(...)", "'float64'")),
        (lambda state: state.total if state.count else None, "bool", ("float", "gives='bool'")),
        (lambda state: state.total, "same", ("float", "gives='same'")),
        (lambda state: None, "int64?", ("nothing", "None")),
        (lambda state: (state.count, 1), "int64", ("UniTuple", "a number")),
        (lambda state: "a", "float64", ("unicode_type", "a number")),
    ],
)
def test_what_is_no_result(function: Callable[..., Any], gives: str, facts: tuple[str, ...]) -> None:
    with raises(SchemaError, SAID, *facts):
        check_function(SAID, Kernel(function), (STATE,), gives)


@pytest.mark.parametrize(
    ("function", "takes", "gives"),
    [
        (lambda state: state.count if state.count else None, (STATE,), "int64"),
        (lambda state: int(state.total), (STATE,), "uint64?"),
        (lambda state: state.count > 1, (STATE,), "bool"),
        (lambda state: state.count, (STATE,), "float64?"),
        (lambda state, parameters: parameters[0], (STATE, float64[::1]), "float64"),
        (lambda state, value: None, (STATE, int64), None),
    ],
)
def test_what_is_right(function: Callable[..., Any], takes: tuple[Any, ...], gives: str | None) -> None:
    check_function(SAID, Kernel(function), takes, gives)
