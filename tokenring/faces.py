"""Imports that are written as ever and done when a name is first used: how faces offer much and cost little.

    with later(__name__):
        from tokenring.engine.columns import Batch, Schema

Checkers, editors and whoever reads sources see imports. At run time each statement only notes where its names are: the
face gives a name when it is asked for it, and imports that file then. They are its `__all__`; a face lists them itself
where users' checkers read them (`from face import *`). Where the statement stands above a class, what is taken from its
names in the class's body becomes methods that are found when they are first looked at.
"""

import builtins
import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import RLock
from types import ModuleType
from typing import Any

_one_at_a_time = RLock()
_seen_frozen = False
"""Whether somebody has frozen what is to stay so: to ask takes a walk through all of it, so it is asked until it is."""


class _Later:
    """What an import gives, before it is imported: a module's name, and what to take of what it gives."""

    def __init__(self, module: str, *names: str) -> None:
        self._module = module
        self._names = names

    def __getattr__(self, name: str) -> "_Later":
        if name.startswith("__"):  # Python asks any object for such names
            raise AttributeError(name)
        return _Later(self._module, *self._names, name)

    def found(self) -> Any:
        """Import it. Nothing of what is loaded is garbage, and to look for some takes a tenth of a start: what was made
        meanwhile counts as old afterwards, so that nobody looks through it at once."""
        global _seen_frozen
        if not gc.isenabled():
            return self._imported()
        gc.disable()
        try:
            return self._imported()
        finally:
            _seen_frozen = _seen_frozen or gc.get_freeze_count() > 0
            if not _seen_frozen:
                gc.freeze()
                gc.unfreeze()
            gc.enable()

    def _imported(self) -> Any:
        value: Any = __import__(self._module, fromlist=self._names[:1])
        for name in self._names:
            value = getattr(value, name)
        return value

    def __set_name__(self, owner: type, name: str) -> None:
        self._owner, self._called = owner, name

    def __get__(self, instance: object, owner: type) -> Any:
        function = self.found()
        setattr(self._owner, self._called, function)
        return function.__get__(instance, owner)


class _Face(ModuleType):
    """A module with names to be found later, in `_later`."""

    def __getattr__(self, name: str) -> Any:
        if name not in vars(self)["_later"]:
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        try:
            found = vars(self)[name] = vars(self)["_later"][name].found()
        except AttributeError as error:  # which `from face import name` would take for a name that is not there
            raise ImportError(f"{name!r} of {self.__name__} cannot be imported: {error}", name=name) from error
        return found

    def __setattr__(self, name: str, value: Any) -> None:
        if name not in vars(self)["_later"] or not isinstance(value, ModuleType):  # else a file called as what it has
            super().__setattr__(name, value)

    def __dir__(self) -> list[str]:
        return sorted({*super().__dir__(), *vars(self)["_later"]})


@contextmanager
def later(module: str, keep: bool = False) -> Iterator[None]:
    """The imports of this block are done when their names are first used. They are then this module's; with `keep`, of
    use in the bodies of its classes alone.
    """
    within = vars(sys.modules[module])

    def noted(name: str, globals: Any = None, locals: Any = None, fromlist: Any = (), level: int = 0) -> Any:  # noqa: A002
        if globals is within and fromlist and not level:
            return _Later(name)
        return imported(name, globals, locals, fromlist, level)

    with _one_at_a_time:  # a thread that begins a face meanwhile must not take `noted` for Python's own
        imported = builtins.__import__
        builtins.__import__ = noted
        try:
            yield
        finally:
            builtins.__import__ = imported
    if not keep:
        within["_later"] = {name: found for name, found in within.items() if isinstance(found, _Later)}
        for name in within["_later"]:
            del within[name]
        within.setdefault("__all__", sorted(within["_later"]))
        sys.modules[module].__class__ = _Face
