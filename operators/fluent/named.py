"""What a program's code names, looked at before its workers are forked: of the library, that is imported, once and not
by each of them; of what lies around it, what it fills is said to stay in the workers."""

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from types import CellType, CodeType, FunctionType, MethodType
from typing import Any

from tokenring import operators
from tokenring.operators import graphs

_FILLS = frozenset({"add", "append", "extend", "update"})
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
    for function in _functions(called, seen, package):
        yield from _names_of_code(function.__code__)


def _functions(called: Any, seen: set[FunctionType], package: str) -> Iterator[FunctionType]:
    """Those of a program. package: that of the function which names this one."""
    if isinstance(called, partial):
        for part in (called.func, *called.args, *called.keywords.values()):
            yield from _functions(part, seen, package)
    elif isinstance(called, MethodType):
        yield from _functions(called.__func__, seen, package)
    elif isinstance(called, FunctionType) and called not in seen:
        module = str(called.__module__)
        own = module.partition(".")[0]
        if module.startswith(_LIBRARY) or package not in ("", own):
            return
        seen.add(called)
        yield called
        names = _names_of_code(called.__code__)
        for named in (*map(called.__globals__.get, names), *map(_kept, called.__closure__ or ())):
            yield from _functions(named, seen, own)


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


class OwnCopyWarning(UserWarning):
    """A program fills a list, a set or a dict of the process that started it, where each worker has a copy of its own.

    Silence it with `warnings.filterwarnings("ignore", category=OwnCopyWarning)`.
    """


def say_what_stays(program: Callable[..., Any]) -> None:
    """Warn, at the line that does it, where a program's code adds to something empty that lies outside of it, and looks
    at it nowhere else."""
    fills: list[tuple[int, str, CodeType, int]] = []
    looked_at: set[int] = set()
    for function in _functions(program, set(), ""):
        code, closure = function.__code__, function.__closure__ or ()
        outside = dict(zip(code.co_freevars, map(_kept, closure), strict=True))
        for name, found, verb, line in _uses(code, outside, function.__globals__):
            if verb:
                said = f"{name!r} stays empty here: {verb}() is called on a {type(found).__name__}"
                fills.append((id(found), said, code, line))
            else:
                looked_at.add(id(found))
    for identity, said, code, line in fills:
        if identity not in looked_at:
            warnings.warn_explicit(
                f"{said} that each worker has for itself. Rows come back by what the pipeline ends in, "
                f"`return rows.collect()`, or by what a worker's program returns",
                OwnCopyWarning,
                code.co_filename,
                line,
            )


def _uses(
    code: CodeType, outside: Mapping[str, Any], others: Mapping[str, Any]
) -> Iterator[tuple[str, Any, str, int]]:
    """Where something empty that lies outside is named: its name, itself, how it is filled ("": not at all), and the
    line; outside, others: closed over, and global."""
    import dis

    for one, following in pairwise(dis.get_instructions(code)):
        if one.opname in ("LOAD_DEREF", "LOAD_GLOBAL"):
            found = (outside if one.opname == "LOAD_DEREF" else others).get(one.argval)
            if isinstance(found, list | set | dict | deque) and not found:
                is_filled = following.opname.startswith("LOAD") and following.argval in _FILLS
                line = following.positions.lineno if following.positions else None
                yield one.argval, found, following.argval if is_filled else "", line or code.co_firstlineno
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = {name: outside[name] for name in constant.co_freevars if name in outside}
            yield from _uses(constant, inner, others)
