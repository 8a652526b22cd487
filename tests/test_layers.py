"""The layer rule: shm <- engine <- operators <- nexmark, pure modules know no machine, and nothing goes round."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.imports import PACKAGES, ROOT, Module, find_cycle, reachable, read_module, read_tree, targets, third_party

# Which of our packages each may import; itself always. Nobody lists tests or scripts.
MAY_IMPORT = {
    "shm": set(),
    "engine": {"shm"},
    "operators": {"engine"},
    "nexmark": {"operators", "engine"},
    "examples": {"nexmark", "operators", "engine"},
}
# The lower layers are small on purpose; what nexmark may use is what pyproject.toml declares (test_quality.py).
MAY_USE = {
    "shm": {"numpy", "numba", "llvmlite", "posix_ipc"},  # llvmlite is how a numba intrinsic emits an atomic
    # orjson: between processes, where pickle is barred; pyarrow: what columns come from and go to
    "engine": {"numpy", "numba", "sortedcontainers", "orjson", "pyarrow"},
    # pyarrow: columns of other kinds than numbers; orjson: sources and sinks of JSON lines
    "operators": {"numpy", "numba", "sortedcontainers", "orjson", "pyarrow"},
}
# Order and counts: they run the same in a simulation of many workers as in a run, so they may know no machine.
PURE = (
    *("timestamp", "antichain", "location", "change_batch", "counts", "reachability", "cycles"),
    *("pool", "intervals", "releasing", "many_times", "edges", "along_edges", "waking", "table_entries"),
    *("nested_counts", "nested_frontiers", "propagation", "tables", "tracker"),
    *("validation", "errors"),
    *("kinds", "schema", "batch", "text", "text_kernels", "convert", "offered", "arrow", "from_arrow"),
)
NO_MACHINE = (
    *("os", "time", "mmap", "shm", "posix_ipc"),
    *("multiprocessing", "subprocess", "threading", "signal", "socket"),
)
# Of shm, these modules know no machine either: how kernels are declared and compiled, what a word of text is, and the
# exceptions. A test holds them to it.
MACHINE_FREE_SHM = ("shm.kernels", "shm.signatures", "shm.compilation", "shm.text_words", "shm.errors")
# Evidence that would be worth nothing if it shared code with what it is evidence for.
INDEPENDENT = ("nexmark.oracle", "nexmark.oracle_job", "nexmark.generator")

MODULES = read_tree(PACKAGES)
EVERYTHING = {**MODULES, **read_tree(("examples",))}


def where(module: Module, line: int) -> str:
    return f"{module.path.relative_to(ROOT)}:{line}"


@pytest.mark.parametrize("package", sorted(MAY_IMPORT))
def test_imports_go_one_way(package: str) -> None:
    allowed = MAY_IMPORT[package] | {package}
    ours = {*PACKAGES, "tests", "scripts", "examples"}
    wrong = [
        f"{where(module, imported.line)} imports {imported.name}"
        for module in EVERYTHING.values()
        if module.package == package
        for imported in module.imports
        if imported.top in ours - allowed
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("package", sorted(MAY_USE))
def test_lower_layers_use_few_libraries(package: str) -> None:
    wrong = {
        name: extra
        for name, module in MODULES.items()
        if module.package == package and (extra := third_party(module) - MAY_USE[package])
    }
    assert not wrong


def test_no_module_imports_itself_through_others() -> None:
    cycle = find_cycle(EVERYTHING)
    assert not cycle, " -> ".join(cycle)


def test_each_module_opens_with_a_docstring() -> None:
    everywhere = {**EVERYTHING, **read_tree(("tests", "scripts"))}
    silent = [module.name for module in everywhere.values() if not (module.docstring or "").strip()]
    assert not silent


@pytest.mark.parametrize("name", sorted([*(f"engine.{name}" for name in PURE), *MACHINE_FREE_SHM]))
def test_pure_modules_know_no_machine(name: str) -> None:
    module = MODULES[name]
    machine = [
        f"{where(module, imported.line)} imports {imported.name}"
        for imported in module.imports
        if imported.top in NO_MACHINE
        and imported.name not in MACHINE_FREE_SHM
        and imported.name.rpartition(".")[0] not in MACHINE_FREE_SHM
    ]
    ours = [
        f"{module.path.relative_to(ROOT)} imports {target}, which is not pure"
        for target in targets(module, MODULES, typing_too=True)
        if target not in MACHINE_FREE_SHM and target.removeprefix("engine.") not in PURE and target != name
    ]
    assert not machine + ours, "\n".join(machine + ours)


@pytest.mark.parametrize("name", INDEPENDENT)
def test_evidence_shares_no_code_with_the_engine(name: str) -> None:
    engine = ("shm", "engine", "operators", "nexmark.queries")
    shared = {other for other in reachable(name, MODULES) if other.startswith(engine)}
    assert not shared


SAMPLE = '''"""A module."""
import os, shm.segment as segment
from . import sibling
from ..engine import thing
from engine.tokens import Token
if TYPE_CHECKING:
    from nexmark import cli
def lazily():
    import tests.leaks
    importlib.import_module("scripts.bench")
'''


def test_the_reader_sees_every_form_of_import(tmp_path: Path) -> None:
    path = tmp_path / "sample.py"
    path.write_text(SAMPLE)
    module = read_module("top.operators.sample", path)
    assert [imported.name for imported in module.imports] == [
        "os",
        "shm.segment",
        "top.operators.sibling",
        "top.engine.thing",
        "engine.tokens.Token",
        "nexmark.cli",
        "tests.leaks",
        "scripts.bench",
    ]
    assert [imported.name for imported in module.imports if imported.typing_only] == ["nexmark.cli"]


def test_the_reader_finds_a_cycle_of_lazy_imports(tmp_path: Path) -> None:
    package = tmp_path / "ring"
    package.mkdir()
    (package / "__init__.py").write_text("")
    (package / "one.py").write_text("from ring.two import b\n")
    (package / "two.py").write_text("from ring import three\n")
    (package / "three.py").write_text("def late():\n    import ring.one\n")
    assert find_cycle(read_tree(("ring",), tmp_path)) == ["ring.one", "ring.two", "ring.three", "ring.one"]
    (package / "three.py").write_text("if TYPE_CHECKING:\n    import ring.one\n")
    assert find_cycle(read_tree(("ring",), tmp_path)) == []
