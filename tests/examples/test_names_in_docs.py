"""What the docs name there is: imports in their programs, errors and warnings, files, classes and what these have."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest

import tokenring as tr
from tests.imports import PACKAGES, ROOT
from tests.rooms import ROOMS
from tokenring import operators

PAGES = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md")]
TEXT = "\n".join(page.read_text() for page in PAGES)
FOLDERS = ("docs", "examples", "scripts", "tests", "tokenring", *PACKAGES)
OURS = [path for name in FOLDERS for path in (ROOT / name).rglob("*.py")]


def _has(node: ast.ClassDef) -> Iterator[str]:
    """What a class defines, and what its methods give it."""
    for part in ast.walk(node):
        if isinstance(part, ast.FunctionDef | ast.ClassDef):
            yield part.name
        elif isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "self":
            yield part.attr
        elif isinstance(part, ast.Name) and isinstance(part.ctx, ast.Store):
            yield part.id


@cache
def _classes() -> dict[str, set[str]]:
    """By name, what classes of ours have; those of one name together, with what their bases have."""
    found: dict[str, set[str]] = {}
    bases: dict[str, set[str]] = {}
    for source in (path.read_text() for path in OURS):
        for node in ast.walk(ast.parse(source)) if "class " in source else ():
            if isinstance(node, ast.ClassDef):
                found.setdefault(node.name, set()).update(_has(node))
                bases.setdefault(node.name, set()).update(re.findall(r"\w+", " ".join(map(ast.unparse, node.bases))))
    for _ in range(4):
        for name, above in bases.items():
            found[name] |= {each for base in above if base in found for each in found[base]}
    return found


def _prose(page: Path) -> list[str]:
    """What stands between backticks, but for programs and what is shown of a terminal."""
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    return re.findall(r"`([^`\n]+)`", text)


def test_errors_and_warnings_can_be_imported() -> None:
    named = set(re.findall(r"`([A-Z]\w+(?:Error|Warning))`", TEXT))
    assert len(named) > 10
    assert named - {*dir(builtins), *dir(tr)} == set()


def test_the_operators_of_the_list_are_exported() -> None:
    page = (ROOT / "docs" / "operators.md").read_text()
    rows = [line.split("|")[1] for line in page.splitlines() if line.startswith("| `")]
    named = {name for row in rows for name in re.findall(r"`(\w+)`", row)}
    assert len(named) > 40
    assert named - {*operators.__all__} == set()


def test_names_of_the_package_are_those_it_has() -> None:
    named = set(re.findall(r"\btr\.(\w+)", TEXT))
    assert len(named) > 40
    assert named - {*dir(tr)} == set()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_files_that_are_named_exist(page: Path) -> None:
    named = [name for name in _prose(page) if re.fullmatch(rf"(?:{'|'.join(FOLDERS)})/[\w./-]*", name)]
    assert [name for name in named if not (ROOT / name).exists()] == []


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_classes_have_what_is_said_of_them(page: Path) -> None:
    named = [match for name in _prose(page) for match in re.findall(r"^([A-Z]\w*)\.(\w+)(?:\(.*\))?$", name)]
    assert [f"{name}.{member}" for name, member in named if member not in _classes().get(name, {member})] == []


def test_architecture_draws_the_rooms_there_are() -> None:
    page = (ROOT / "docs" / "architecture.md").read_text()
    drawn = page[page.index("```\nnexmark") :].split("```")[1].split()
    assert drawn == [word for package in reversed(ROOMS) for word in (package, *ROOMS[package])]
