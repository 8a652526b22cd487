"""No Python code of ours calls a kernel without a signature: a worker would have to compile it."""

from __future__ import annotations

import dis
from importlib import import_module
from types import CodeType, ModuleType
from typing import Any

from tests.imports import PACKAGES, read_tree
from tokenring.shm.kernels.kernel import Kernel


def _codes(value: Any, seen: set[int], module: str) -> list[CodeType]:
    """The code of a function or of a class's methods, and of functions within; a kernel's calls are compiled in."""
    if isinstance(value, Kernel) or id(value) in seen or getattr(value, "__module__", module) != module:
        return []
    seen.add(id(value))
    if isinstance(value, type):
        return [code for member in vars(value).values() for code in _codes(member, seen, module)]
    if isinstance(value, property):
        return [code for member in (value.fget, value.fset) for code in _codes(member, seen, module)]
    function = getattr(value, "__func__", getattr(value, "__wrapped__", value))
    code = getattr(function, "__code__", None)
    return [] if code is None else _within(code)


def _within(code: CodeType) -> list[CodeType]:
    inner = [found for value in code.co_consts if isinstance(value, CodeType) for found in _within(value)]
    return [code, *inner]


def _globals_of(code: CodeType) -> set[str]:
    """The module's names that it reads: not those of attributes, a token's `drop`, say."""
    return {step.argval for step in dis.get_instructions(code) if step.opname in ("LOAD_GLOBAL", "LOAD_NAME")}


def _calls(module: ModuleType) -> set[str]:
    """Which kernels without a signature Python code of this module names, and where."""
    seen: set[int] = set()
    return {
        f"{module.__name__}: {code.co_qualname} names {name}"
        for value in vars(module).values()
        for code in _codes(value, seen, module.__name__)
        for name in _globals_of(code)
        if isinstance(found := vars(module).get(name), Kernel) and found.signature is None
    }


def test_python_calls_only_kernels_with_a_signature() -> None:
    modules = [import_module(name) for name in read_tree(PACKAGES)]
    assert any(isinstance(value, Kernel) for module in modules for value in vars(module).values())
    found = sorted(call for module in modules for call in _calls(module))
    assert not found, "\n".join(found)
