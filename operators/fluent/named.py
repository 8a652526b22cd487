"""What a program names of the library is imported before its workers are forked: once, and not by each of them."""

from collections.abc import Callable, Iterator
from functools import partial
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from tokenring import operators
from tokenring.operators import graphs

_LIBRARY = ("tokenring.engine", "tokenring.operators", "tokenring.shm")


def import_named(program: Callable[..., Any]) -> None:
    """Import what has a name, be it a method's, in the code of a program, or of the functions of its package that it
    names. What is missed, or has no name there, each worker imports by itself.
    """
    names = set(_names(program, set(), ""))
    for face in (operators, graphs):
        for name in names.intersection(face.__all__):
            getattr(face, name)


def _names(called: Any, seen: set[FunctionType], package: str) -> Iterator[str]:
    """package: that of the function which names this one."""
    if isinstance(called, partial):
        for part in (called.func, *called.args, *called.keywords.values()):
            yield from _names(part, seen, package)
    elif isinstance(called, MethodType):
        yield from _names(called.__func__, seen, package)
    elif isinstance(called, FunctionType) and called not in seen:
        module = str(called.__module__)
        own = module.partition(".")[0]
        if module.startswith(_LIBRARY) or package not in ("", own):
            return
        seen.add(called)
        names = list(_names_of_code(called.__code__))
        yield from names
        for named in (*map(called.__globals__.get, names), *map(_kept, called.__closure__ or ())):
            yield from _names(named, seen, own)


def _names_of_code(code: CodeType) -> Iterator[str]:
    yield from code.co_names
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _names_of_code(constant)


def _kept(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # what is named is not there yet
        return None
