"""What `my.py:program` and `package.module:program` name: parsed, imported as Python would, and found in there.

A file is imported as if it were run, its folder first on the path, but not under the name `__main__`; one in a package
as that package's module, so that its relative imports find what they mean.
"""

from __future__ import annotations

import importlib
import importlib.util
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any

import click

from tokenring.tools.errors import InputError

_NAMED = re.compile(r"(?P<where>(?:.*\.py)|(?:[^\W\d]\w*(?:\.[^\W\d]\w*)*))(?::(?P<function>.*))?", re.S)


@dataclass(frozen=True)
class Target:
    """A function of a file (`where` ends in .py) or of a module."""

    where: str
    function: str

    def __str__(self) -> str:
        return f"{self.where}:{self.function}"

    @property
    def is_file(self) -> bool:
        return self.where.endswith(".py")


def is_named(text: str) -> bool:
    """Whether a text means a program, and nothing else: a file of Python, or something with a function behind it."""
    return ".py" in text or ":" in text or os.sep in text


def load(text: str) -> tuple[Target, Callable[..., Any]]:
    """The function that a text names. InputError, naming file and function, where there is none or it cannot be
    imported."""
    match = _NAMED.fullmatch(text)
    if match is None:
        raise InputError(f"{text!r} names no program; give my.py:program, or package.module:program")
    target = Target(match["where"], match["function"] or "")
    module = _import(target)
    if not target.function:
        there = ", ".join(_functions(module)) or "none"
        raise InputError(f"{text}: which of its functions? Give {target.where}:NAME; there are: {there}")
    found: Any = module
    for part in target.function.split("."):
        if not hasattr(found, part):
            hint = _did_you_mean(part, _functions(found)) or f"; there are: {', '.join(_functions(found)) or 'none'}"
            raise InputError(f"{target.where} has no function {target.function!r}{hint}")
        found = getattr(found, part)
    if not callable(found):
        raise InputError(f"{target}: it is no function but of type {type(found).__name__}")
    return target, found


def _import(target: Target) -> ModuleType:
    """Import it; whatever is raised meanwhile is one line."""
    if target.is_file:
        path = Path(target.where)
        if not path.is_file():
            beside = path.parent.glob("*.py") if path.parent.is_dir() else ()
            what = "it is a folder" if path.is_dir() else "no such file"
            raise InputError(f"{target.where}: {what}{_did_you_mean(target.where, map(str, beside))}")
    else:
        _first_on_path(Path.cwd())
        _require_module(target)
    try:
        return _import_file(Path(target.where)) if target.is_file else importlib.import_module(target.where)
    except KeyboardInterrupt:
        raise
    except (Exception, SystemExit) as error:
        if os.environ.get("TOKENRING_TRACEBACK"):
            click.echo(traceback.format_exc(), err=True)
        raise InputError(f"{target.where}: cannot be imported: {_said(error)}") from error


def _require_module(target: Target) -> None:
    try:
        found = importlib.util.find_spec(target.where)
    except Exception as error:  # packages of the name are imported to look into them
        missing = error.name if isinstance(error, ModuleNotFoundError) else None
        if not f"{target.where}.".startswith(f"{missing}."):
            raise InputError(f"{target.where}: cannot be imported: {_said(error)}") from error
        found = None
    if found is None:
        here = Path.cwd()
        files = [path.relative_to(here) for depth in ("", "*/", "*/*/") for path in here.glob(f"{depth}*.py")]
        names = [".".join(path.with_suffix("").parts).removesuffix(".__init__") for path in files]
        raise InputError(f"no module {target.where!r} here or installed{_did_you_mean(target.where, names)}")


def _import_file(path: Path) -> ModuleType:
    from tokenring.engine.group import import_program

    path = path.resolve()
    names, folder = [path.stem], path.parent
    while (folder / "__init__.py").is_file():
        names, folder = [folder.name, *names], folder.parent
    _first_on_path(folder)
    return import_program(str(path)) if len(names) == 1 else importlib.import_module(".".join(names))


def _first_on_path(folder: Path) -> None:
    if sys.path[:1] != [str(folder)]:
        sys.path.insert(0, str(folder))


def _functions(of: Any) -> list[str]:
    """The functions that are a module's own, or at least called something."""
    own = [name for name, value in vars(of).items() if callable(value) and not name.startswith("_")]
    return [name for name in own if getattr(getattr(of, name), "__module__", None) == getattr(of, "__name__", "")]


def _did_you_mean(name: str, names: Iterable[str]) -> str:
    from tokenring.engine import did_you_mean

    return did_you_mean(name, sorted(names))


def _said(error: BaseException) -> str:
    """What an import raised, and the line of the program's own where it did."""
    if isinstance(error, SyntaxError):
        return f"SyntaxError: {error.msg} ({error.filename}:{error.lineno})"
    own = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename.startswith(sys.path[0] + "/")]
    at = f" ({own[-1].filename}:{own[-1].lineno})" if own else ""
    return f"{type(error).__name__}: {error}{at}"
