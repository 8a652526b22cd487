"""What the library exports that has to be classified: functions of streams or scopes."""

from __future__ import annotations

import inspect
from types import ModuleType

from tokenring import operators
from tokenring.operators import graphs

_NO_OPERATORS = {"col", "greatest", "grown", "least", "lit", "when", "gather", "random_edges", "offer", "state_moves"}
"""Functions that make expressions, or arrays, or run a program, or say how state moves."""


def exported() -> set[str]:
    """The names of all operators, sources and sinks."""

    def functions(module: ModuleType) -> set[str]:
        return {name for name in module.__all__ if inspect.isfunction(getattr(module, name))}

    return (functions(operators) | functions(graphs)) - _NO_OPERATORS
