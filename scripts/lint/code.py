"""Rules of code: how full a room is, what public names say, how tests check errors."""

from __future__ import annotations

import ast
import inspect
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

from scripts.lint.finding import Finding
from tests.imports import Module

LYING_FLAT = 16
MANY = {"tokenring.nexmark.queries": 26}  # a query a file
A_FILE = re.compile(r"[\w/-]+\.(?:py|pyi|md)\b")


def crowds(modules: Iterable[Module]) -> Iterator[Finding]:
    """A room holds few files."""
    files = [module for module in modules if module.path.name != "__init__.py"]
    lying = Counter(module.folder for module in files)
    for folder, count in lying.items():
        most = MANY.get(folder, LYING_FLAT)
        if count > most:
            face = next(module.path.parent for module in files if module.folder == folder) / "__init__.py"
            yield Finding(face, 1, f"{count} files lie in {folder}, and {most} are many: divide it by meaning")


def rooms_faces(modules: Iterable[Module]) -> Iterator[Finding]:
    """What a room says of itself names no file: whoever imports it needs none."""
    for module in modules:
        found = A_FILE.search(module.docstring or "")
        if module.path.name == "__init__.py" and found:
            yield Finding(module.path, 1, f"the room's own sentence names a file, {found[0]}")


def public_names(faces: Iterable[ModuleType]) -> Iterator[Finding]:
    """Whatever an author may name says what it is, and sends nobody to a file to read on."""
    for face in faces:
        for name in face.__all__:
            for called, value, docstring in _said(name, getattr(face, name)):
                found = A_FILE.search(docstring)
                if not docstring:
                    yield Finding(*_place(value), f"{called} has no docstring that says what it is")
                elif found:
                    yield Finding(*_place(value), f"the docstring of {called} sends its reader to {found[0]}")


def _said(name: str, value: Any) -> Iterator[tuple[str, Any, str]]:
    """What has a docstring of its own under a name: itself, and what is public of it; (called, what, docstring)."""
    if not isinstance(value, type | FunctionType):
        return
    yield name, value, inspect.cleandoc(value.__doc__ or "")
    if isinstance(value, type):
        for attribute in [*vars(value)]:
            member: Any = getattr(value, attribute, None)  # looked at: some methods are found then
            function = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            if not attribute.startswith("_") and isinstance(function, FunctionType):
                yield f"{name}.{attribute}", function, inspect.cleandoc(function.__doc__ or "")


def _place(value: Any) -> tuple[Path, int]:
    try:
        return Path(inspect.getsourcefile(value) or "?"), inspect.getsourcelines(value)[1]
    except (OSError, TypeError):  # made by a decorator, a named tuple's function
        return Path(inspect.getmodule(value).__file__ or "?"), 1  # type: ignore[union-attr]


def frozen_wordings(files: Iterable[Path]) -> Iterator[Finding]:
    """Tests check the facts that an error names, not its sentence."""
    cure = "match= freezes a sentence; name the facts: `raises(kind, *facts)` of tests/errors.py"
    for path in files:
        source = path.read_text()
        for node in ast.walk(ast.parse(source)) if "match=" in source else ():
            if isinstance(node, ast.Call) and any(keyword.arg == "match" for keyword in node.keywords):
                if ast.unparse(node.func).rpartition(".")[2] in ("raises", "warns", "RaisesExc"):
                    yield Finding(path, node.lineno, cure)
