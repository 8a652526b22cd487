"""Habits that a reader relies on: short files, typed packages, and dependencies that are declared and explained."""

from __future__ import annotations

import re
import tomllib

import pytest

from tests.imports import HOUSE, LINKED, PACKAGES, ROOT, folder_of, third_party
from tests.rooms import MODULES

LINE_CAP = 300
# path -> why it may be longer. A file that has become short again has no place here.
LONGER: dict[str, str] = {}

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
    *(f"tokenring.shm.kernels.{name}" for name in ("folder_lock", "loaded_library", "temporary_folder")),
    *(f"tokenring.shm.memory.{name}" for name in ("c_functions", "intrinsics", "vectors")),
    "tokenring.nexmark.spark.jobs",
    "tokenring.nexmark.oracle.job",
    "tokenring.nexmark.scale_out.job",
    "tokenring.nexmark.bench.rendering.plots",
)


def test_files_stay_short() -> None:
    lines = {
        str(path.relative_to(ROOT)): len(path.read_text().splitlines())
        for folder in (*LINKED, HOUSE, "scripts", "tests", "examples")
        for path in (ROOT / folder).rglob("*.py")
    }
    long = {path: count for path, count in lines.items() if count > LINE_CAP}
    assert long.keys() == LONGER.keys(), f"over {LINE_CAP} lines: {long}; listed as longer: {sorted(LONGER)}"


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
