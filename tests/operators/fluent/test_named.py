"""What the launcher imports for its workers: what a program's code names, and that of functions that it names."""

from __future__ import annotations

from functools import partial
from types import FunctionType
from typing import Any

from tokenring import operators
from tokenring.operators.fluent import named


def _helper(stream: Any) -> Any:
    return stream.distinct("key")


def _program(pipeline: Any, scope: Any) -> Any:
    return [_helper(pipeline(each)) for each in scope.read_csv("rows.csv")]


def _names(program: Any) -> set[str]:
    return {*named._names(program, set(), "")} & {*operators.__all__}


def test_names_are_found_wherever_a_program_has_them() -> None:
    def late(stream: Any) -> Any:
        return unset(stream)

    program = partial(_program, lambda scope: late(scope.union(operators.Tumbling)))
    assert _names(program) == {"distinct", "read_csv", "union", "Tumbling"}
    unset = _helper
    assert _names(late) == {"distinct"}


def test_the_library_s_own_code_is_no_program() -> None:
    assert isinstance(operators.aggregate, FunctionType)
    assert not _names(operators.aggregate)
    assert not _names(len)
