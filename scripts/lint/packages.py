"""Rules of packages: each folder is one, and what is imported is declared, and explained in docs/dependencies.md."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from scripts.lint.finding import Finding, line_of
from tests.imports import Module, third_party

# Import name -> distribution, where they differ; llvmlite is numba's own and always the version it asks for.
DISTRIBUTIONS = {"posix_ipc": "posix-ipc", "py4j": "pyspark", "llvmlite": "numba"}
# Never imported by us, and needed: pyspark imports two of them, two are programs, scripts use the last two.
INDIRECT = {"pandas", "setuptools", "py-spy", "tpchgen-cli", "duckdb", "polars"}
# Explained, and declared elsewhere than among what the package needs: they build it.
BUILDERS = {"hatchling", "ziglang"}


def broken_packages(folders: Iterable[Path]) -> Iterator[Finding]:
    """Each folder of sources is a package."""
    for folder in folders:
        for within in sorted({path.parent for path in folder.rglob("*.py")}):
            if not (within / "__init__.py").is_file():
                yield Finding(within / "__init__.py", 1, "the folder has sources, and no such file")


def _names(requirements: Iterable[str]) -> set[str]:
    """Strip versions and markers off requirements."""
    found = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    return {match[0] for match in found if match}


def _declared(project: Mapping[str, Any]) -> set[str]:
    optional = project["optional-dependencies"]
    extras = [optional[extra] for extra in ("kernels", "spark", "bench", "delta")]
    return _names([*project["dependencies"], *chain.from_iterable(extras)])


def undeclared(path: Path, project: Mapping[str, Any], modules: Iterable[Module]) -> Iterator[Finding]:
    """What is imported is declared in pyproject.toml (`path`, of which `project` is the table), and the other way
    round.
    """
    used = {DISTRIBUTIONS.get(name, name) for module in modules for name in third_party(module)}
    declared, text = _declared(project), path.read_text()
    for name in sorted(used - declared):
        yield Finding(path, 1, f"{name} is imported, and not declared")
    for name in sorted(declared - used - INDIRECT):
        yield Finding(path, line_of(text, text.find(f'"{name}')), f"{name} is declared, and nothing imports it")


def unexplained(page: Path, project: Mapping[str, Any]) -> Iterator[Finding]:
    """Each dependency has its line in docs/dependencies.md, once."""
    text = page.read_text()
    explained = {match[1]: match.start() for match in re.finditer(r"^- \*\*([\w.-]+)\*\*", text, flags=re.M)}
    extras = {name for needs in project["optional-dependencies"].values() for name in _names(needs)} - {"tokenring"}
    wanted = _declared(project) | extras | BUILDERS
    for name in sorted(wanted - explained.keys()):
        yield Finding(page, 1, f"{name} has no line here")
    for name, offset in explained.items():
        if name not in wanted:
            yield Finding(page, line_of(text, offset), f"{name} is explained, and not needed")
        elif text.count(f"\n- **{name}**") > 1:
            yield Finding(page, line_of(text, offset), f"{name} is explained twice")
