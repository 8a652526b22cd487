"""The faces: whatever an author may name says what it is, and sends nobody to a file to read on."""

import inspect
import re
from collections.abc import Iterator
from types import FunctionType, ModuleType
from typing import Any

import pytest

from tests.rooms import MODULES
from tokenring import engine, operators
from tokenring.operators import fluent, graphs, mechanisms

A_FILE = re.compile(r"[\w/-]+\.(?:py|pyi|md)\b")
FACES = (engine, operators, fluent, graphs, mechanisms)
NAMES = [(face, name) for face in FACES for name in face.__all__]
ROOMS = {name: module for name, module in MODULES.items() if module.path.name == "__init__.py"}


def said(face: ModuleType, name: str) -> Iterator[tuple[str, str]]:
    """What has a docstring of its own under a name: itself, and what is public of it; (where, docstring)."""
    value: Any = getattr(face, name)
    if not isinstance(value, type | FunctionType):
        return
    yield name, inspect.cleandoc(value.__doc__ or "")
    if isinstance(value, type):
        for attribute in [*vars(value)]:
            member: Any = getattr(value, attribute, None)  # looked at: some methods are found then
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not attribute.startswith("_") and isinstance(function, FunctionType):
                yield f"{name}.{attribute}", inspect.cleandoc(function.__doc__ or "")


@pytest.mark.parametrize(("face", "name"), NAMES, ids=[f"{face.__name__}.{name}" for face, name in NAMES])
def test_each_name_says_what_it_is_without_a_file_to_open(face: ModuleType, name: str) -> None:
    silent = [where for where, docstring in said(face, name) if not docstring]
    elsewhere = [f"{where}: {found[0]}" for where, docstring in said(face, name) if (found := A_FILE.search(docstring))]
    assert not silent + elsewhere


@pytest.mark.parametrize("room", sorted(ROOMS))
def test_a_room_as_a_whole_names_no_file(room: str) -> None:
    assert ROOMS[room].docstring
    assert not A_FILE.search(ROOMS[room].docstring)
