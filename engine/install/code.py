"""Code that is installed: a file or a module, and the name of a function in it, which each worker imports."""

import importlib
import inspect
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from importlib.machinery import SourceFileLoader
from importlib.util import module_from_spec, spec_from_file_location, spec_from_loader
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

from tokenring.engine.columns import did_you_mean
from tokenring.engine.errors import UsageError

_PREFIX = "__tokenring_installed_"
_BY_POSITION = (
    inspect.Parameter.POSITIONAL_ONLY,
    inspect.Parameter.POSITIONAL_OR_KEYWORD,
    inspect.Parameter.VAR_POSITIONAL,
)
IMPORTING = "TOKENRING_STARTING"
"""Set in the environment of a process while it imports a program."""


class Code(NamedTuple):
    """A function of a file (`where` is absolute) or of a module."""

    where: str
    function: str

    def __str__(self) -> str:
        return f"{self.where}:{self.function}"

    def load(self) -> Callable[[Any], Any]:
        """The function; a file is read anew each time. UsageError if it cannot be imported, or has none of the name."""
        try:
            with importing():
                found: Any = _imported(Path(self.where)) if os.path.isabs(self.where) else _module(self.where)
        except BaseException as error:  # SystemExit too: who asked hears of it, and the group goes on
            raise UsageError(f"{self.where} cannot be imported: {type(error).__name__}: {error}") from error
        for part in self.function.split("."):
            if not hasattr(found, part):
                near = did_you_mean(part, [name for name, value in vars(found).items() if callable(value)])
                raise UsageError(f"{self.where} has no function {self.function!r}{near}")
            found = getattr(found, part)
        if not callable(found):
            raise UsageError(f"{self} is no function but of type {type(found).__name__}")
        loaded: Callable[[Any], Any] = found
        return loaded


def code_of(told: Callable[..., Any] | str) -> Code:
    """What workers import of "my.py:function", "package.module:function", or a function at the top level of either."""
    if isinstance(told, str):
        where, _, function = told.rpartition(":")
        if not where or not function:
            raise UsageError(f"{told!r} names no function; give my.py:function, or package.module:function")
        return Code(os.path.abspath(where) if where.endswith(".py") else where, function)
    module, name = getattr(told, "__module__", None), getattr(told, "__qualname__", repr(told))
    found: Any = sys.modules.get(module or "")
    for part in name.split("."):
        found = getattr(found, part, None)
    path = module if module and "." in module else file_of(sys.modules.get(module or ""))
    if found is not told or path is None:
        raise UsageError(
            f"{name} cannot be installed: workers that run already import what is installed by its name, so it is a "
            f"function at the top level of a file or module (no lambda, no function within a function, nothing typed "
            f"or read from standard input)"
        )
    return Code(path, name)


def taken_by(called: str, function: Callable[..., Any]) -> str:
    """What its one parameter says it is, by its annotation or, without one, by its name, in small letters: "worker",
    "scope", or something else; "" where nothing is known of it. UsageError if it takes nothing, or needs more.

    called: the function's name, for the error.
    """
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # written in C
        return ""
    first = next((one for one in parameters if one.kind in _BY_POSITION), None)
    others = [one for one in parameters if one is not first and one.default is one.empty]
    if first is None or any(one.kind not in (one.VAR_POSITIONAL, one.VAR_KEYWORD) for one in others):
        takes = f"({', '.join(map(str, parameters))})" if parameters else "nothing"
        raise UsageError(f"{called} takes {takes}; a program takes its worker, or a scope, and nothing else")
    noted = first.annotation
    said = "" if noted is first.empty else noted if isinstance(noted, str) else getattr(noted, "__name__", "")
    return (said.strip("'\"").rpartition(".")[2] or first.name).lower()


@contextmanager
def importing() -> Iterator[None]:
    """Within the block a program is imported, which may start no group: a file without a guard would do so without end.
    """
    os.environ[IMPORTING] = "1"
    try:
        yield
    finally:
        del os.environ[IMPORTING]


def file_of(module: ModuleType | None) -> str | None:
    """The file that other processes can read a module from; None for what is typed, given by -c, or read from standard
    input: what /dev holds is each process's own."""
    path = getattr(module, "__file__", None)
    return None if path is None or path.startswith("/dev/") or not os.path.exists(path) else os.path.abspath(path)


def module_of(name: str, path: str) -> tuple[ModuleType, Callable[[], None]]:
    """A new module of a file, whatever the file's name ends in, and what runs it."""
    spec = spec_from_file_location(name, path) or spec_from_loader(name, SourceFileLoader(name, path))
    assert spec is not None and spec.loader is not None
    module = module_from_spec(spec)
    return module, partial(spec.loader.exec_module, module)


def _module(name: str) -> ModuleType:
    if os.getcwd() not in sys.path:
        sys.path.append(os.getcwd())
    importlib.invalidate_caches()
    return importlib.import_module(name)


def _imported(path: Path) -> ModuleType:
    """The module that a file is, under a name of its own, with its folder first on the path meanwhile."""
    name = f"{_PREFIX}{path.stem}"
    module, run = module_of(name, str(path))
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        run()
    finally:
        sys.path.remove(str(path.parent))
    return module
