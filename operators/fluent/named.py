"""What a program's code names, looked at before its workers are forked: of the library, that is imported, once and not
by each of them; of what lies around it, what it changes is said to stay in the workers."""

import warnings
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import pairwise
from types import CellType, CodeType, FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

from tokenring import operators
from tokenring.operators import graphs

if TYPE_CHECKING:
    from dis import Instruction

_FILLS = frozenset({"add", "append", "extend", "update"})
_FILLED = list, set, dict, deque
_SET = "a value is given to a variable"
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
    """A program fills a list, a set or a dict of the process that started it, or sets an item or a variable there,
    where each worker has a copy of its own.

    Silence it with `warnings.filterwarnings("ignore", category=OwnCopyWarning)`.
    """


def say_what_stays(program: Callable[..., Any]) -> None:
    """Warn, at the line that does it, where a program's code changes something that lies outside of it, and looks at it
    nowhere else."""
    changes: list[tuple[object, str, CodeType, int]] = []
    looked_at: set[object] = set()
    for function in _functions(program, set(), ""):
        code, closure = function.__code__, function.__closure__ or ()
        outside = dict(zip(code.co_freevars, map(_kept, closure), strict=True))
        for name, found, change, line in _uses(code, outside, function.__globals__):
            variable = name, id(found)  # a number is at one place in many of them
            if change:
                stays = "empty" if isinstance(found, _FILLED) and not found else "what it is"
                said = f"{name!r} stays {stays} here: {change}"
                changes.append((variable if change is _SET else id(found), said, code, line))
            else:
                looked_at |= {variable, id(found)}
    for changed, said, code, line in changes:
        if changed not in looked_at:
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
    """Where something that lies outside is named: its name, itself, how it is changed ("": not at all), and the line;
    outside, others: closed over, and global."""
    import dis

    instructions = [*dis.get_instructions(code)]
    items = {_begins(one) for one in instructions if one.opname in ("STORE_SUBSCR", "STORE_SLICE")}
    uses: list[tuple[str, Any, str, int]] = []
    for one, following in pairwise(instructions):
        named = outside if one.opname.endswith("_DEREF") else others
        if not one.opname.endswith(("_DEREF", "_GLOBAL")) or one.argval not in named:
            continue
        found, change, (line, column) = named[one.argval], "", _begins(one)
        if one.opname.startswith("STORE"):
            change = _SET
        elif column is not None and (line, column) in items and _is_own(found):
            change = f"an item is set in a {type(found).__name__}"
        elif isinstance(found, _FILLED) and not found:
            if following.opname.startswith("LOAD") and following.argval in _FILLS:
                change = f"{following.argval}() is called on a {type(found).__name__}"
        uses.append((one.argval, found, change, line or code.co_firstlineno))
    changed = {(name, line) for name, _, change, line in uses if change}
    for name, found, change, line in uses:
        if change or (name, line) not in changed:  # `n = n + 1` looks at n for itself alone
            yield name, found, change, line
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            inner = {name: outside[name] for name in constant.co_freevars if name in outside}
            yield from _uses(constant, inner, others)


def _begins(one: "Instruction") -> tuple[int | None, int | None]:
    """The line and the column where what an instruction does is written: an item that is set, where its owner is."""
    place = one.positions
    return (place.lineno, place.col_offset) if place else (None, None)


def _is_own(found: Any) -> bool:
    """Whether its items are in memory that each worker has a copy of: those of an array may be mapped from a file."""
    return found.flags.owndata if isinstance(found, np.ndarray) else isinstance(found, _FILLED)
