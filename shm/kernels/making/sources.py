"""In which files that stands which is compiled into a kernel: functions, constants, and what those are made of."""

import ast
import sys
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import numpy as np

from tokenring.shm.errors import BrokenInvariant
from tokenring.shm.kernels.ingredients import references

_HOUSE = "tokenring"


def files_of(function: Callable[..., Any]) -> set[Path]:
    """All files of the house whose change may change what is compiled for a function."""
    files, seen, waiting = set[str](), {function}, [function]
    while waiting:
        for found in _read_by(waiting.pop()):
            if isinstance(found, str):
                files.add(found)
            elif found not in seen:
                seen.add(found)
                waiting.append(found)
    return set(map(_resolved, files))


@cache
def _resolved(file: str) -> Path:
    return Path(file).resolve()


@cache
def _read_by(function: Callable[..., Any]) -> tuple[str | Callable[..., Any], ...]:
    """The files where a function, and the constants that it reads, stand; and the functions that it takes in."""
    module = sys.modules[function.__module__]
    if not _is_ours(module):
        return ()
    found = [_of_value(module, name, value) for name, value in references(function).items()]
    return (function.__code__.co_filename, *[one for each in found for one in each])


def _of_value(module: ModuleType, name: str, value: Any) -> Iterator[str | Callable[..., Any]]:
    """Of what `name` stands for where a function of the module reads it."""
    if not hasattr(value, "py_func") and hasattr(value, "original"):
        yield from _way_to(module, name)[0]
        value = value.original()
    if isinstance(value, FunctionType) or hasattr(value, "py_func") or hasattr(value, "_defn"):
        yield from _way_to(module, name)[0]
        yield value if isinstance(value, FunctionType) else getattr(value, "py_func", None) or value._defn
    elif isinstance(value, bool | int | float | str | tuple | np.dtype | np.generic):
        yield from _of_constant(module, name)


@cache
def _of_constant(module: ModuleType, name: str) -> tuple[str | Callable[..., Any], ...]:
    """Of what gives a constant its value, and of what that reads."""
    way, module, name = _way_to(module, name)
    if not _is_ours(module):
        return ()
    assigned = _bindings(module)[0].get(name)
    if assigned is None:
        raise BrokenInvariant(f"nobody knows where {name}, which {module.__name__} reads, gets its value")
    named = {node.id for node in ast.walk(assigned) if isinstance(node, ast.Name)} & vars(module).keys() - {name}
    found = [_of_value(module, one, vars(module)[one]) for one in sorted(named)]
    return (*way, *[one for each in found for one in each])


def _way_to(module: ModuleType, name: str) -> tuple[list[str], ModuleType, str]:
    """The files from which a name is imported, one after another; the last module, and what the name is there."""
    *through, name = name.split(".")
    for part in through:
        module = getattr(module, part)
    way: list[str] = []
    while _is_ours(module):
        assert module.__file__ is not None
        way.append(module.__file__)
        assigned, imported = _bindings(module)
        if name in assigned or name not in imported:
            break
        above, name = imported[name]
        module = sys.modules[above]
    return way, module, name


def _is_ours(module: ModuleType) -> bool:
    return module.__name__.partition(".")[0] == _HOUSE and bool(getattr(module, "__file__", None))


@cache
def _bindings(module: ModuleType) -> tuple[dict[str, ast.expr], dict[str, tuple[str, str]]]:
    """Of each name that a module assigns, or declares a record by, what it says there; of each that it imports, from
    where, and as what."""
    assigned, imported = dict[str, ast.expr](), dict[str, tuple[str, str]]()
    assert module.__file__ is not None
    tree = ast.parse(Path(module.__file__).read_bytes())
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in sys.modules:
            imported.update({alias.asname or alias.name: (node.module, alias.name) for alias in node.names})
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            fields = [each for each in node.body if isinstance(each, ast.AnnAssign)]
            said = [given for each in fields for given in (each.annotation, each.value) if given is not None]
            assigned[node.name] = ast.Tuple([*node.bases, *said])
        if isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign) and node.value is not None:
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            for target in targets:
                for named in ast.walk(target):
                    if isinstance(named, ast.Name):
                        assigned[named.id] = node.value
    return assigned, imported
