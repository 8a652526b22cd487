"""`python -m scripts.public_names`: docs/public_names.txt, all names that a version promises, with what they take.

The names of `tokenring`, of its rooms, of `tokenring.engine.compiled` and `tokenring.spark`, methods and attributes of
classes among them, and the command's subcommands with their options. Types are left out: Pythons write them
differently.
"""

from __future__ import annotations

import enum
import inspect
from collections.abc import Iterable
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import click

PAGE = Path(__file__).resolve().parents[1] / "docs" / "public_names.txt"
_HOUSE = "tokenring"


def page() -> str:
    """The whole page, a name a line."""
    house, compiled = import_module(_HOUSE), import_module(f"{_HOUSE}.engine.compiled")
    cli = import_module(f"{_HOUSE}.nexmark.commands.cli")
    modules = [(_HOUSE, house), *((each.__name__, each) for each in (compiled, import_module(f"{_HOUSE}.spark")))]
    lines = [*(line for module in modules for line in _of_module(*module)), *_of_command(_HOUSE, cli.cli)]
    return "\n".join(lines) + "\n"


def _of_module(called: str, module: ModuleType) -> Iterable[str]:
    for name in sorted(module.__all__):
        found = getattr(module, name)
        if inspect.ismodule(found):
            yield from _of_module(f"{called}.{name}", found)
        elif inspect.isclass(found):
            yield from _of_class(f"{called}.{name}", found)
        else:
            yield f"{called}.{name}{_signature(found)}"


def _of_class(called: str, kind: type) -> Iterable[str]:
    ours = [base for base in kind.__mro__ if base.__module__.partition(".")[0] == _HOUSE]
    makes = not issubclass(kind, enum.Enum) and not getattr(kind, "_is_protocol", False)
    own = makes and any("__init__" in vars(base) or "__new__" in vars(base) for base in ours)
    yield f"class {called}{_signature(kind) if own else ''}"
    for name in sorted({name for base in ours for name in vars(base) if not name.startswith("_")}):
        getattr(kind, name)  # some methods are there once they have been looked at
        member = inspect.getattr_static(kind, name)
        yield f"{called}.{name}{_signature(getattr(member, '__func__', member))}"


def _signature(of: Any) -> str:
    """What it takes; nothing for what is not called, or is called as numba likes."""
    of = getattr(of, "py_func", of)
    if not (inspect.isfunction(of) or inspect.isclass(of)):
        return ""
    found = inspect.signature(of)
    bare = [
        taken.replace(
            annotation=taken.empty, default=taken.empty if taken.default is taken.empty else _Text(taken.default)
        )
        for taken in found.parameters.values()
    ]
    return str(found.replace(parameters=bare, return_annotation=found.empty))


class _Text:
    """A default, as it is written in every Python."""

    def __init__(self, value: object) -> None:
        self._value = value

    def __repr__(self) -> str:
        value = self._value
        if isinstance(value, enum.Enum):
            return f"{type(value).__name__}.{value.name}"
        plain = value is None or isinstance(value, bool | int | float | str | bytes) or value == ()
        return repr(value) if plain else "..."


def _of_command(called: str, command: click.Command) -> Iterable[str]:
    taken = [" ".join(["/".join([*one.opts, *one.secondary_opts])]) for one in command.params]
    yield " ".join([f"$ {called}", *taken])
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            found = command.get_command(context, name)
            assert found is not None
            yield from _of_command(f"{called} {name}", found)


@click.command(help="Write docs/public_names.txt anew, from the sources.")
def _write() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    _write()
