"""The engine's face: whatever an author may name says what it is, and sends nobody to a file to read on."""

import inspect
import re
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import pytest

from tokenring import engine

A_FILE = re.compile(r"[\w/-]+\.(?:py|pyi|md)\b")


def said(name: str) -> Iterator[tuple[str, str]]:
    """What has a docstring of its own under a name: itself, and what is public of it; (where, docstring)."""
    value: Any = getattr(engine, name)
    if not isinstance(value, type | FunctionType):
        return
    yield name, inspect.cleandoc(value.__doc__ or "")
    if isinstance(value, type):
        for attribute, member in vars(value).items():
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not attribute.startswith("_") and isinstance(function, FunctionType):
                yield f"{name}.{attribute}", inspect.cleandoc(function.__doc__ or "")


@pytest.mark.parametrize("name", engine.__all__)
def test_each_name_says_what_it_is_without_a_file_to_open(name: str) -> None:
    silent = [where for where, docstring in said(name) if not docstring]
    elsewhere = [f"{where}: {found[0]}" for where, docstring in said(name) if (found := A_FILE.search(docstring))]
    assert not silent + elsewhere


def test_the_face_as_a_whole_names_no_file() -> None:
    assert engine.__doc__
    assert not A_FILE.search(engine.__doc__)
