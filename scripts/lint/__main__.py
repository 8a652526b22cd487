"""Holds the checkout to every rule: prints what is found, and exits with 1 if anything is."""

from __future__ import annotations

import sys
import tomllib
from collections.abc import Iterator

import tokenring as tr
from scripts import public_names, rooms
from scripts.benchmarks import tables
from scripts.benchmarks.measure import DOCUMENTS, RESULTS
from scripts.lint import code, packages, pages
from scripts.lint.finding import Finding
from tests.imports import HOUSE, LINKED, PACKAGES, ROOT, folder_of
from tests.rooms import MODULES, ROOMS
from tokenring import engine, operators
from tokenring.operators import fluent, graphs, mechanisms

NAMES_CURE = (
    "was that meant? Then `python -m scripts.public_names` writes them anew, and docs/CHANGELOG.md wants a line under "
    "Unreleased (docs/releases.md says what a version may change, and how a name goes)"
)
FOLDERS = ("docs", "examples", "scripts", "tests", "tokenring", *LINKED)


def findings() -> Iterator[Finding]:
    """Whatever breaks a rule, rule by rule."""
    modules, readme, docs = [*MODULES.values()], ROOT / "README.md", ROOT / "docs"
    yield from code.crowds(modules)
    yield from code.rooms_faces(modules)
    yield from code.public_names((engine, operators, fluent, graphs, mechanisms))
    yield from code.frozen_wordings(sorted((ROOT / "tests").rglob("*.py")))

    pyproject = ROOT / "pyproject.toml"
    project = tomllib.loads(pyproject.read_text())["project"]
    yield from packages.broken_packages(map(folder_of, PACKAGES))
    yield from packages.undeclared(pyproject, project, modules)
    yield from packages.unexplained(docs / "dependencies.md", project)

    drawn = rooms.page()
    files = [str(module.path.relative_to(ROOT)) for module in modules if module.path.name != "__init__.py"]
    yield from pages.outdated(rooms.PAGE, drawn, "draw it anew: `python -m scripts.rooms`")
    yield from pages.untested(rooms.PAGE, drawn, files)
    yield from pages.outdated(public_names.PAGE, public_names.page(), NAMES_CURE)
    for document in DOCUMENTS:
        filled = tables.fill(document.read_text(), RESULTS)
        yield from pages.outdated(document, filled, "draw them anew: `./scripts/benchmark tables`")
    top = sorted(docs.glob("*.md"))
    everywhere = [readme, *sorted(docs.rglob("*.md"))]
    yield from pages.dead_links([readme, *top])
    yield from pages.unled(readme, top)
    yield from pages.unmapped(readme, (HOUSE, *LINKED, "examples", "scripts", "tests", "docs"))
    yield from pages.stale_copies(readme, ROOT)
    yield from pages.unknown_names(everywhere, {*dir(tr)})
    yield from pages.unknown_operators(docs / "operators.md", {*operators.__all__})
    functions = [name for name in operators.__all__ if name.islower() and callable(getattr(operators, name))]
    yield from pages.unlisted_operators(docs / "operators.md", functions)
    yield from pages.missing_files(everywhere, ROOT, FOLDERS)
    sources = [path for name in FOLDERS for path in (ROOT / name).rglob("*.py")]
    yield from pages.missing_members(everywhere, pages.members(sources))
    yield from pages.undrawn_rooms(docs / "architecture.md", ROOMS)


def main() -> int:
    """Print what is found; 1 if there is anything."""
    found = [str(finding) for finding in findings()]
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
