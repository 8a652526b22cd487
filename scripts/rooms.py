"""`python -m scripts.rooms`: docs/rooms.md drawn from the sources: rooms, what each imports, what each file is for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

import click

from tests.imports import HOUSE, PACKAGES, ROOT, Module, read_tree, targets
from tests.rooms import MODULES, ROOMS, room_of

PAGE = ROOT / "docs" / "rooms.md"
_HEAD = f"""# Rooms

Where everything is. This page is drawn from the sources by `python -m scripts.rooms`, and `python -m scripts.lint`
compares: what a room or a file is for is the first sentence in it. How it works together:
[architecture.md](architecture.md).

The packages are `{"`, `".join(PACKAGES)}`, imported as `{HOUSE}.shm` and so on: `{HOUSE}/` has
links to the folders at the root. Each package imports those before it, and each room those before it in its package,
counted with imports for types only. Of another room nothing is imported but what its `__init__` offers.

Tests lie in `tests/` under the same names, room by room. Where a file has no test of its name, those that use it stand
here, or, where it is used by others alone, theirs; programs that are called by name have their room's.
"""
_TESTS = read_tree(("tests",))
_FEW = 2


def page() -> str:
    """The whole page."""
    return "\n".join([_HEAD, *(line for package in PACKAGES for line in _package(package))]) + "\n"


def _package(package: str) -> Iterable[str]:
    yield f"## {package}"
    yield ""
    yield _purpose(MODULES[f"{HOUSE}.{package}"])
    yield ""
    if ROOMS[package]:
        yield "| room | what it is for | imports |"
        yield "| --- | --- | --- |"
    for room in ROOMS[package]:
        face = MODULES[f"{HOUSE}.{package}.{room}"]
        yield f"| [`{room}/`](#{_anchor(package, room)}) | {_purpose(face)} | {', '.join(_imported(package, room))} |"
    if ROOMS[package]:
        yield ""
    yield from _files(package, "")
    for room in ROOMS[package]:
        yield f"### {package}/{room.replace('.', '/')}"
        yield ""
        yield from _files(package, room)


def _files(package: str, room: str) -> Iterable[str]:
    there = [
        module
        for name, module in sorted(MODULES.items())
        if room_of(name) == (package, room) and module.path.name != "__init__.py"
    ]
    if there:
        yield "| file | what it is for | tests |"
        yield "| --- | --- | --- |"
        for module in there:
            shown = module.path.relative_to(MODULES[f"{HOUSE}.{package}.{room}".rstrip(".")].path.parent)
            tests = ", ".join(f"[`{name}`](../{path})" for name, path in _tests_of(module))
            yield f"| [`{shown}`](../{module.path.relative_to(ROOT)}) | {_purpose(module)} | {tests} |"
        yield ""


def _tests_of(module: Module) -> list[tuple[str, str]]:
    """The tests of a file: that of its name; else a few that use what it defines; else those of its nearest users."""
    folder = ROOT.joinpath("tests", *module.folder.split(".")[1:])
    own = folder / f"test_{module.path.stem}.py"
    if own.exists():
        return [("test", str(own.relative_to(ROOT)))]
    asked, users = set[str](), {module.name}
    while users:
        if found := _using(users, folder):
            return [(path.stem, str(path)) for path in found[:_FEW]]
        asked |= users
        users = {name for name, used in _used().items() if name not in asked and users & used}
    # A program that is called by its name: the tests of its room, or of the room around it.
    beside = next(place for place in own.parents if place.is_dir()).relative_to(ROOT)
    return [(str(beside), f"{beside}/")]


def _using(users: set[str], folder: Path) -> list[Path]:
    """The tests that use one of these modules, those of the folder's room and with the fewest imports first."""
    found = [
        (test.path.parent != folder, len(origins), test.path)
        for test, origins in _origins_of_tests()
        if not origins.isdisjoint(users)
    ]
    return [path.relative_to(ROOT) for _, _, path in sorted(found)]


@cache
def _used() -> dict[str, set[str]]:
    """What each module of ours imports of them."""
    return {name: targets(module, MODULES, typing_too=False) for name, module in MODULES.items()}


@cache
def _origins_of_tests() -> list[tuple[Module, frozenset[str]]]:
    """The files of tests, and what each imports."""
    return [(test, _origins(test)) for test in _TESTS.values() if test.path.name.startswith("test_")]


def _origins(test: Module) -> frozenset[str]:
    """The modules that a test imports, or whose names it imports by a face."""
    return frozenset(_origin(imported.name) for imported in test.imports)


def _origin(name: str) -> str:
    """The module where a name is defined that some face may only hand on."""
    within, _, last = name.rpartition(".")
    face = MODULES.get(within)
    if face is None or face.path.name != "__init__.py":
        return name if name in MODULES else within
    found = next((i.name for i in face.imports if i.name.rpartition(".")[2] == last and i.name != name), "")
    return _origin(found) if found else name if name in MODULES else within


def _imported(package: str, room: str) -> list[str]:
    """The rooms that a room imports, those of its own package first."""
    used = {
        room_of(target)
        for name, module in MODULES.items()
        if room_of(name) == (package, room)
        for target in targets(module, MODULES, typing_too=True)
    }
    own = [other for other in ROOMS[package] if (package, other) in used and other != room]
    others = sorted({whose for whose, _ in used if whose not in (package, "")}, key=PACKAGES.index)
    return own + [f"*{whose}*" for whose in others]


def _purpose(module: Module) -> str:
    """The first sentence of a module's docstring."""
    paragraph = " ".join((module.docstring or "").split("\n\n")[0].split())
    return re.split(r"(?<=\.)\s(?=[A-Z])", paragraph)[0].rstrip(".").replace("|", "\\|")


def _anchor(package: str, room: str) -> str:
    return f"{package}{room.replace('.', '')}"


@click.command(help="Write docs/rooms.md anew, from the sources.")
def _write() -> None:
    PAGE.write_text(page())


if __name__ == "__main__":
    _write()
