"""Habits that a reader relies on: typed packages, and dependencies that are declared and explained."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.imports import PACKAGES, ROOT, folder_of, third_party
from tests.rooms import MODULES

# Import name -> distribution, where they differ; llvmlite is numba's own and always the version it asks for.
DISTRIBUTIONS = {"posix_ipc": "posix-ipc", "py4j": "pyspark", "llvmlite": "numba"}
# Never imported by us, and needed: pyspark imports two of them, two are programs, scripts use the last two.
INDIRECT = {"pandas", "setuptools", "py-spy", "tpchgen-cli", "duckdb", "polars"}

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]


def names(requirements: list[str]) -> set[str]:
    """Strip versions and markers off requirements."""
    found = (re.match(r"[\w.-]+", requirement) for requirement in requirements)
    return {match[0] for match in found if match}


CORE = names(PROJECT["dependencies"])
OPTIONAL = {extra: names(needs) for extra, needs in PROJECT["optional-dependencies"].items()}
DECLARED = CORE | OPTIONAL["kernels"] | OPTIONAL["spark"] | OPTIONAL["bench"]
EXTRAS = {name for needs in OPTIONAL.values() for name in needs} - {"tokenring"}
# What needs an extra when it is imported: what compiles, Spark's own processes, and what draws.
NEEDS_EXTRA = (
    "tokenring.shm.kernels.making",
    *(f"tokenring.shm.kernels.{name}" for name in ("callees", "compilation", "compiled_entry", "compiler_lock")),
    *(f"tokenring.shm.kernels.{name}" for name in ("folder_lock", "loaded_library", "cache_folders")),
    *(f"tokenring.shm.memory.{name}" for name in ("c_functions", "intrinsics", "vectors")),
    "tokenring.nexmark.spark.jobs",
    "tokenring.nexmark.oracle.job",
    "tokenring.nexmark.scale_out.job",
    "tokenring.nexmark.bench.rendering.plots",
)


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_whole(package: str) -> None:
    folders = {path.parent for path in folder_of(package).rglob("*.py")}
    assert not [folder for folder in folders if not (folder / "__init__.py").is_file()]


def test_what_is_imported_is_declared_and_the_other_way_round() -> None:
    imported = {name for module in MODULES.values() for name in third_party(module)}
    used = {DISTRIBUTIONS.get(name, name) for name in imported}
    assert used - DECLARED == set(), "imported, but missing from pyproject.toml"
    assert DECLARED - used - INDIRECT == set(), "declared in pyproject.toml, but nothing imports it"


def test_each_dependency_is_explained() -> None:
    explained = re.findall(r"^- \*\*([\w.-]+)\*\*", (ROOT / "docs" / "dependencies.md").read_text(), flags=re.M)
    assert len(explained) == len(set(explained))
    assert set(explained) == DECLARED | EXTRAS | {"hatchling", "ziglang"}
