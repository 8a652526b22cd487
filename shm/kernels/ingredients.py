"""What is compiled into a kernel: code, constants, other kernels; a hash of it all, and the files where it stands."""

import sys
from collections.abc import Callable, Iterator
from contextlib import suppress
from dis import EXTENDED_ARG, opmap
from functools import cache
from hashlib import blake2b
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numpy as np

_ATTRIBUTES = {opmap[name] for name in ("LOAD_ATTR", "LOAD_METHOD") if name in opmap}
_ATTRIBUTE_SHIFT = 1 if sys.version_info >= (3, 12) else 0
"""From 3.12 on, the last bit of such an instruction's argument says whether a method is called."""


@cache
def ingredients(function: Callable[..., Any]) -> str:
    """A hash of all that is compiled into a function: its code, the constants that it names, and the kernels and
    intrinsics that it calls with all that is in those, plain functions included, which intrinsics call."""
    found = [_text(function.__code__)]
    for name, value in sorted(references(function).items()):
        if not hasattr(value, "py_func") and hasattr(value, "original"):
            value = value.original()
        if isinstance(value, int | float | str | tuple | np.dtype | np.generic):
            found.append(f"{name}={value!r}")
            continue
        if hasattr(value, "py_func"):
            if value.py_func is not function:
                found.append(f"{name}:{ingredients(value.py_func)}")
        elif hasattr(value, "_defn"):  # an intrinsic
            found.append(f"{name}:{ingredients(value._defn)}")
        elif isinstance(value, FunctionType) and value is not function and _house(value) == _house(function):
            found.append(f"{name}:{ingredients(value)}")
    return blake2b("\n".join(found).encode(), digest_size=16).hexdigest()


def _house(function: Callable[..., Any]) -> str:
    return function.__module__.partition(".")[0]


def references(function: Callable[..., Any]) -> dict[str, Any]:
    """What the code of a function refers to, by what it says: globals, variables of the functions around it, and what
    it takes out of modules. A field of a record may be called like any of them, and is none."""
    found = dict[str, Any]()
    for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        with suppress(ValueError):  # it has no value yet
            found[name] = cell.cell_contents
    for code in _codes(function.__code__):
        for name, *attributes in _names_read(code):
            value = function.__globals__.get(name)
            for attribute in attributes:
                if isinstance(value, ModuleType):
                    name, value = f"{name}.{attribute}", getattr(value, attribute, None)
            found[name] = value
    return found


def _names_read(code: CodeType) -> list[list[str]]:
    """The globals that code reads, each with the attributes that it takes at once of it, and of that."""
    found: list[list[str]] = []
    argument, is_open = 0, False
    for operation, low in zip(code.co_code[::2], code.co_code[1::2], strict=True):
        if operation == opmap["CACHE"]:
            continue
        argument = argument << 8 | low
        if operation == EXTENDED_ARG:
            continue
        if operation == opmap["LOAD_GLOBAL"]:
            found.append([code.co_names[argument >> 1]])
            is_open = True
        elif is_open and operation in _ATTRIBUTES:
            found[-1].append(code.co_names[argument >> _ATTRIBUTE_SHIFT])
        else:
            is_open = False
        argument = 0
    return found


def _codes(code: CodeType) -> Iterator[CodeType]:
    """A function's code, and that of functions within it."""
    yield code
    for value in code.co_consts:
        if isinstance(value, CodeType):
            yield from _codes(value)


def _text(code: CodeType) -> str:
    """What a function's code says, functions within it included."""
    constants = [_text(value) if isinstance(value, CodeType) else repr(value) for value in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names}"
